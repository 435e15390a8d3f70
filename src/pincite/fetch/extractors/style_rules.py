"""What the style sheets inside a page say of its words: which are crossed out, which raised or lowered.

A price crossed out by a class and a power raised by one look like any other text in the tree. The rules that say so go
into the elements' own styles, where `inline` heeds them. Sheets outside of the page are not read.

Source: CSS Cascading 4 §6 (specificity, order); Tailwind and Bootstrap (names of utility classes).
"""

import re
from collections import defaultdict
from collections.abc import Iterator

from lxml.html import HtmlElement

from pincite.domain.frozen import dataclass
from pincite.fetch.extractors.dom import Page

# Sheets inside a page; what is longer is a framework's, of which a page uses little.
MAX_SHEET_CHARS = 200_000
# Whose sheets are outside as a rule; the names say it.
_STRUCK_CLASSES = frozenset({"line-through", "text-decoration-line-through"})
_STRIKE = "text-decoration:line-through"
_BRACE = re.compile(r"[{}]")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_DECORATION = re.compile(r"(?:^|[;\s])text-decoration(?:-line)?\s*:([^;]*)", re.IGNORECASE)
_ALIGNMENT = re.compile(r"(?:^|[;\s])vertical-align\s*:\s*([\w-]+)", re.IGNORECASE)
_COMPOUND = re.compile(r"([a-z][\w-]*|\*)?((?:[.#][\w-]+)*)", re.IGNORECASE)
_NAME = re.compile(r"([.#])([\w-]+)")
_COMBINED = re.compile(r"\s*(>)\s*|\s+")
# A rule of more parts is some tool's; each part costs a walk upwards.
_MAX_PARTS = 6
# A bound on sheets of somebody else.
_MAX_RULES = 500
# Rules held against elements, on the whole page: a second of work. What comes after stays as it is.
_MAX_CHECKS = 100_000


@dataclass(frozen=True, slots=True)
class _Compound:
    """One part of a selector: a tag, ids and classes; `is_parent`: what is left of it stands directly above."""

    tag: str
    names: tuple[tuple[str, str], ...]
    is_parent: bool

    def fits(self, element: HtmlElement) -> bool:
        if self.tag not in {"", "*", element.tag}:
            return False
        own = (element.get("class") or "").split()
        return all(name in own if sign == "." else name == element.get("id") for sign, name in self.names)


@dataclass(frozen=True, slots=True)
class _Rule:
    """A selector, its parts from the last to the first, with what it sets and how much it weighs."""

    parts: tuple[_Compound, ...]
    settings: tuple[tuple[str, str], ...]
    weight: tuple[int, int, int, int]

    def fits(self, element: HtmlElement) -> bool:
        if not self.parts[0].fits(element):
            return False
        at: HtmlElement | None = element
        for last, part in zip(self.parts, self.parts[1:], strict=False):
            at = at.getparent() if at is not None else None
            while at is not None and not part.fits(at):
                at = None if last.is_parent else at.getparent()
            if at is None:
                return False
        return True


def apply_rules(page: Page) -> None:
    """Write what rules and well-known classes set into the elements' own styles; those win, as in a browser."""
    sheet = page.styles if len(page.styles) <= MAX_SHEET_CHARS else ""
    if "line-through" not in page.source and "line-through" not in sheet and "vertical-align" not in sheet:
        return
    rules: dict[str, list[_Rule]] = defaultdict(list)
    wanted = {"decoration"} if "line-through" in sheet else set()
    wanted |= {"alignment"} if re.search(r"vertical-align\s*:\s*su[bp]", sheet) else set()
    for rule in _rules(sheet, wanted) if wanted else ():
        first = rule.parts[0]
        rules[first.names[0][1] if first.names else first.tag].append(rule)
    if not rules and "line-through" not in page.source:
        return
    checks = 0
    for element in page.elements:
        if not isinstance(element.tag, str):
            continue
        classes = (element.get("class") or "").split()
        set_by: dict[str, tuple[tuple[int, int, int, int], str]] = {}
        for name in {element.tag, element.get("id") or "", *classes} if rules else ():
            checks += len(rules.get(name, ()))
            for rule in rules.get(name, ()) if checks <= _MAX_CHECKS else ():
                for what, value in rule.settings if rule.fits(element) else ():
                    if what not in set_by or set_by[what][0] <= rule.weight:
                        set_by[what] = rule.weight, value
        said = [value for _, value in set_by.values() if value]
        if not _STRUCK_CLASSES.isdisjoint(classes) and _STRIKE not in said:
            said.append(_STRIKE)
        if said:
            own = element.get("style") or ""
            kept = [value for value in said if value.partition(":")[0] not in own]
            element.set("style", ";".join([*kept, own] if own else kept))


def _rules(sheet: str, wanted: set[str]) -> Iterator[_Rule]:
    """The rules that set one of the wanted, with selectors of tags, classes, ids and what they stand in."""
    count = 0
    for selectors, declarations in plain_rules(_COMMENT.sub("", sheet)):
        settings: list[tuple[str, str]] = []
        if "decoration" in wanted and (found := _DECORATION.search(declarations)):
            settings.append(("decoration", _STRIKE if "line-through" in found.group(1).lower() else ""))
        if "alignment" in wanted and (found := _ALIGNMENT.search(declarations)):
            value = found.group(1).lower()
            settings.append(("alignment", f"vertical-align:{value}" if value in {"super", "sub"} else ""))
        for selector in selectors.split(",") if settings else ():
            parts = _parts(selector.strip())
            if parts and count < _MAX_RULES:
                count += 1
                names = [sign for part in parts for sign, _ in part.names]
                tags = sum(part.tag not in {"", "*"} for part in parts)
                yield _Rule(parts, tuple(settings), (names.count("#"), names.count("."), tags, count))


def _parts(selector: str) -> tuple[_Compound, ...]:
    """The parts of a selector from the last to the first; none where it says more than is understood here."""
    pieces = _COMBINED.split(selector)
    if len(pieces) > 2 * _MAX_PARTS:
        return ()
    parts: list[_Compound] = []
    for place in range(0, len(pieces), 2):
        found = _COMPOUND.fullmatch(pieces[place])
        if found is None or not pieces[place]:
            return ()
        names = tuple(_NAME.findall(found.group(2)))
        parts.append(_Compound((found.group(1) or "").lower(), names, place > 0 and pieces[place - 1] == ">"))
    last = parts[-1]
    return () if not last.names and last.tag in {"", "*"} else tuple(reversed(parts))


def plain_rules(sheet: str) -> list[tuple[str, str]]:
    """Selectors and declarations of the rules outside any at-rule."""
    rules: list[tuple[str, str]] = []
    depth = start = opened = 0
    for match in _BRACE.finditer(sheet):
        if match.group() == "{":
            if depth == 0:
                opened = match.start()
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                prelude = sheet[start:opened].strip()
                if not prelude.startswith("@"):
                    rules.append((prelude, sheet[opened + 1 : match.start()]))
                start = match.end()
    return rules
