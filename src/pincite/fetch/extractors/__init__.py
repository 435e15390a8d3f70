"""Bytes to Document. `extract` is the facade; each module reads one family of formats."""

from pincite.domain.errors import EmptyContent, TooLarge, UnsupportedContentType
from pincite.domain.page import Document
from pincite.fetch.extractors.charset import decode
from pincite.fetch.extractors.sniffing import Format, format_of

MAX_HTML_BYTES = 5_000_000
MAX_TEXT_BYTES = 20_000_000


def extract(content: bytes, url: str, content_type: str | None = None) -> Document:
    """The document in `content`, read in this process behind the input guards.

    The bytes decide what they are; `content_type` only helps where they leave it open.

    Errors:
        EmptyContent: no bytes, or no text a reader would see.
        UnsupportedContentType: images, archives, programs and the like.
        TooLarge: over the size limit of its format.
        ParseError: built to break parsers, or broken.
    """
    if not content.strip():
        raise EmptyContent("the body is empty", reason="empty_body")
    found = format_of(content, url, content_type)
    if found is Format.UNSUPPORTED:
        raise UnsupportedContentType("the body is not text", reason="binary", context={"content_type": content_type})
    limit = MAX_HTML_BYTES if found is Format.HTML else MAX_TEXT_BYTES
    if len(content) > limit:
        raise TooLarge(
            f"{len(content):,} bytes are more than the {limit:,} that are read", context={"limit_bytes": limit}
        )
    text = decode(content, content_type).text
    if found is Format.HTML:
        from pincite.fetch.extractors.html import read_html

        return read_html(text, url)
    if found is Format.MARKDOWN:
        from pincite.fetch.extractors.markdown import read_markdown

        return read_markdown(text, url)
    from pincite.fetch.extractors.plain import read_plain

    return read_plain(text, url)


class BytesExtractor:
    """Implements `ports.Extractor` in this process; picklable, so that a worker can be given one."""

    revision = "1"
    """Changes when pages read differently, so that stored readings are made anew."""

    def extract(self, body: bytes, url: str, content_type: str | None) -> Document:
        """As `extract`."""
        return extract(body, url, content_type)
