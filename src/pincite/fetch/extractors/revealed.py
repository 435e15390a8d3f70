"""Text that scripts of the page put in sight: streamed parts of React pages, and containers that start hidden.

A browser runs these scripts; here they are recognised by their form and done by hand. What no script of the page is
seen to show stays hidden: hidden text is where instructions to machines are put.

Source: React's `ReactDOMFizzInstructionSet` (`$RC`, `$RR`: complete a boundary; `$RS`: complete a segment).
"""

import re

from lxml.html import HtmlElement

from pincite.fetch.extractors.dom import BOUNDARY, Page

_CALL = re.compile(r"""\$R([CRS])\(\s*["']([\w:.-]{1,80})["']\s*,\s*["']([\w:.-]{1,80})["']""")
_SHOWS = re.compile(
    r"hidden|display|visibility|opacity|classList|className|\.show\(|\.fadeIn\(|removeAttr|removeClass|toggle"
)
# The call that shows a part follows the one that names it.
_NEAR_CHARS = 300
# A bound on scripts of somebody else.
_MAX_CALLS = 2_000


def place_streamed(page: Page) -> int:
    """Put streamed parts where the page's own scripts would; gives back how many were placed."""
    if not page.is_streamed:
        return 0
    known = {element.get("id"): element for element in page.root.iter() if element.get("id")}
    defined: set[str] = set()
    placed = calls = 0
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
    for script in page.scripts:
        for match in pattern.finditer(script):
            if _SHOWS.search(script, match.end(), match.end() + _NEAR_CHARS):
                return True
    return False
