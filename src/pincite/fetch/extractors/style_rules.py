"""What the style sheets inside a page say of its words: crossed out, raised, set beside each other, hidden.

A price crossed out by a class and a power raised by one look like any other text in the tree. The rules that say so go
into the elements' own styles, where `inline` heeds them; which elements rules hide, `hidden` asks here. Rules in
`@media`, `@supports` and `@layer` count where they hold on a wide screen. Sheets outside of the page are not read.

Source: CSS Cascading 4 §6 (specificity, order), Media Queries 4; Tailwind and Bootstrap (names of utility classes).
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from lxml.html import HtmlElement

from pincite.domain.frozen import dataclass
from pincite.fetch.extractors.dom import Page

# Sheets inside a page; what is longer is a framework's, of which a page uses little.
MAX_SHEET_CHARS = 200_000
# Whose sheets are outside as a rule; the names say it.
_STRUCK_CLASSES = frozenset({"line-through", "text-decoration-line-through"})
_BRACE = re.compile(r"[{}]")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# Properties that matter to words, with the values that do: struck out, raised or lowered, set in a place of its own.
_VALUES = {
    "text-decoration": frozenset({"line-through"}),
    "vertical-align": frozenset({"super", "sub"}),
    "display": frozenset({"block", "flex", "grid", "table", "list-item"}),
}
_SET = {name: re.compile(rf"(?:^|[;\s]){name}(?:-line)?\s*:([^;]*)", re.IGNORECASE) for name in _VALUES}
_VALUE = re.compile(r"[\w-]+")
# Two figures with nothing between them but tags: only there it matters which element has a place of its own.
_FIGURES_MEET = re.compile(r"\d\s?(?:<[^<>]{1,300}>)+\d")
_COMPOUND = re.compile(r"([a-z][\w-]*|\*)?((?:[.#][\w-]+)*)", re.IGNORECASE)
_NAME = re.compile(r"([.#])([\w-]+)")
_COMBINED = re.compile(r"\s*(>)\s*|\s+")
_COMBINATOR = re.compile(r"[\s>+~]")
# A rule of more parts is some tool's; each part costs a walk upwards.
_MAX_PARTS = 6
# A bound on sheets of somebody else.
_MAX_RULES = 500
# Rules held against elements, on the whole page: a second of work. What comes after stays as it is.
_MAX_CHECKS = 100_000
# As wide as browsers that nobody resized; `--browser` of `benchmarks/extraction.py` looks at pages so.
_SCREEN_PIXELS = 1280
_FEATURE = re.compile(r"\(\s*([\w-]+)\s*:?\s*([^()]*?)\s*\)")
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)(px|r?em)?\Z")
# What holds on a screen with a mouse whose owner asked for nothing else.
_USUAL = frozenset(
    {("orientation", "landscape"), ("hover", "hover"), ("any-hover", "hover"), ("pointer", "fine")}
    | {("prefers-color-scheme", "light"), ("prefers-reduced-motion", "no-preference")}
)
# Properties that a rule must set again to show what another hid so; all else is shown by any other mention.
_SHOWN_BY = {
    "gone": re.compile(r"(?:^|[;\s])(?:display|content-visibility)\s*:", re.IGNORECASE),
    "veiled": re.compile(r"(?:^|[;\s])(?:visibility|opacity)\s*:", re.IGNORECASE),
}


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
    weight: tuple[int, ...]


def _fits(parts: Sequence[_Compound], element: HtmlElement, *, inside: bool = False) -> bool:
    """Whether the parts of a selector, the last first, fit; `inside`: without names of `html` and `body`.

    Scripts change those to say what state the page is in ("no-js", "loading").
    """
    if not parts[0].fits(element):
        return False
    at: HtmlElement | None = element
    for last, part in pairwise(parts):
        at = at.getparent() if at is not None else None
        while at is not None and not part.fits(at):
            at = None if last.is_parent else at.getparent()
        if at is None or (inside and part.names and at.tag in {"html", "body"}):
            return False
    return True


def _matching(
    elements: Iterable[HtmlElement], rules: Iterable[_Rule], *, inside: bool = False
) -> Iterator[tuple[HtmlElement, list[_Rule]]]:
    """For each element the rules that fit it, the weightiest last, as far as there is time to look."""
    by_name: dict[str, list[_Rule]] = defaultdict(list)
    for rule in rules:
        first = rule.parts[0]
        by_name[first.names[0][1] if first.names else first.tag].append(rule)
    checks = 0
    for element in elements if by_name else ():
        if not isinstance(element.tag, str):
            continue
        names = {element.tag, element.get("id") or "", *(element.get("class") or "").split()}
        near = [rule for name in names for rule in by_name.get(name, ())]
        checks += len(near)
        if near and checks <= _MAX_CHECKS:
            fitting = [rule for rule in near if _fits(rule.parts, element, inside=inside)]
            yield element, sorted(fitting, key=lambda rule: rule.weight)


def apply_rules(page: Page) -> None:
    """Write what rules and well-known classes set into the elements' own styles; those win, as in a browser."""
    sheet = page.styles if len(page.styles) <= MAX_SHEET_CHARS else ""
    wanted = {"text-decoration"} if "line-through" in sheet else set()
    wanted |= {"vertical-align"} if re.search(r"vertical-align\s*:\s*su[bp]", sheet) else set()
    wanted |= {"display"} if "display" in sheet and _FIGURES_MEET.search(page.source) else set()
    said: dict[HtmlElement, dict[str, str]] = defaultdict(dict)
    for element, rules in _matching(page.elements, _rules(sheet, wanted) if wanted else ()):
        for rule in rules:
            said[element].update(rule.settings)
    for element in page.elements if "line-through" in page.source else ():
        if isinstance(element.tag, str) and not _STRUCK_CLASSES.isdisjoint((element.get("class") or "").split()):
            said[element]["text-decoration"] = "line-through"
    for element, settings in said.items():
        own = element.get("style") or ""
        kept = [f"{name}:{value}" for name, value in settings.items() if value and name not in own]
        if kept:
            element.set("style", ";".join([*kept, own] if own else kept))


