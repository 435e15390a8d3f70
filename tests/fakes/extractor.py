"""A tiny extractor: enough HTML and Markdown for tests that need documents, without any dependency."""

import re
import unicodedata
from dataclasses import dataclass, field
from html.parser import HTMLParser

from pincite.domain.errors import EmptyContent, ExtraNotInstalled, UnsupportedContentType
from pincite.domain.page import Block, BlockKind, Document

_KINDS = {
    "p": BlockKind.PARAGRAPH,
    "li": BlockKind.LIST_ITEM,
    "dt": BlockKind.TERM,
    "dd": BlockKind.DEFINITION,
    "pre": BlockKind.CODE,
    "blockquote": BlockKind.QUOTATION,
    **{f"h{level}": BlockKind.HEADING for level in range(1, 7)},
}
_SILENT = frozenset({"script", "style", "nav", "head", "noscript"})


class _Blocks(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[Block] = []
        self.title = ""
        self._kind, self._level = BlockKind.PARAGRAPH, 0
        self._parts: list[str] = []
        self._silent = 0
        self._in_title = False
        self._rows: list[list[str]] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_title = tag == "title"
        if tag in _SILENT:
            self._silent += 1
        elif tag == "table":
            self._flush()
            self._rows = []
        elif tag == "tr" and self._rows is not None:
            self._rows.append([])
        elif tag in _KINDS and self._rows is None:
            self._flush()
            self._kind, self._level = _KINDS[tag], int(tag[1]) if tag[0] == "h" else 0

    def handle_endtag(self, tag: str) -> None:
        self._in_title = False
        if tag in _SILENT:
            self._silent -= 1
        elif tag == "table" and self._rows is not None:
            rows = tuple(tuple(row) for row in self._rows if row)
            self._rows = None
            if rows:
                text = "\n".join(" | ".join(row) for row in rows)
                self.blocks.append(Block(BlockKind.TABLE, text, rows=rows, has_header=True))
        elif tag in ("td", "th") and self._rows:
            self._rows[-1].append(_flat("".join(self._parts)))
            self._parts = []
        elif tag in _KINDS and self._rows is None:
            self._flush()

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._silent:
            self._parts.append(data)

    def _flush(self) -> None:
        raw = "".join(self._parts)
        text = _clean(raw) if self._kind is BlockKind.CODE else _flat(raw)
        if text:
            self.blocks.append(Block(self._kind, text, level=self._level))
        self._parts, self._kind, self._level = [], BlockKind.PARAGRAPH, 0

    def close(self) -> None:
        super().close()
        self._flush()


def _clean(text: str) -> str:
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def _flat(text: str) -> str:
    return " ".join(_clean(text).split())


def _markdown(text: str) -> list[Block]:
    blocks = []
    for part in re.split(r"\n\s*\n", _clean(text)):
        heading = re.match(r"(#{1,6}) +(.+)", part)
        if heading:
            blocks.append(Block(BlockKind.HEADING, heading.group(2).strip(), level=len(heading.group(1))))
            part = part[heading.end() :]
        if part.strip():
            blocks.append(Block(BlockKind.PARAGRAPH, _flat(part)))
    return blocks


@dataclass(frozen=True, slots=True)
class TinyExtractor:
    """Implements ports.Extractor for HTML, Markdown and plain text. `fails_on` maps a part of a URL to how it fails.

    `read` has the URLs it was asked for in this process.
    """

    version: str = "1"
    fails_on: dict[str, str] = field(default_factory=dict)
    read: list[str] = field(default_factory=list, compare=False)

    def extract(self, body: bytes, url: str, content_type: str | None) -> Document:
        """The document. Errors: EmptyContent, UnsupportedContentType."""
        self.read.append(url)
        for part, way in self.fails_on.items():
            if part in url:
                _fail(way)
        kind = (content_type or "text/html").split(";", 1)[0].strip().lower()
        text = body.decode("utf-8", "replace")
        title = ""
        if "html" in kind:
            if b"\0" in body:
                raise UnsupportedContentType("the body is binary", reason="binary_body")
            parser = _Blocks()
            parser.feed(text)
            parser.close()
            blocks, title = parser.blocks, _flat(parser.title)
        elif kind.startswith("text/"):
            blocks = _markdown(text)
        else:
            raise UnsupportedContentType(f"no reader for {kind}")
        if not blocks:
            raise EmptyContent("the page holds no text")
        first = next((b.text for b in blocks if b.kind is BlockKind.HEADING), "")
        return Document(extractor="tiny", version=self.version, blocks=tuple(blocks), title=title or first)


def _fail(way: str) -> None:
    if way == "die":
        import os

        os._exit(9)
    if way == "hang":
        import threading

        threading.Event().wait()
    if way == "lacks":
        raise ExtraNotInstalled("this needs an extra")
    raise RuntimeError(f"the extractor was told to fail: {way}")
