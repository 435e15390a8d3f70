"""What kind of body this is, for its size limit. The header is a hint; the first bytes decide where they are clear."""

from pincite.fetch.limits import BodyKind

_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"


def body_kind(content_type: str, head: bytes) -> BodyKind:
    """The kind of a body by its first bytes, else by its header, else HTML (the smallest limit)."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:16].lower()
    if start.startswith(b"%pdf-"):
        return BodyKind.PDF
    if head.startswith((_ZIP, _OLE)):
        return BodyKind.DOCUMENT
    if start.startswith((b"<!doctype html", b"<html")):
        return BodyKind.HTML
    media = content_type.split(";", 1)[0].strip().lower()
    if media == "application/pdf":
        return BodyKind.PDF
    if media.startswith("application/") and "xhtml" not in media:
        return BodyKind.DOCUMENT
    return BodyKind.DOCUMENT if media in {"text/csv", "text/rtf"} else BodyKind.HTML
