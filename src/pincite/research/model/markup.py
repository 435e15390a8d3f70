"""A report as a model writes it: Markdown in which each sentence, cell and piece of code names the lines it rests on.

    Cold starts cost a second. {a12 b3} So keep one machine warm. {= a12 b7 #2}

A mark stands behind what rests on its lines. In it, `=` says that the sentence goes beyond what they say one by one,
`!` that it tells how pages contradict each other, `#2` that it answers part 2. `@12` stands for a sentence of the
report so far. Blocks are read by markdown-it-py (CommonMark 0.31, tables of GitHub Flavored Markdown).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from pincite.domain.frozen import dataclass
from pincite.research.model.blocks import CODE
from pincite.research.model.outputs import (
    Composed,
    ComposedBlock,
    ComposedRow,
    ComposedSection,
    ComposedSentence,
    MissingPart,
)
from pincite.research.model.sentences import MAX_CLAIMS
from pincite.text.sentences import sentences

MISSING: Final = "Missing"
"""The heading under which a table says what the pages do not answer."""
_ANSWER: Final = "answer"
_LINE: Final = r"[a-z]{1,3}\d{1,5}"
# What looks like a line is none that was shown, perhaps: then its sentence is refused, and not another one's. Between
# two names something must stand, or a mark that never closes is tried in exponentially many ways.
_NAMES: Final = (
    r"(?P<names>(?:[=!]\s*|(?:[a-zA-Z]{1,8}[_-]?\d{1,6}(?:[-–][a-z]{0,3}\d{1,5})?|\#[\w.]{1,12})(?:[\s,]+|(?=[;}])))*)"
)
# Nothing within a span of code is a mark. Square brackets hold lines only: some models can't but cite so.
_TOKEN: Final = re.compile(
    r"(?P<code>(?P<ticks>`+)(?!`).{1,200}?(?<!`)(?P=ticks)(?!`))"
    rf"|\s*(?:\{{\s*{_NAMES}\}}|\[(?P<lines>{_LINE}(?:[\s,;]+{_LINE})*)\])"
    r"|(?P<standing>(?<!\S)@\d{1,4}(?=[.,;:]?(?:\s|\Z)))[.,;:]?",
    re.DOTALL,
)
_CODE_MARK: Final = re.compile(rf"\{{\s*{_NAMES}(?:;\s*examples?:(?P<examples>[^{{}}]*))?\}}")
_FENCE: Final = re.compile(r"^([ \t]*`{3,}[^\n`]*)(\{[^\n]*\}[ \t]*)$", re.MULTILINE)
_RANGE: Final = re.compile(r"([a-z]{1,3})(\d{1,5})[-–]([a-z]{0,3})(\d{1,5})")
# What closes a sentence whose mark stands before it ("so {a1}.").
_CLOSING: Final = re.compile(r"[.!?:…]+(?=\s|\Z)")
_ENDS: Final = (".", "!", "?", ":", "…", "。", "！", "？", '."', ".)", ".”", ".**")
_BOLD: Final = re.compile(r"\*\*[^*]+\*\*[.:!?]?")


@dataclass(frozen=True, slots=True)
class _Mark:
    """What stands in braces behind a sentence."""

    lines: tuple[str, ...] = ()
    derived: bool = False
    conflict: bool = False
    part: str = ""


def composed_of(text: str) -> Composed:
    """The report in what a model wrote; a sentence without a mark rests on no line."""
    answer: list[ComposedSentence] = []
    sections: list[ComposedSection] = []
    missing: tuple[MissingPart, ...] = ()
    for heading, nodes in _sections(_parsed(text)):
        if heading.lower() == MISSING.lower():
            missing += tuple(_missing(nodes))
            continue
        blocks = _blocks(nodes)
        if not sections and heading.lower() in ("", _ANSWER):
            answer += (said for block in blocks if not block.rows and block.form != CODE for said in block.items)
            blocks = [block for block in blocks if block.rows or block.form == CODE]
        if blocks:
            sections.append(ComposedSection(heading, tuple(blocks)))
    return Composed(tuple(replace(said, goes_on=False) for said in answer), tuple(sections), missing)


def _parsed(text: str) -> Sequence[SyntaxTreeNode]:
    """The blocks of the text; of one that is all in a fence, as some models answer, those within it."""
    # A backtick there would make a paragraph of the listing (CommonMark 0.31, 4.5).
    plain = _FENCE.sub(lambda fence: fence[1] + fence[2].replace("`", ""), text)
    nodes = SyntaxTreeNode(_reader().parse(plain)).children
    if len(nodes) == 1 and nodes[0].type == "fence" and nodes[0].info in ("markdown", "md"):
        return SyntaxTreeNode(_reader().parse(nodes[0].content)).children
    return nodes


@cache
def _reader() -> MarkdownIt:
    return MarkdownIt("commonmark", {"maxNesting": 20}).enable("table")


def _sections(nodes: Sequence[SyntaxTreeNode]) -> Iterator[tuple[str, list[SyntaxTreeNode]]]:
    """The headings with what stands under each; a title above all others is none."""
    heading, inside = "", list[SyntaxTreeNode]()
    for number, node in enumerate(nodes):
        if node.type != "heading":
            inside.append(node)
            continue
        yield heading, inside
        is_title = number == 0 and node.tag == "h1"
        heading, inside = (
            ""
            if is_title
            else "".join(text for kind, text in _scanned(_inline(node)) if kind == "text").strip(" #*_:"),
            [],
        )
    yield heading, inside


def _inline(node: SyntaxTreeNode) -> str:
    """The source of what stands in a paragraph, heading or cell."""
    return " ".join(" ".join(one.content for one in node.walk() if one.type == "inline").split())


def _blocks(nodes: Sequence[SyntaxTreeNode]) -> list[ComposedBlock]:
    made: list[ComposedBlock] = []
    for node in nodes:
        match node.type:
            case "paragraph":
                said = _said(_inline(node))
                bare = len(said) == 1 and not said[0].text
                if bare and made and made[-1].form == CODE and not made[-1].items[0].lines:
                    made[-1] = replace(made[-1], items=(replace(said[0], text=made[-1].items[0].text),))
                elif said and not bare:
                    made.append(ComposedBlock("paragraph", said))
            case "bullet_list" | "ordered_list":
                made += _list(node)
            case "fence" | "code_block":
                made.append(_code(node))
            case "table":
                made.append(_table(node))
            case "blockquote":
                made += _blocks(node.children)
    return made


def _list(node: SyntaxTreeNode) -> Iterator[ComposedBlock]:
    """The entries, each sentence after the first of an entry with `goes_on`.

    Code and tables in an entry part the list, and what stands behind them in it is a paragraph.
    """
    form = "list" if node.type == "bullet_list" else "steps"
    # A list that begins with 4 goes on behind something that stood between its entries.
    is_begun = form == "steps" and int(node.attrs.get("start", 1)) > 1
    items: list[ComposedSentence] = []
    for entry in node.children:
        inside, is_parted = list[ComposedSentence](), False
        for block in _blocks(entry.children):
            if block.form == CODE or block.rows:
                if items or inside:
                    yield ComposedBlock(form, (*items, *_entry(inside)), continued=is_begun)
                    is_begun = form == "steps"
                yield block
                items, inside, is_parted = [], [], True
            elif is_parted:
                yield ComposedBlock("paragraph", block.items)
            else:
                inside += block.items
        items += _entry(inside)
    if items:
        yield ComposedBlock(form, tuple(items), continued=is_begun)


def _entry(said: Sequence[ComposedSentence]) -> list[ComposedSentence]:
    return [replace(one, goes_on=at > 0) for at, one in enumerate(said)]


def _code(node: SyntaxTreeNode) -> ComposedBlock:
    found = _CODE_MARK.search(node.info or "")
    mark = _mark(found["names"]) if found else _Mark()
    examples = (found["examples"] or "").split(",") if found else []
    said = ComposedSentence(node.content.rstrip("\n"), mark.lines, mark.derived, mark.part)
    return ComposedBlock(CODE, (said,), tuple(filter(None, (name.strip(" `\"'") for name in examples))))


def _table(node: SyntaxTreeNode) -> ComposedBlock:
    """A cell without a mark rests on what its row does, and all cells on what their row's name does."""
    header, *rows = ([_inline(cell) for cell in row.children] for part in node.children for row in part.children)
    made: list[ComposedRow] = []
    for name, *texts in rows:
        cells = [_cell(text) for text in texts]
        named = _cell(name)
        of_row = tuple(dict.fromkeys(line for cell in cells for line in cell.lines))
        made.append(
            ComposedRow(
                named.text,
                tuple(
                    replace(cell, lines=_once((*(cell.lines or of_row), *named.lines))[:MAX_CLAIMS])
                    if cell.text and not _is_standing(cell)
                    else cell
                    for cell in cells
                ),
            )
        )
    return ComposedBlock("table", (), tuple(_cell(text).text for text in header), tuple(made))


