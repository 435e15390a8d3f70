"""Whether a page is an empty shell that only a browser would fill."""

import re

from pincite.domain.page import Document, Snapshot

_SHELL_TEXT_CHARS = 200
_SCRIPT = re.compile(rb"<script\b", re.IGNORECASE)
_EMPTY_ROOT = re.compile(
    rb"<(?:div|main|section|app-root|body)\b[^<>]{0,500}>"
    rb"\s{0,200}(?:<!--[^<>]{0,500}-->\s{0,200})?</(?:div|main|section|app-root|body)>",
    re.IGNORECASE,
)
_NOSCRIPT = re.compile(rb"<noscript[^<>]{0,200}>[^<]{0,400}\bjavascript\b", re.IGNORECASE)
_HEAD_BYTES = 300_000


def needs_rendering(snapshot: Snapshot, document: Document | None) -> bool:
    """Whether the static page has next to no text and the marks of one that scripts build.

    Args:
        snapshot: the answer as it came.
        document: what was read out of it; None when nothing could be.
    """
    if "html" not in snapshot.content_type.lower() or (document and len(document.text) >= _SHELL_TEXT_CHARS):
        return False
    head = snapshot.body[:_HEAD_BYTES]
    return bool(_SCRIPT.search(head)) and bool(_EMPTY_ROOT.search(head) or _NOSCRIPT.search(head))
