"""Boxes and footnotes: what a class name or a role says stands beside the running text."""

import re
from functools import lru_cache

from lxml.html import HtmlElement

# Class names of boxes in what documentation tools write: Docutils, Sphinx, DocBook, Asciidoctor, MkDocs, Docusaurus,
# GitHub (`markdown-alert-note`).
_NOTE_KINDS = frozenset(
    "note notes warning tip hint caution important danger attention error admonition seealso callout alert notice info "
    "example todo deprecated versionadded versionchanged versionremoved".split()
)
_NOTE_PREFIXES = frozenset({"admonition", "alert", "callout", "markdown", "theme", "is", "block"})
_VAGUE_NOTES = frozenset({"admonition", "alert", "callout", "notice", "info"})
_FOOTNOTE = re.compile(r"\b(?:footnotes?|endnotes?|fn-list|footnote-list)\b", re.IGNORECASE)
_FOOTNOTE_ROLES = frozenset({"doc-footnote", "doc-endnotes", "doc-endnote"})


def is_footnote(element: HtmlElement) -> bool:
    """Whether the element is a footnote, or holds them, by its class or role."""
    if (element.get("role") or "") in _FOOTNOTE_ROLES:
        return True
    names = element.get("class")
    return bool(names) and element.tag in {"div", "aside", "section", "p", "dl"} and bool(_FOOTNOTE.search(names))


def note_kind(element: HtmlElement) -> str:
    """The kind of box an element is by its class or role, or nothing. What holds a section is no box."""
    names = element.get("class")
    kind = _note_in(names) if names else ""
    if element.get("role") == "note" and kind in {"", *_VAGUE_NOTES}:
        kind = "note"
    return "" if not kind or next(element.iter("h1", "h2"), None) is not None else kind


@lru_cache(maxsize=2_048)
def _note_in(names: str) -> str:
    """The kind of box that class names spell out, the clearest of several."""
    kinds: list[str] = []
    for name in names.lower().split():
        *prefixes, last = name.replace("_", "-").split("-")
        if last in _NOTE_KINDS and all(prefix in _NOTE_PREFIXES for prefix in prefixes):
            kinds.append(last)
        elif prefixes and prefixes[0] in {"admonition", "alert", "callout"} and last not in {"title", "heading"}:
            kinds.append(prefixes[0])
    return next((kind for kind in kinds if kind not in _VAGUE_NOTES), kinds[0] if kinds else "")
