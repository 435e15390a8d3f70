"""The source of a page as text, for callers who want to convert it themselves."""

import codecs
import re

from pincite.domain.page import Snapshot

_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_TEXTUAL = re.compile(
    r"^(?:text/|application/(?:[\w.+-]*\+)?(?:json|xml|xhtml\+xml|javascript)\b)|html|^$", re.IGNORECASE
)
# WHATWG HTML §4.2.5.4: a declaration of the encoding stands within the first 1024 bytes.
_META_BYTES = 1_024


def source_text(snapshot: Snapshot) -> str | None:
    """The body as text, or None when it is no text (a PDF, an archive): then what was read has to do."""
    if not _TEXTUAL.search(snapshot.content_type) or b"\x00" in snapshot.body[:_META_BYTES]:
        return None
    body = snapshot.body.removeprefix(codecs.BOM_UTF8)
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body.decode(_charset(snapshot), "replace")


def _charset(snapshot: Snapshot) -> str:
    head = snapshot.body[:_META_BYTES].decode("latin-1")
    for text in (snapshot.content_type, head):
        if named := _CHARSET.search(text):
            try:
                return codecs.lookup(named[1]).name
            except LookupError:
                continue
    return "utf-8"
