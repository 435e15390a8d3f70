r"""Text set in fixed width (RFCs, man pages, manuals in `<pre>`): paragraphs, headings, entries, lists by their layout.

What reads as prose becomes prose; what doesn't (code, diagrams, columns) stays code, line by line. No words are known
here, only letters, indents, blank lines and numbering.
"""

import re
from collections.abc import Sequence
from dataclasses import field, replace
from urllib.parse import unquote, urlsplit

from pincite.domain.errors import EmptyContent
from pincite.domain.frozen import dataclass
from pincite.domain.page import Block, BlockKind, Document, Mark, MarkKind
from pincite.fetch.extractors import VERSIONS
from pincite.fetch.extractors.characters import clean

_BLANK = re.compile(r"\n[ \t]*(?:\n[ \t]*)*\n|\n[ \t]*\f[ \t]*\n?|\f")
# The foot of a page.
#
# Source: RFC 7322 §3.2 and Appendix A, paginated text: "[Page N]" below, a running head after the form feed.
_PAGE_FOOT = re.compile(r"^.{0,80}\[Page \d{1,4}\][ \t]*$\n?(?:[ \t]*\n)*\f?\n?", re.MULTILINE)
OVERSTRUCK = re.compile(r".\x08")
_RULE = re.compile(r"[-=~^*_#]{3,}\s*\Z")
_NUMBERED = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,5})\.?\s{1,4}(?=\S*[^\W\d_])\S.{0,90}\Z")
_APPENDIX = re.compile(r"([A-Z](?:\.\d{1,3}){1,5})\.?\s{1,4}(?=\S*[^\W\d_])\S.{0,90}\Z")
_CAPITALS = re.compile(r"[A-Z][A-Z0-9 ,/&()'-]{2,60}\Z")
_ITEM = re.compile(r"(?:[-*o•+]|\d{1,3}[.)]|\(\d{1,3}\)|[a-z][.)])\s+(?=\S)")
_SPLIT_TERM = re.compile(r"(\S.{0,60}?)(\s{2,})(?=\S)")
_SENTENCE = re.compile(r"[.!?:]['\")\]]?(?:\s|\Z)")
_COLUMNS = re.compile(r"\S(?: {3,}|\t)\S")
_LEADERS = re.compile(r"(?:\. ?){5,}\s*\d+\s*\Z")
# What programs are full of; `cleanup(8)` is a man page, though.
_CALL = re.compile(r"\w\((?!\d\w{0,3}\))|\w\[\w+\]|::|->|\w=\w")
_STATEMENT = re.compile(r"[.!?]['\")\]]?(?:\s+[^\Wa-z_]|\s*\Z)")
_COMMAND = re.compile(r"(?:[$>%#]|/\*|\*/|//|--|</?[\w!?]|[{}\[\]|+])")
_CODE_END = re.compile(r"[;{}\\]\Z")
_WORD = re.compile(r"[^\W\d_]{2,}")
# Where a sentence ends and another begins in the same line; not the dots of "[OPTION]... FILE".
_NEXT_SENTENCE = re.compile(r"\w[.!?]['\")\]]?\s+[A-Z]")
# A line of its own in the middle of a page of 72 to 80 columns, and not just further in: a title.
_CENTRED_INDENT, _MIDDLE, _OFF_MIDDLE = 12, 37, 5
# Prose in fixed width: half of the words in lines of prose, and enough of them to be more than a caption. Chosen, not
# measured.
_PROSE_SHARE = 0.5
_FEWEST_WORDS = 25
_FEWEST_SENTENCES = 2
# Of a line: drawings and tables have more signs than words.
_LETTERS = 0.8
# As Markdown and reStructuredText have it.
_CODE_INDENT = 4
_PARTED = re.compile(r"(?<![^\W_-])([^\W\d_]+)-\Z")
# Marks of reStructuredText, which manuals are kept in as plain text: ``code``, :role:`name` or :role:`name <target>`.
# Nobody writes them otherwise; quotation marks of TeX (``word'') end differently.
_INLINE = re.compile(
    r"``(?=\S)([^`]{0,200}?\S)``|(?<![\w`]):[a-z][\w:.+-]{0,30}:`~?([^`<>]{1,200}?)(?:\s*<[^`<>]{1,200}>)?`"
)
_LEADS_ON = re.compile(r"(?<![^\w\s)`'\"])::\Z")
# A line of its own that names what follows (".. note::", "::") or a place (".. _top:"), or is a comment; no footnote.
_DIRECTIVE = re.compile(r"::\Z|\.\. (?:(?P<name>[\w-]{1,30}):: ?(?P<said>.*)|[^\s\[|].*)\Z")
# Shorter lines than these were not ended by a margin: mail wraps at 72, narrow columns at 50. Chosen, not measured.
_WRAPPED_CHARS = 45
# A line that breaks off before that share of the longest one was ended by its writer (verses, addresses).
_FULL_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class _Part:
    """Lines between blank ones, and how far they are indented."""

    lines: tuple[str, ...]

    @property
    def indent(self) -> int:
        return min(_indent(line) for line in self.lines)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def reads_as_prose(text: str) -> bool:
    """Whether most of a preformatted text is sentences, and enough of them that it is no comment in code."""
    parts = _parts(text)
    prose = [part for part in parts if _is_prose(part.lines)]
    words = sum(len(part.text.split()) for part in prose)
    sentences = sum(len(_STATEMENT.findall(part.text)) for part in prose)
    return (
        words >= _FEWEST_WORDS
        and sentences >= _FEWEST_SENTENCES
        and words >= _PROSE_SHARE * sum(len(part.text.split()) for part in parts)
    )


