"""Markdown sources to a Document: CommonMark with tables, strikethrough and footnotes, read as the HTML it stands for.

One reader of trees for both: what holds of a page (marks, parents, hidden text, limits) holds of a Markdown file.

Source: CommonMark 0.31 by markdown-it-py; GitHub Flavored Markdown for tables and strikethrough.
"""

import re
from functools import cache
from html import escape

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from pincite.domain.errors import EmptyContent
from pincite.domain.page import Document
from pincite.fetch.extractors import VERSIONS
from pincite.fetch.extractors.characters import clean
from pincite.fetch.extractors.html import file_document, fragment_blocks

EXTRACTOR = "markdown"
VERSION = VERSIONS["markdown"]

_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n(?:---|\.\.\.)\n", re.DOTALL)
_NOTE = re.compile(r"\[\^([^\]\s]{1,60})\]:[ \t]*(.*)")
_NOTE_MARK = re.compile(r"\[\^([^\]\s]{1,60})\]")
# Of quotations and lists; what is deeper is read as plain text of the level above.
_MAX_NESTING = 60


def read_markdown(text: str, url: str) -> Document:
    """The document in a Markdown source.

    Errors:
        EmptyContent: nothing but white space.
        ParseError, TooLarge: HTML in it is built to break parsers.
    """
    text = clean(text)
    front = _FRONT_MATTER.match(text)
    title = ""
    if front:
        named = re.search(r"^title:\s*[\"']?(.*?)[\"']?\s*$", front.group(1), re.MULTILINE)
        title = named.group(1) if named else ""
        text = text[front.end() :]
    html = _reader().render(text)
    if not html.strip():
        raise EmptyContent("the text is empty", reason="empty_page")
    blocks = fragment_blocks(f"<body>{html}</body>", url)
    return file_document(EXTRACTOR, VERSION, blocks, url, title=title or None)


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).enable(["table", "strikethrough"])
    reader.block.ruler.before("reference", "footnote", _footnote, {"alt": ["paragraph", "reference"]})
    reader.inline.ruler.before("link", "footnote_mark", _footnote_mark)
    return reader


def _footnote(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # the parser's own form
    """`[^1]: text`, with the lines that go on without a blank one."""
    match = _NOTE.match(state.src, state.bMarks[start] + state.tShift[start], state.eMarks[start])
    if match is None or state.is_code_block(start):
        return False
    if silent:
        return True
    line = start + 1
    while (
        line < end and not state.isEmpty(line) and not _NOTE.match(state.src, state.bMarks[line] + state.tShift[line])
    ):
        line += 1
    rest = state.getLines(start + 1, line, state.blkIndent, False).strip() if line > start + 1 else ""
    state.push("footnote_open", "div", 1).attrs = {"class": "footnote"}
    inline = state.push("inline", "", 0)
    inline.content = f"[{match.group(1)}] {match.group(2)} {rest}".strip()
    inline.map, inline.children = [start, line], []
    state.push("footnote_close", "div", -1)
    state.line = line
    return True


def _footnote_mark(state: StateInline, silent: bool) -> bool:  # the parser's own form
    match = _NOTE_MARK.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        state.push("html_inline", "", 0).content = f'<sup class="reference">[{escape(match.group(1))}]</sup>'
    state.pos = match.end()
    return True