def _rules(sheet: str, wanted: set[str]) -> Iterator[_Rule]:
    """The rules that set one of the wanted, with selectors of tags, classes, ids and what they stand in."""
    count = 0
    for selectors, declarations in screen_rules(sheet):
        settings = tuple(
            (name, next((value for value in _VALUE.findall(found.group(1).lower()) if value in _VALUES[name]), ""))
            for name in wanted
            if (found := _SET[name].search(declarations))
        )
        for selector in selectors.split(",") if settings else ():
            parts = _parts(selector.strip())
            if parts and count < _MAX_RULES:
                count += 1
                names = [sign for part in parts for sign, _ in part.names]
                tags = sum(part.tag not in {"", "*"} for part in parts)
                yield _Rule(parts, settings, (names.count("#"), names.count("."), tags, count))


def _parts(selector: str, *, last_named: bool = True) -> tuple[_Compound, ...]:
    """The parts of a selector from the last to the first; none where it says more than is understood here.

    `last_named`: none either where the last part is any element.
    """
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
    return () if last_named and not last.names and last.tag in {"", "*"} else tuple(reversed(parts))


def hidden_by_rules(page: Page, hides: Callable[[str], str]) -> dict[HtmlElement, str]:
    """The elements that rules hide and no rule that may come to fit shows again, and how.

    Args:
        page: the page, whose sheets are looked at where they are not too long.
        hides: says how declarations hide, or nothing.
    """
    if not page.styles or len(page.styles) > MAX_SHEET_CHARS:
        return {}
    rules = [(selectors, declarations, hides(declarations)) for selectors, declarations in screen_rules(page.styles)]
    hiding: list[_Rule] = []
    hidden_so = [(selectors, how) for selectors, _, how in rules if how][:_MAX_RULES]
    # The last part of each selector is what the rule is about.
    others = [
        ([_COMBINATOR.split(selector.strip())[-1] for selector in selectors.split(",")], said)
        for selectors, said, how in rules
        if hidden_so and not how
    ]
    for selectors, how in hidden_so:
        for selector in selectors.split(","):
            parts = _parts(selector.strip(), last_named=False)
            if parts and any(part.names for part in parts) and not _is_shown_again(parts[0], how, others):
                hiding.append(_Rule(parts, (("hides", how),), (len(hiding),)))
    fitting = _matching(page.root.iter(), hiding, inside=True)
    return {element: rules[-1].settings[0][1] for element, rules in fitting if rules}


def _is_shown_again(hidden: _Compound, how: str, others: Sequence[tuple[Sequence[str], str]]) -> bool:
    """Whether another rule about the same elements undoes what hides them: a tab, a menu, a dialogue."""
    names = [re.compile(rf"{re.escape(sign + name)}(?![\w-])") for sign, name in hidden.names]
    names = names or [re.compile(rf"{re.escape(hidden.tag)}(?![\w-])")]
    undoes = _SHOWN_BY.get(how)
    return any(
        (undoes is None or undoes.search(declarations))
        and any(name.search(part) for name in names for part in subjects)
        for subjects, declarations in others
    )


def screen_rules(sheet: str) -> Iterator[tuple[str, str]]:
    """Selectors and declarations of the rules that hold on a wide screen, in order; rules in rules are left out."""
    sheet = _COMMENT.sub("", sheet)
    around: list[tuple[str, bool, list[str]]] = []  # of what is open: its prelude, whether it counts, declarations
    start = 0
    for brace in _BRACE.finditer(sheet):
        said = sheet[start : brace.start()]
        start = brace.end()
        if brace.group() == "{":
            before, _, prelude = said.rpartition(";")
            prelude = prelude.strip()
            if around:
                around[-1][2].append(before)
            outer = not around or (around[-1][1] and around[-1][0].startswith("@"))
            around.append((prelude, outer and (not prelude.startswith("@") or _holds(prelude)), []))
        elif around:
            prelude, counts, declarations = around.pop()
            if counts and not prelude.startswith("@"):
                yield prelude, ";".join([*declarations, said])


def _holds(prelude: str) -> bool:
    """Whether what an at-rule asks for is so on a wide screen, as far as that is known."""
    name, _, condition = prelude.lower().partition(" ")
    if name.startswith("@media"):
        return any(map(_fits_screen, prelude.lower().removeprefix("@media").split(",")))
    return name == "@layer" or (name == "@supports" and not condition.strip().startswith("not"))


def _fits_screen(query: str) -> bool:
    if not {"not", "print", "speech", "or"}.isdisjoint(query.replace("(", " ( ").split()):
        return False
    return all(_has(feature, value) for feature, value in _FEATURE.findall(query)) and "<" not in query


def _has(feature: str, value: str) -> bool:
    length = _LENGTH.fullmatch(value)
    if feature in {"min-width", "max-width"} and length is not None:
        pixels = float(length.group(1)) * (16 if (length.group(2) or "").endswith("em") else 1)
        return pixels <= _SCREEN_PIXELS if feature == "min-width" else pixels >= _SCREEN_PIXELS
    return (feature, value) in _USUAL
