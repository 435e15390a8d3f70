"""Whether a page is an empty shell that only a browser would fill."""

import re

from pincite.domain.page import Document, Snapshot

_LIBRARY = "archive"
# "Please enable JavaScript" and a menu; any text of a page has more.
_SHELL_TEXT_CHARS = 200
_SCRIPT = re.compile(rb"<script\b", re.IGNORECASE)
_SCRIPTS = re.compile(rb"<script\b.*?(?:</script\s*>|\Z)", re.IGNORECASE | re.DOTALL)
# Where scripts put what they make: a named container, an element of their own kind, or the whole body. An empty
# element without a name is a spacer.
_EMPTY_ROOT = re.compile(
    rb"<(?:(?:div|section)\b(?=[^<>]{0,500}\s(?:id|data-[\w-]{1,60}|ng-app)\b)|main\b|body\b|[a-z]{1,30}-[a-z-]{1,40}\b)"
    rb"[^<>]{0,500}>\s{0,200}(?:<!--[^<>]{0,500}-->\s{0,200})?</(?:div|main|section|body|[a-z]{1,30}-[a-z-]{1,40})>",
    re.IGNORECASE,
)
_NOSCRIPT = re.compile(rb"<noscript[^<>]{0,200}>[^<]{0,400}\bjavascript\b", re.IGNORECASE)
# Where frameworks leave their marks: root elements and first scripts.
_HEAD_BYTES = 300_000


def needs_rendering(snapshot: Snapshot, document: Document | None) -> bool:
    """Whether the static page has next to no text, or text only in its data, and the marks of one that scripts build.

    Never a library's page.

    Args:
        snapshot: the answer as it came.
        document: what was read out of it; None when nothing could be.
    """
    if snapshot.via == _LIBRARY or "html" not in snapshot.content_type.lower():
        return False
    if document and len(document.text) >= _SHELL_TEXT_CHARS and not document.warnings:
        return False
    head = snapshot.body[:_HEAD_BYTES]
    if not _SCRIPT.search(head):
        return False
    if document and document.warnings:  # its text is not what the markup shows
        return True
    return bool(_NOSCRIPT.search(head) or _EMPTY_ROOT.search(_SCRIPTS.sub(b" ", head)))
