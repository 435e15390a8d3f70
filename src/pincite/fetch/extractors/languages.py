"""Which programming language a code block says it is in."""

import re

from lxml.html import HtmlElement

_PREFIXED = re.compile(
    r"(?:^|\s)(?:lang(?:uage)?|highlight(?:-source)?|brush:?\s?|src|code-?block|sourceCode|syntax)[-_: ]+"
    r"([A-Za-z][A-Za-z0-9+#_.-]{0,19})"
)
_PANDOC = re.compile(
    r"(?:^|\s)sourceCode\s+([A-Za-z][A-Za-z0-9+#_.-]{0,19})|(?:^|\s)highlight\s+([a-z][a-z0-9+#]{0,14})(?:\s|$)"
)
_NOT_LANGUAGES = frozenset(
    {
        "default",
        "none",
        "text",
        "plaintext",
        "plain",
        "highlight",
        "source",
        "notranslate",
        "nohighlight",
        "block",
        "line-numbers",
        "wrapper",
    }
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


def code_language(pre: HtmlElement) -> str:
    """The language named by the block, its `<code>` or up to three elements around it, in lower case, or nothing."""
    near: list[HtmlElement] = [pre]
    near += [child for child in pre if child.tag == "code"]
    parent = pre.getparent()
    for _ in range(3):
        if parent is None or parent.tag in {"body", "article", "main", "section"}:
            break
        near.append(parent)
        parent = parent.getparent()
    for element in near:
        name = element.get("data-lang") or element.get("data-language") or element.get("lang-name") or ""
        classes = element.get("class") or ""
        if not name and classes:
            match = _PREFIXED.search(classes) or _PANDOC.search(classes)
            name = next((group for group in match.groups() if group), "") if match else ""
        name = name.strip().lower()
        if name and name not in _NOT_LANGUAGES and re.fullmatch(r"[a-z][a-z0-9+#_.-]{0,19}", name):
            return _ALIASES.get(name, name)
    return ""
