"""What class names and roles say: the language of code; boxes and footnotes beside the running text."""

import re
from functools import lru_cache
from itertools import islice, takewhile

from lxml.html import HtmlElement

_PREFIXED = re.compile(
    r"(?:^|\s)(?:lang(?:uage)?|highlight(?:-source)?|brush:?\s?|src|code-?block|sourceCode|syntax)[-_: ]+"
    r"([A-Za-z][A-Za-z0-9+#_.-]{0,19})"
)
_PANDOC = re.compile(
    r"(?:^|\s)sourceCode\s+([A-Za-z][A-Za-z0-9+#_.-]{0,19})|(?:^|\s)highlight\s+([a-z][a-z0-9+#]{0,14})(?:\s|$)"
)
_NOT_LANGUAGES = frozenset(
    "default none text plaintext plain highlight source notranslate nohighlight block line-numbers wrapper".split()
)
_ALIASES = {
    "python3": "python",
    "pycon3": "pycon",
    "py": "python",
    "js": "javascript",
    "ts": "typescript",
    "sh": "shell",
    "zsh": "shell",
}
_PARTS_OF_PAGE = frozenset({"body", "article", "main", "section"})


def code_language(pre: HtmlElement) -> str:
    """The language named by the block, its `<code>` or up to three elements around it, in lower case, or nothing."""
    around = takewhile(lambda element: element.tag not in _PARTS_OF_PAGE, islice(pre.iterancestors(), 3))
    for element in (pre, *(child for child in pre if child.tag == "code"), *around):
        name = element.get("data-lang") or element.get("data-language") or element.get("lang-name") or ""
        classes = element.get("class") or ""
        if not name and classes:
            match = _PREFIXED.search(classes) or _PANDOC.search(classes)
            name = next((group for group in match.groups() if group), "") if match else ""
        name = name.strip().lower()
        if name and name not in _NOT_LANGUAGES and re.fullmatch(r"[a-z][a-z0-9+#_.-]{0,19}", name):
            return _ALIASES.get(name, name)
    return ""


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