def unfolded(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The blocks, with prose that was marked up as code (`<pre>`) in place of that code; parents move along."""
    if not any(_may_unfold(block) for block in blocks):
        return tuple(blocks)
    places: dict[int, int] = {}
    shown: list[Block] = []
    for index, block in enumerate(blocks):
        places[index] = len(shown)
        parent = None if block.parent is None else places[block.parent]
        if _may_unfold(block) and reads_as_prose(block.text):
            outer = replace(block, parent=parent)
            shown += blocks_of_lines(block.text, first=len(shown), around=outer)
        else:
            shown.append(block if parent == block.parent else replace(block, parent=parent))
    return tuple(shown)


def _may_unfold(block: Block) -> bool:
    return block.kind is BlockKind.CODE and not block.language and len(block.text) > 120


def blocks_of_lines(text: str, first: int = 0, around: Block | None = None) -> list[Block]:
    """The blocks of a preformatted text.

    Args:
        text: the lines.
        first: the index that the first block will have in its document.
        around: the block these stand in the place of: its parent, note and page are theirs too.
    """
    reading = _Reading(first, around, frozenset(word.lower() for word in _WORD.findall(text)))
    for part in _parts(text):
        reading.read(part)
    return reading.blocks


@dataclass(slots=True)
class _Reading:
    first: int
    around: Block | None
    words: frozenset[str]
    blocks: list[Block] = field(default_factory=list)
    _open: list[tuple[int, int]] = field(default_factory=list)  # indent and index of terms
    _code_below: int | None = None  # the indent of a paragraph that ends in "::"

    def read(self, part: _Part) -> None:
        if self._code_below is not None and part.indent > self._code_below:
            self._code(part)
            return
        directive = _DIRECTIVE.match(part.lines[0].strip())
        leads_on = _LEADS_ON.search(part.text) and not (directive and directive["name"])
        self._code_below = part.indent if leads_on else None
        if directive:
            said, rest = directive["said"] or "", part.lines[1:]
            rest = (said, *rest) if _is_prose((said, *rest[:1])) else rest
            if rest and (directive["name"] or directive[0] == "::"):
                self.read(_Part(tuple(line.strip() for line in rest) if rest[0] == said else rest))
            return
        while self._open and part.indent <= self._open[-1][0]:
            self._open.pop()
        if (heading := self._heading(part)) is not None:
            level, title, rest = heading
            self._open.clear()
            self._add(BlockKind.HEADING, title, level)
            if rest:
                self.read(_Part(rest))
        elif not self._is_list(part) and not self._is_entry(part):
            if _is_prose(part.lines) and not (self.around is None and _is_record(part.lines)):
                self._add(BlockKind.PARAGRAPH, _flowed(part.lines, self.words))
            elif self.around is None and len(part.lines) == 1 and (part.indent < _CODE_INDENT or _is_centred(part)):
                self._add(BlockKind.PARAGRAPH, part.text.strip())  # a title, a name, a date
            else:
                self._code(part)

    def _heading(self, part: _Part) -> tuple[int, str, tuple[str, ...]] | None:
        line = part.lines[0].strip()
        if part.indent == 0 and _CAPITALS.match(line) and _WORD.search(line) and all(map(_indent, part.lines[1:])):
            return 1, line, part.lines[1:]  # a section of a man page
        rule = part.lines[1].strip() if len(part.lines) > 1 else ""
        if _RULE.match(rule) and len(rule) * 2 >= len(line) and not _RULE.match(line):
            return _level(line) or (1 if rule[0] in "=*#" else 2), " ".join(line.split()), part.lines[2:]
        if len(part.lines) != 1 or self._open or _LEADERS.search(line) or part.indent > 3:
            return None
        if level := _level(line):
            return (level, " ".join(line.split()), ()) if not _SENTENCE.search(line[-1:]) else None
        return None

    def _is_list(self, part: _Part) -> bool:
        """Read the part as a list when each of its outermost lines begins with a bullet or number."""
        indent = part.indent
        starts = [place for place, line in enumerate(part.lines) if _indent(line) == indent]
        if not starts or starts[0] or not all(_ITEM.match(part.lines[place].strip()) for place in starts):
            return False
        items = [part.lines[start:end] for start, end in zip(starts, [*starts[1:], len(part.lines)], strict=True)]
        said = [(_ITEM.sub("", item[0].strip(), count=1), *item[1:]) for item in items]
        if not all(_is_prose(lines, shortest=1) for lines in said):
            return False
        for item, lines in zip(items, said, strict=True):
            number = re.match(r"\(?(\d{1,3})[.)]", item[0].strip())
            self._add(
                BlockKind.LIST_ITEM, _flowed(lines, self.words), len(self._open), ordered=number is not None,
                number=int(number.group(1)) if number else None,
            )  # fmt: skip
        return True

    def _is_entry(self, part: _Part) -> bool:
        """Read the part as terms and what is said of them, further in: an option, a keyword, a definition."""
        indent = part.indent
        heads = 0
        while heads < len(part.lines) and _indent(part.lines[heads]) == indent:
            heads += 1
        terms, body = list(part.lines[:heads]), part.lines[heads:]
        split = _SPLIT_TERM.match(terms[-1].strip()) if terms else None
        if split and heads == 1 and (not body or _indent(body[0]) == indent + split.end()):
            rest = terms[0].strip()[split.end() :]
            if not _is_prose((rest, *body), shortest=2):
                return False
            terms, body = [split.group(1)], (" " * (indent + split.end()) + rest, *body)
        if not body or heads > 6 or any(_indent(line) <= indent for line in body):
            return False
        if any(len(line) > 78 or line.endswith((".", ",")) for line in map(str.strip, terms)):
            return False
        if any(_CODE_END.search(line.strip()) or _NEXT_SENTENCE.search(line) for line in terms):
            return False  # a block of a program; a paragraph whose first line hangs out
        inner = _Part(body)
        if not _is_prose(body[:2], shortest=2) and not _is_prose(body, shortest=2):
            return False
        for line in terms:
            self._add(BlockKind.TERM, " ".join(line.split()))
        self._open.append((indent, self.first + len(self.blocks) - 1))
        if _is_prose(body, shortest=2) and all(_indent(line) == inner.indent for line in body):
            self._add(BlockKind.DEFINITION, _flowed(body, self.words))
        else:
            self.read(inner)
        return True

    def _code(self, part: _Part) -> None:
        """Lines as they stand; one block for code that goes on after a blank line."""
        last = self.blocks[-1] if self.blocks else None
        if last is not None and last.kind is BlockKind.CODE and last.parent == self._parent():
            self.blocks[-1] = replace(last, text=f"{last.text}\n\n{part.text}")
        else:
            self._add(BlockKind.CODE, part.text)

    def _parent(self) -> int | None:
        return self._open[-1][1] if self._open else self.around.parent if self.around else None

    def _add(
        self, kind: BlockKind, text: str, level: int = 0, *, ordered: bool = False, number: int | None = None
    ) -> None:
        note, page, secondary = (
            (self.around.note, self.around.page, self.around.secondary) if self.around else ("", None, False)
        )
        parent = None if kind is BlockKind.HEADING else self._parent()
        text, marks = (text, ()) if kind is BlockKind.CODE else _unmarked(text)
        self.blocks.append(
            Block(
                kind, text, level, ordered, number, marks=marks, note=note, page=page, secondary=secondary,
                parent=parent,
            )
        )  # fmt: skip


def _unmarked(text: str) -> tuple[str, tuple[Mark, ...]]:
    """The text without marks of reStructuredText, and where it has code instead."""
    pieces: list[str] = []
    marks: list[Mark] = []
    length = done = 0
    for found in _INLINE.finditer(text):
        before, code = text[done : found.start()], found[1] or found[2].strip()
        if not code:
            continue
        start = length + len(before)
        pieces += [before, code]
        length, done = start + len(code), found.end()
        marks.append(Mark(start, length, MarkKind.CODE))
    # "as follows::" leads on to code.
    return _LEADS_ON.sub(":", "".join((*pieces, text[done:]))), tuple(marks)


def _parts(text: str) -> list[_Part]:
    plain = _PAGE_FOOT.sub("\f\n", OVERSTRUCK.sub("", text)).expandtabs(8)
    plain = _without_running_heads(plain)
    found: list[_Part] = []
    for piece in _BLANK.split(plain):
        lines = tuple(line.rstrip() for line in piece.split("\n") if line.strip())
        if lines:
            found.append(_Part(lines))
    return found


def _without_running_heads(text: str) -> str:
    """The text without the first line of its pages, where that is the same on most."""
    pages = text.split("\f")
    if len(pages) < 3:
        return text
    heads = [next((line for line in page.split("\n") if line.strip()), "") for page in pages[1:]]
    common = max(set(heads), key=heads.count)
    if not common.strip() or heads.count(common) * 2 <= len(heads):
        return text
    return "\n".join((pages[0], *(page.replace(common, "", 1).lstrip("\n") for page in pages[1:])))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _level(line: str) -> int:
    """The level of a numbered heading, 0 for what is none."""
    match = _NUMBERED.match(line) or _APPENDIX.match(line)
    if match is None or _LEADERS.search(line) or _COLUMNS.search(line[match.end(1) + 5 :]):
        return 0
    return min(match.group(1).count(".") + 1, 6)


def _is_prose(lines: Sequence[str], shortest: int = 3) -> bool:
    """Whether the lines are words in sentences: mostly letters, no columns, no marks of programs."""
    stripped = [_LEADS_ON.sub(":", _INLINE.sub("code", line.strip())) for line in lines if line.strip()]
    text = " ".join(stripped)
    if len(_WORD.findall(text)) < shortest or _LEADERS.search(text):
        return False
    marks = sum(bool(_CODE_END.search(line) or _COMMAND.match(line) or _CALL.search(line)) for line in stripped)
    columns = sum(bool(_COLUMNS.search(line)) for line in stripped)
    letters = sum(char.isalpha() or char.isspace() or char in "',.-" for char in text)
    return marks * 4 <= len(stripped) and columns * 3 <= len(stripped) and letters >= _LETTERS * len(text)


def _is_record(lines: Sequence[str]) -> bool:
    """Whether the lines are for themselves and no sentences: "Name: ..." above "Place: ...", or a program in words."""
    said = _flowed(lines, frozenset())
    return said.count("\n") > 1 and not _STATEMENT.search(said)


def _is_centred(part: _Part) -> bool:
    text = part.text.strip()
    in_middle = abs(part.indent + len(text) / 2 - _MIDDLE) <= _OFF_MIDDLE
    return part.indent >= _CENTRED_INDENT and in_middle and _is_prose((text,), shortest=1)


def _flowed(lines: Sequence[str], words: frozenset[str]) -> str:
    """Lines as running text where they were wrapped, else line by line.

    A word that a hyphen parts at the end of a line is whole again where the text knows it so; else the hyphen stays.
    """
    rows = [" ".join(line.split()) for line in lines if line.strip()]
    longest = max(map(len, rows))
    if longest < _WRAPPED_CHARS or any(len(row) < _FULL_SHARE * longest for row in rows[:-1]):
        return "\n".join(rows)
    text = rows[0]
    for row in rows[1:]:
        parted = _PARTED.search(text)
        after = re.match(r"[^\W\d_]+", row)
        if parted and after:
            whole = parted.group(1) + after.group()
            text = f"{text[:-1]}{row}" if whole.lower() in words else f"{text}{row}"
        else:
            text = f"{text} {row}"
    return text


EXTRACTOR = "plain"
VERSION = VERSIONS["preformatted"]
# A heading of two lines; chosen, not measured.
_TITLE_CHARS = 120


def read_plain(text: str, url: str) -> Document:
    """The paragraphs, headings, lists and entries of a plain text; what is no prose keeps its lines.

    Errors:
        EmptyContent: nothing but white space.
    """
    pages = (clean(page) for page in OVERSTRUCK.sub("", text).split("\f"))
    blocks = blocks_of_lines("\f".join(pages))
    if not blocks:
        raise EmptyContent("the text is empty", reason="empty_page")
    return Document(EXTRACTOR, VERSION, tuple(blocks), title=_title(blocks[0], url), canonical_url=url)


def _title(beginning: Block, url: str) -> str:
    """The first line, where it can be a title; else the name of the file: "--continue::" says nothing to a reader.

    A title has a letter, ends with no mark that leads on, fits in a line or two, is no code and no term of an entry.
    """
    first = beginning.text.strip().split("\n")[0].strip()
    if (
        beginning.kind not in (BlockKind.TERM, BlockKind.CODE)
        and len(first) <= _TITLE_CHARS
        and any(map(str.isalpha, first))
        and not first.endswith((":", ",", ";"))
    ):
        return first
    return file_name(url)


def file_name(url: str) -> str:
    """The name of the file at an address: what a text without a title of its own is called."""
    return unquote(urlsplit(url).path).rstrip("/").rpartition("/")[2]