def _is_standing(cell: ComposedSentence) -> bool:
    return not cell.lines and [kind for kind, _ in _scanned(cell.text)] == ["standing"]


def _cell(text: str) -> ComposedSentence:
    """A cell, in one piece whatever it holds."""
    said = _said(text, whole=True)
    first = ComposedSentence(" ".join(one.text for one in said), ())
    return replace(
        first,
        lines=_once(line for one in said for line in one.lines),
        derived=any(one.derived for one in said),
        conflict=any(one.conflict for one in said),
        part=next((one.part for one in said if one.part), ""),
    )


def _said(text: str, *, whole: bool = False) -> tuple[ComposedSentence, ...]:
    """The sentences of a paragraph, each with the lines of the mark behind it.

    Of several sentences before one mark each rests on its lines. `whole`: what stands before a mark is one.
    """
    made: list[ComposedSentence] = []
    written, marks = "", list[_Mark]()

    def close() -> None:
        nonlocal written
        plain = written.strip()
        mark = _Mark(
            _once(line for one in marks for line in one.lines),
            any(one.derived for one in marks),
            any(one.conflict for one in marks),
            next((one.part for one in marks if one.part), ""),
        )
        pieces = [plain] if whole or not plain else _pieces(plain)
        made.extend(
            ComposedSentence(piece, mark.lines, mark.derived, mark.part, mark.conflict)
            for piece in pieces
            if piece or mark.lines
        )
        written = ""
        marks.clear()

    for kind, piece in _scanned(text):
        if kind == "mark":
            marks.append(_mark(piece))
        elif kind == "standing":
            close()
            made.append(ComposedSentence(piece, ()))
        elif not marks:
            written += piece
        else:
            closing = _CLOSING.match(piece.lstrip())
            if closing and not written.rstrip().endswith(_ENDS):
                written = written.rstrip() + closing[0]
                piece = piece.lstrip()[closing.end() :]
            if written.rstrip().endswith(_ENDS) or not _goes_on(piece):
                close()
            written += piece
    close()
    return tuple(made)


