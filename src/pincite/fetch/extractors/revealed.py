"""Text that scripts of the page put in sight: streamed parts of pages, containers that start hidden, folded sections.

A browser runs these scripts; here they are recognised by their form and done by hand. What no script of the page is
seen to show stays hidden: hidden text is where instructions to machines are put.

Source: React's `ReactDOMFizzInstructionSet` (`$RC`, `$RR`: complete a boundary; `$RS`: complete a segment); Marko's
reordered fragments (`$afNAME(id)` puts what `#afNAMEid` holds in the place of `#afNAMEphid`); ARIA Authoring Practices
Guide, disclosure, accordion and tabs; Bootstrap's collapse and tabs.
"""

import re
from collections.abc import Collection, Mapping

from lxml import etree
from lxml.html import HtmlElement

from pincite.fetch.extractors.dom import BOUNDARY, Page

_CALL = re.compile(r"""\$R([CRS])\(\s*["']([\w:.-]{1,80})["']\s*,\s*["']([\w:.-]{1,80})["']""")
_SHOWS = re.compile(
    r"hidden|display|visibility|opacity|classList|className|\.show\(|\.fadeIn\(|removeAttr|removeClass|toggle"
)
_MARKO = re.compile(r"""function \$(af\w{0,40})\(.{0,400}?getElementById\(["'](af\w{0,40}?)ph["']\s*\+""", re.DOTALL)
# What a reader opens with a visible control is one click away, as in `<details>`; a menu or a dialogue is no text.
_IS_CONTROL = etree.XPath(
    "boolean(self::*[(@aria-controls and (@aria-expanded or @role='tab' or @role='button' or self::button)"
    " or contains(' collapse tab pill ', concat(' ', @data-bs-toggle, ' '))"
    " or contains(' collapse tab pill ', concat(' ', @data-toggle, ' ')))"
    " and not(@aria-haspopup) and not(ancestor-or-self::nav or ancestor::footer or ancestor::form"
    " or ancestor::header[not(ancestor::article or ancestor::main)]"
    " or ancestor-or-self::*[@role='navigation' or @role='menu' or @role='menubar' or @role='banner'"
    " or @role='dialog'])])"
)
_NO_SECTIONS = frozenset({"dialog", "alertdialog", "menu", "menubar", "listbox", "tooltip", "navigation", "search"})
# Says in the tree that a section shows to who opens it.
FOLDED = "data-folded"
# The call that shows a part follows the one that names it.
_NEAR_CHARS = 300
# A bound on scripts of somebody else.
_MAX_CALLS = 2_000


def place_streamed(page: Page) -> int:
    """Put streamed parts where the page's own scripts would; gives back how many were placed."""
    if not page.is_streamed:
        return 0
    known = {element.get("id"): element for element in page.root.iter() if element.get("id")}
    placed = _place_fragments(page, known)
    defined: set[str] = set()
    calls = 0
    for script in page.scripts:
        defined.update(letter for letter in "CRS" if f"$R{letter}=" in script and "getElementById" in script)
        for letter, first, second in _CALL.findall(script):
            calls += 1
            if letter not in defined or calls > _MAX_CALLS:
                continue
            place, part = (
                (known.get(second), known.get(first)) if letter == "S" else (known.get(first), known.get(second))
            )
            if place is None or part is None or place.tag != "template" or place in part.iter():
                continue
            _put(place, part, fallback=letter != "S")
            placed += 1
    return placed


def _place_fragments(page: Page, known: Mapping[str | None, HtmlElement]) -> int:
    """Put Marko's fragments in the places that were kept for them; a place without one is left to the last of them."""
    placed = 0
    for script in page.scripts:
        for name, same in _MARKO.findall(script)[:_MAX_CALLS]:
            calls = (call for other in page.scripts for call in re.findall(rf"\${name}\((\d{{1,5}})[,)]", other))
            for number in list(calls)[:_MAX_CALLS] if name == same else ():
                part = known.get(f"{name}{number}")
                place = known.get(f"{name}ph{number}")
                if part is None or part.get("style") is None:
                    continue
                del part.attrib["style"]
                placed += 1
                if place is not None and place.tag == "noscript" and place not in part.iter():
                    _put(place, part, fallback=False)
    return placed


def folded_sections(page: Page, unseen: Collection[HtmlElement]) -> set[HtmlElement]:
    """What a reader opens with a visible control of the page (accordions, tabs), by what the control names.

    A control inside something unseen is none.
    """
    if not any(word in page.source for word in ("aria-controls", "data-bs-toggle", "data-toggle")):
        return set()
    named: set[str] = set()
    for control in filter(_IS_CONTROL, page.still_noted()):
        target = control.get("aria-controls") or control.get("data-bs-target") or control.get("data-target")
        target = (target or control.get("href") or "").removeprefix("#")
        hidden = any(element in unseen for element in (control, *control.iterancestors()))
        if target and not hidden and any(character.isalnum() for character in control.text_content()):
            named.add(target)
    if not named:
        return set()
    sections = {
        element
        for element in page.root.iter()
        if element.get("id") in named
        and (element.get("role") or "") not in _NO_SECTIONS
        and element.get("aria-modal") is None
        and element.tag not in {"nav", "form", "dialog"}
    }
    holders = (element.getparent() for element in sections)
    return sections | {holder for holder in holders if holder is not None and len(holder) == 1}


def _put(place: HtmlElement, part: HtmlElement, *, fallback: bool) -> None:
    """`part` in the place of a template, and of what stood there until it came."""
    parent = place.getparent()
    if parent is None:
        return
    if fallback:
        _drop_fallback(place)
    tail, place.tail = place.tail, None
    holder = part.getparent()
    if holder is not None and part.tail:
        before = part.getprevious()
        if before is None:
            holder.text = (holder.text or "") + part.tail
        else:
            before.tail = (before.tail or "") + part.tail
    part.tail = tail
    part.attrib.pop("hidden", None)
    parent.replace(place, part)


def _drop_fallback(place: HtmlElement) -> None:
    """Take out what stands between the template and the end of its boundary."""
    depth = 0
    doomed: list[HtmlElement] = []
    for sibling in place.itersiblings():
        side = sibling.get(BOUNDARY)
        if side == "end" and depth == 0:
            place.tail = None
            for element in doomed:
                element.getparent().remove(element)  # with the text after it
            return
        depth += {"start": 1, "end": -1}.get(side or "", 0)
        doomed.append(sibling)


def is_shown_by_script(page: Page, element: HtmlElement) -> bool:
    """Whether an inline script names this element beside something that shows or hides elements."""
    name = element.get("id") or ""
    if len(name) < 2:
        return False
    pattern = re.compile(rf"""["'`#]{re.escape(name)}["'`]""")
    return any(
        _SHOWS.search(script, match.end(), match.end() + _NEAR_CHARS)
        for script in page.scripts
        for match in pattern.finditer(script)
    )
