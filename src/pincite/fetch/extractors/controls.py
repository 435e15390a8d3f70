"""Labels of buttons among the blocks of a page: "Copy link" is no text, a heading that can be clicked is one.

The choice of content is made before: it is trained on pages as they stand.
"""

from collections.abc import Sequence

from lxml.html import HtmlElement

from pincite.fetch.extractors.blocks import Found

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
# A button that opens something and says so much is the title of what it opens; "Menu" is not.
_LABEL_WORDS = 3
# A label of a button; a longer block is text that has a button in it.
_LONGEST_CHARS = 200
# A bar of buttons; more in one block are a list of links made as buttons.
_MOST_BUTTONS = 8


def without_controls(found: Sequence[Found]) -> list[Found]:
    """The blocks but for those that are labels of controls alone; all of them on a page that has nothing else."""
    if not found:
        return []
    near = _near_buttons(found[0].element.getroottree().getroot())
    return [item for item in found if item.element not in near or not _is_label(item)] or list(found)


def _near_buttons(root: HtmlElement) -> set[HtmlElement]:
    """All elements that hold a button or stand in one; most blocks of a page are none, and need no look around."""
    near: set[HtmlElement] = set()
    for button in root.iter("button"):
        if button not in near:
            near.update(button.iter())
        above = button.getparent()
        while above is not None and above not in near:
            near.add(above)
            above = above.getparent()
    return near


def _is_label(item: Found) -> bool:
    """Whether nothing of the block stands outside of buttons."""
    text = item.block.text
    if len(text) > _LONGEST_CHARS:
        return False
    around = next(item.element.iterancestors("button"), None)
    inside = [around] if around is not None else _first_buttons(item.element)
    if not inside:
        return False
    left = f" {' '.join(text.split())} "
    for button in inside:
        if _is_control(button):
            left = left.replace(f" {' '.join(button.text_content().split())} ", " ", 1)
    return not any(character.isalnum() for character in left)


def _first_buttons(element: HtmlElement) -> list[HtmlElement]:
    found: list[HtmlElement] = []
    for button in element.iter("button"):
        found.append(button)
        if len(found) == _MOST_BUTTONS:
            break
    return found


def _is_control(button: HtmlElement) -> bool:
    """Whether a button only does something: it heads no part of the page, and is no card that can be clicked.

    Source: ARIA Authoring Practices Guide, accordion and disclosure: a heading, or a label of what it opens, is a
    button.
    """
    if next(button.iterancestors(*_HEADINGS, "summary", "dt", "legend", "caption"), None) is not None:
        return False
    if next(button.iter(*_HEADINGS, "p", "li", "table"), None) is not None:
        return False
    opens = button.get("aria-expanded") is not None or button.get("aria-controls") is not None
    return not (opens and len(button.text_content().split()) >= _LABEL_WORDS)