def _goes_on(piece: str) -> bool:
    """Whether a sentence goes on behind a mark in its middle."""
    rest = piece.lstrip()
    return bool(rest) and (rest[0] in ",;)–—" or rest[0].islower())


def _scanned(text: str) -> Iterator[tuple[str, str]]:
    """The text, its marks and the names of what stands, in order."""
    at = 0
    for found in _TOKEN.finditer(text):
        if found["code"]:
            continue
        if found.start() > at:
            yield "text", text[at : found.start()]
        yield ("standing", found["standing"]) if found["standing"] else ("mark", found["names"] or found["lines"] or "")
        at = found.end()
    if at < len(text):
        yield "text", text[at:]


def _pieces(text: str) -> Iterator[str]:
    """The sentences of a text; what it begins with in bold belongs to its first."""
    kept = ""
    for span in sentences(text):
        piece = f"{kept} {text[span.start : span.end]}".strip()
        kept = piece if _BOLD.fullmatch(piece) else ""
        if not kept:
            yield piece
    if kept:
        yield kept


def _mark(names: str) -> _Mark:
    told = re.sub(r"([=!])|[,;]", r" \1 ", names).split()
    lines = _once(line for name in told if name[0].isalpha() for line in _lines(name))
    # What rests on nothing answers nothing: a part that it would stand for is found in what is told.
    part = next((name[1:] for name in told if name.startswith("#")), "") if lines else ""
    return _Mark(lines, "=" in told, "!" in told, part)


def _lines(name: str) -> Iterator[str]:
    """The lines of a name: itself, or each of a run (`a3-a5`)."""
    run = _RANGE.fullmatch(name)
    if run is None or run[3] not in ("", run[1]):
        yield from re.split("[-–]", name)
        return
    for number in range(int(run[2]), min(int(run[4]), int(run[2]) + MAX_CLAIMS) + 1):
        yield f"{run[1]}{number}"


def _once(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(lines))


def _missing(nodes: Sequence[SyntaxTreeNode]) -> Iterator[MissingPart]:
    """Rows of `part | what is lacking | queries | question`, as a table or as entries of a list."""
    for node in nodes:
        if node.type == "table":
            rows = [[_inline(cell) for cell in row.children] for part in node.children[1:] for row in part.children]
        else:
            rows = [re.split(r"\s*\|\s*", _inline(entry).strip("| ")) for entry in node.children if entry.children]
        for row in rows:
            part, what, queries, question = (*row, "", "", "", "")[:4]
            asked = tuple(filter(None, (query.strip(" `\"'") for query in queries.split(";"))))
            if what or asked:
                yield MissingPart(part.strip(" #*`.:"), what, asked, question)
