"""Markdown sources to a Document: the blocks of CommonMark and tables, inline marks with their delimiters removed."""

import re
from dataclasses import dataclass, field

from pincite.domain.errors import EmptyContent
from pincite.domain.page import Block, BlockKind, Document, Mark, MarkKind
from pincite.fetch.extractors.characters import clean
from pincite.fetch.extractors.html import links_of
from pincite.fetch.extractors.inline import absolute
from pincite.fetch.extractors.tables import Cell, join_rows
from pincite.fetch.extractors.writing import InlineText

EXTRACTOR = "markdown"
VERSION = "1"

_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n(?:---|\.\.\.)\n", re.DOTALL)
_FENCE = re.compile(r"^( *)(`{3,}|~{3,})\s*([\w+#.-]*)[^`]*$")
_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*$")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-{2,})\s*$")
_RULE = re.compile(r"^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$")
_ITEM = re.compile(r"^(\s*)(?:([-*+])|(\d{1,9})[.)])\s+(.*)$")
_TABLE_RULE = re.compile(r"^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_REFERENCE = re.compile(r"^ {0,3}\[([^\]^][^\]]*)\]:\s*<?(\S+?)>?(?:\s+[\"'(].*)?$")
_FOOTNOTE = re.compile(r"^\[\^([^\]]+)\]:\s*(.*)$")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,500}>")
_INLINE = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<ticks>`+)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|!\[(?P<alt>[^\]\n]{0,300})\]\([^()\n]{0,2000}\)"
    r"|\[(?P<label>(?:[^\[\]\n]|\\\]){1,500})\]\(\s*<?(?P<href>[^()\s<>]{0,2000})>?(?:\s+[\"'][^\"'\n]*[\"'])?\s*\)"
    r"|\[(?P<reflabel>[^\[\]\n]{1,300})\]\[(?P<ref>[^\[\]\n]{0,200})\]"
    r"|<(?P<auto>https?://[^\s<>]{1,2000})>"
    r"|(?P<strong>\*\*|__)(?=\S)(?P<strong_text>.+?)(?<=\S)(?P=strong)"
    r"|(?P<em>(?<![\w*])[*_])(?=[^\s*_])(?P<em_text>[^*_\n]+?)(?<=\S)(?P=em)(?![\w*])"
)
_MAX_DEPTH = 5


def read_markdown(text: str, url: str) -> Document:
    """The document in a Markdown source.

    Errors:
        EmptyContent: nothing but white space.
    """
    text = clean(text)
    front = _FRONT_MATTER.match(text)
    title = ""
    if front:
        named = re.search(r"^title:\s*[\"']?(.*?)[\"']?\s*$", front.group(1), re.MULTILINE)
        title = named.group(1) if named else ""
        text = text[front.end() :]
    text = _COMMENT.sub("", text)
    lines = [line.expandtabs(4).rstrip() for line in text.split("\n")]
    references = {m.group(1).casefold(): m.group(2) for line in lines if (m := _REFERENCE.match(line))}
    reader = _Reader(url, references)
    reader.run([line for line in lines if not _REFERENCE.match(line)])
    if not reader.blocks:
        raise EmptyContent("the text is empty", reason="empty_page")
    blocks = tuple(reader.blocks)
    heading = next((block.text for block in blocks if block.kind is BlockKind.HEADING), "")
    return Document(
        EXTRACTOR, VERSION, blocks, title=title or heading, canonical_url=url.partition("#")[0], links=links_of(blocks)
    )


@dataclass(slots=True)
class _Reader:
    """Line by line; `blocks` grows."""

    url: str
    references: dict[str, str]
    blocks: list[Block] = field(default_factory=list)
    _pending: list[str] = field(default_factory=list)
    _kind: BlockKind = BlockKind.PARAGRAPH
    _item: re.Match[str] | None = None
    _indents: list[int] = field(default_factory=list)

    def run(self, lines: list[str]) -> None:
        """Read all lines."""
        index = 0
        while index < len(lines):
            index = self._step(lines, index)
        self._flush()

    def _step(self, lines: list[str], index: int) -> int:
        """Read the line at `index`; gives back the next one."""
        line = lines[index]
        if fence := _FENCE.match(line):
            return self._fenced(lines, index, fence)
        if not line:
            self._flush()
            return index + 1
        if self._pending and self._kind is BlockKind.PARAGRAPH and (mark := _UNDERLINE.match(line)):
            self._emit(BlockKind.HEADING, " ".join(self._pending), level=1 if mark.group(1)[0] == "=" else 2)
            self._pending = []
            return index + 1
        if _RULE.match(line):
            self._flush()
            return index + 1
        if heading := _HEADING.match(line):
            self._flush()
            self._indents = []
            if heading.group(2):
                self._emit(BlockKind.HEADING, heading.group(2), level=len(heading.group(1)))
            return index + 1
        if "|" in line and index + 1 < len(lines) and "|" in lines[index + 1] and _TABLE_RULE.match(lines[index + 1]):
            return self._table(lines, index)
        self._running(line)
        return index + 1

    def _running(self, line: str) -> None:
        """A line of an item, a quotation, indented code or a paragraph."""
        indent = len(line) - len(line.lstrip())
        if item := _ITEM.match(line):
            self._flush()
            self._start_item(item)
        elif line.lstrip().startswith(">"):
            if self._kind is not BlockKind.QUOTATION:
                self._flush()
            quoted = line.lstrip()[1:].strip()
            if not quoted:
                self._flush()
                return
            self._kind = BlockKind.QUOTATION
            self._pending.append(quoted)
        elif note := _FOOTNOTE.match(line):
            self._flush()
            self._kind = BlockKind.FOOTNOTE
            self._pending.append(f"[{note.group(1)}] {note.group(2)}")
        elif indent >= 4 and not self._indents and (not self._pending or self._kind is BlockKind.CODE):
            self._kind = BlockKind.CODE
            self._pending.append(line[4:])
        else:
            if self._kind is BlockKind.CODE:
                self._flush()
            if not self._pending and indent == 0:
                self._indents = []
            self._pending.append(line.strip())

    def _start_item(self, item: re.Match[str]) -> None:
        indent = len(item.group(1))
        while self._indents and self._indents[-1] > indent:
            self._indents.pop()
        if not self._indents or self._indents[-1] < indent:
            self._indents.append(indent)
        self._kind, self._item = BlockKind.LIST_ITEM, item
        self._pending = [item.group(4)]

    def _fenced(self, lines: list[str], index: int, fence: re.Match[str]) -> int:
        self._flush()
        indent, ticks = len(fence.group(1)), fence.group(2)
        end = index + 1
        while end < len(lines) and not (
            lines[end].strip().startswith(ticks) and not lines[end].strip().strip(ticks[0])
        ):
            end += 1
        body = [line[min(indent, len(line) - len(line.lstrip())) :] for line in lines[index + 1 : end]]
        code = "\n".join(body).strip("\n")
        if code.strip():
            level = len(self._indents)
            self.blocks.append(Block(BlockKind.CODE, code, level=level, language=fence.group(3).lower()))
        return end + 1

    def _table(self, lines: list[str], index: int) -> int:
        self._flush()
        rows: list[list[Cell]] = []
        position = index
        while position < len(lines) and "|" in lines[position]:
            if position != index + 1:
                line = lines[position].strip().removeprefix("|")
                line = line[:-1] if line.endswith("|") and not line.endswith("\\|") else line
                rows.append([Cell(*self._inline(cell.replace("\\|", "|"))) for cell in _CELL_BORDER.split(line)])
            position += 1
        text, marks = join_rows(rows)
        cells = tuple(tuple(cell.text for cell in row) for row in rows)
        if text.strip():
            self.blocks.append(Block(BlockKind.TABLE, text, rows=cells, has_header=True, marks=marks))
        return position

    def _flush(self) -> None:
        lines, self._pending = self._pending, []
        kind, self._kind = self._kind, BlockKind.PARAGRAPH
        item, self._item = self._item, None
        if not any(lines):
            return
        if kind is BlockKind.CODE:
            self.blocks.append(Block(kind, "\n".join(lines).rstrip()))
        elif item is not None:
            number = int(item.group(3)) if item.group(3) else None
            self._emit(kind, " ".join(lines), level=len(self._indents) - 1, number=number)
        else:
            self._emit(kind, " ".join(lines), level=len(self._indents) if kind is BlockKind.PARAGRAPH else 0)

    def _emit(self, kind: BlockKind, source: str, *, level: int = 0, number: int | None = None) -> None:
        text, marks = self._inline(source)
        if text:
            self.blocks.append(Block(kind, text, level=level, ordered=number is not None, number=number, marks=marks))

    def _inline(self, source: str) -> tuple[str, tuple[Mark, ...]]:
        writer = InlineText()
        self._write(writer, source, 0)
        return writer.take()

    def _write(self, writer: InlineText, source: str, depth: int) -> None:
        position = 0
        for match in _INLINE.finditer(source) if depth < _MAX_DEPTH else ():
            writer.add(_TAG.sub("", source[position : match.start()]))
            position = match.end()
            self._write_match(writer, match, depth)
        writer.add(_TAG.sub("", source[position:]))

    def _write_match(self, writer: InlineText, match: re.Match[str], depth: int) -> None:
        found = match.groupdict()
        if found["escape"]:
            writer.add(found["escape"][1])
        elif found["code"] is not None:
            writer.open(MarkKind.CODE)
            writer.add(found["code"])
            writer.close(MarkKind.CODE)
        elif found["label"] is not None or found["reflabel"] is not None:
            label = found["label"] or found["reflabel"] or ""
            target = found["href"] or self.references.get((found["ref"] or label).casefold(), "")
            writer.open(MarkKind.LINK, absolute(self.url, target))
            self._write(writer, label, depth + 1)
            writer.close(MarkKind.LINK)
        elif found["auto"]:
            writer.open(MarkKind.LINK, found["auto"])
            writer.add(found["auto"])
            writer.close(MarkKind.LINK)
        elif found["strong"]:
            writer.open(MarkKind.STRONG)
            self._write(writer, found["strong_text"], depth + 1)
            writer.close(MarkKind.STRONG)
        elif found["em"]:
            writer.open(MarkKind.EMPHASIS)
            self._write(writer, found["em_text"], depth + 1)
            writer.close(MarkKind.EMPHASIS)
