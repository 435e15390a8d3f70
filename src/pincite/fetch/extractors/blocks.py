"""An element tree to blocks: structure is kept as the page has it, nothing is chosen here."""

import re
from collections.abc import Sequence
from dataclasses import field, replace

from lxml import etree
from lxml.html import HtmlElement

from pincite.domain.frozen import dataclass
from pincite.domain.page import Block, BlockKind
from pincite.fetch.extractors.characters import clean
from pincite.fetch.extractors.class_names import code_language, is_footnote, note_kind
from pincite.fetch.extractors.hidden import NEVER_TEXT, PICTURES
from pincite.fetch.extractors.inline import InlineReader
from pincite.fetch.extractors.revealed import FOLDED
from pincite.fetch.extractors.tables import Cell, holds_data, table_block

_BLOCK_TAGS = frozenset(
    "html body address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol p pre search section summary table "
    "caption tbody td tfoot th thead tr ul listing xmp plaintext noindex".split()
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CODE_TAGS = frozenset({"pre", "listing", "xmp", "plaintext"})
_KINDS = {
    "dt": BlockKind.TERM,
    "blockquote": BlockKind.QUOTATION,
    "figcaption": BlockKind.CAPTION,
    "caption": BlockKind.CAPTION,
    "td": BlockKind.PARAGRAPH,
    "th": BlockKind.PARAGRAPH,
    **dict.fromkeys(_CODE_TAGS, BlockKind.CODE),
}
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_BOX_TAGS = frozenset({"div", "aside", "section", "p", "table", "blockquote", "details", "dl"})
_LINE_NUMBERS = re.compile(
    r"\b(?:linenos|linenodiv|lineno|line-numbers-rows|gutter|line-?numbers?|blob-num|hljs-ln-n|rouge-gutter)\b"
)
_COMPLEX_CODE = etree.XPath(
    "boolean(.//br or .//sup or .//sub or .//table or .//div or .//li or .//p or .//tr"
    " or .//*[contains(@class, 'line') or contains(@class, 'gutter') or contains(@class, 'blob-num')])"
)
_INTEGER = re.compile(r"-?\d{1,6}")


@dataclass(frozen=True, slots=True)
class Found:
    """A block, the element it ended at, and its place in the walk; `block.parent` is such a place too.

    Bare text ends where the next element begins: `holder` is what it stands in.
    """

    block: Block
    element: HtmlElement
    place: int
    holder: HtmlElement


@dataclass(slots=True)
class _Context:
    """What kind of block the text collected now becomes."""

    kind: BlockKind
    level: int = 0
    ordered: bool = False
    number: int | None = None
    emitted: bool = False


@dataclass(slots=True)
class _Owner:
    """What blocks stand in: a list item, by its first words, or a definition, by its term.

    `place` is that block once there is one; of a definition list it is the last term that it met.
    """

    outer: "_Owner | None" = None
    place: int | None = None


class _Numbering:
    """An ordered list being walked."""

    def __init__(self, element: HtmlElement) -> None:
        self.step = -1 if "reversed" in element.attrib else 1
        value = (element.get("start") or "").strip()
        usual = len(element.findall("li")) if self.step < 0 else 1
        self.next_number = int(value) if _INTEGER.fullmatch(value) else usual


@dataclass(slots=True)
class _Frame:
    """What an open element is to the blocks in it, and what goes on around them: lists, boxes, folds."""

    context: _Context
    depth: int = 0
    owner: _Owner | None = None
    terms: _Owner | None = None
    numbering: _Numbering | None = None
    note: str = ""
    fold: HtmlElement | None = None
    folds: int = 0
    is_folded: bool = False

    def inner(self) -> "_Frame":
        """That of an element inside, to be changed by what the element is."""
        return _Frame(
            self.context, self.depth, self.owner, self.terms, self.numbering, self.note, self.fold, self.folds,
            self.is_folded,
        )  # fmt: skip

    @property
    def parent(self) -> int | None:
        """The place of the block that those found here stand in."""
        owner = self.owner
        while owner is not None and owner.place is None:
            owner = owner.outer
        return None if owner is None else owner.place


@dataclass(slots=True)
class BlockWalk:
    """One walk over a tree. `base_url` makes link targets absolute."""

    base_url: str
    found: list[Found] = field(default_factory=list)
    _inline: InlineReader = field(init=False)
    _frames: list[_Frame] = field(default_factory=lambda: [_Frame(_Context(BlockKind.PARAGRAPH))])
    _in_cell: bool = False

    def __post_init__(self) -> None:
        self._inline = InlineReader(self.base_url)

    def run(self, root: HtmlElement) -> list[Found]:
        """The blocks under `root` in page order."""
        self._walk(root)
        self._flush(root)
        return self.found

    def _walk(self, root: HtmlElement) -> None:
        """Visit the tree under `root`, the text after it left out."""
        events = etree.iterwalk(root, events=("start", "end"))
        skipped = None
        for event, element in events:
            if event == "start":
                if not self._enter(element):
                    skipped = element
                    events.skip_subtree()
                continue
            if element is skipped:
                skipped = None
            elif element.tag in _BLOCK_TAGS:
                self._leave_block(element)
            else:
                self._inline.leave(element)
            if element is not root and (tail := element.tail):
                self._add(tail)

    @property
    def _in_code(self) -> bool:
        return self._frames[-1].context.kind is BlockKind.CODE

    def _add(self, text: str) -> None:
        if self._in_code:
            self._inline.text.add_exact(text)
        else:
            self._inline.text.add(text)

    def _enter(self, element: HtmlElement) -> bool:
        """Start an element; False when its inside is not to be walked."""
        tag = element.tag
        if tag in NEVER_TEXT:
            if tag in PICTURES:
                self._inline.text.keep_apart()
            return False
        entered = self._enter_block(element, tag) if tag in _BLOCK_TAGS else self._enter_inline(element, tag)
        if entered and (text := element.text):
            self._add(text)
        return entered

    def _enter_block(self, element: HtmlElement, tag: str) -> bool:
        if self._in_cell:
            self._inline.text.space()
            return True
        if self._in_code:
            return self._enter_in_code(element)
        self._flush(element, element.getparent())
        self._inline.style(element)
        if tag in _CODE_TAGS and not _COMPLEX_CODE(element):
            self._code(element)
            return False
        if tag == "table" and holds_data(element):
            self._table(element)
            return False
        self._open_block(element, tag)
        return True

    def _enter_inline(self, element: HtmlElement, tag: str) -> bool:
        if tag == "br":
            self._line_break(element)
            return False
        if tag == "span" and "editsection" in (element.get("class") or ""):  # wikis: a link to the editor
            return False
        if self._in_code and _LINE_NUMBERS.search(element.get("class") or ""):
            return False
        return self._inline.enter(element)

    def _line_break(self, element: HtmlElement) -> None:
        text = self._inline.text
        if self._in_code:
            text.add_exact("\n")
        elif self._in_cell:
            text.space()
        elif text.last == "\n":
            self._flush(element, element.getparent())
        else:
            text.line_break()

    def _enter_in_code(self, element: HtmlElement) -> bool:
        """A block element inside code is one more line of it."""
        if _LINE_NUMBERS.search(element.get("class") or ""):
            return False
        if self._inline.text and self._inline.text.last != "\n":
            self._inline.text.add_exact("\n")
        if element.tag in _CODE_TAGS:
            self._frames.append(self._frames[-1])
        return True

    def _leave_block(self, element: HtmlElement) -> None:
        if self._in_cell:
            self._inline.text.space()
        elif not self._in_code or element.tag in _CODE_TAGS:
            self._flush(element)
            self._inline.leave(element)
            self._frames.pop()

    def _open_block(self, element: HtmlElement, tag: str) -> None:
        inside = self._frames[-1]
        frame = inside.inner()
        self._frames.append(frame)
        if tag in _LISTS:
            frame.numbering = _Numbering(element) if tag == "ol" else None
        elif tag == "dl":
            frame.terms = _Owner()
        if tag == "summary" and inside.fold is not None and element.getparent() is inside.fold:
            frame.is_folded = inside.folds > 1  # that of a closed `<details>` always shows
        elif (tag == "details" and "open" not in element.attrib) or FOLDED in element.attrib:
            frame.fold, frame.folds, frame.is_folded = element, inside.folds + 1, True
        if tag in _BOX_TAGS:
            frame.note = note_kind(element) or inside.note
        match tag:
            case "li":
                frame.context = _list_item(element, inside)
                frame.owner, frame.depth = _Owner(inside.owner), inside.depth + 1
            case "dd":
                frame.context = _Context(BlockKind.DEFINITION, inside.depth)
                term = None if inside.terms is None else inside.terms.place
                frame.owner, frame.depth = _Owner(inside.owner, term), inside.depth + 1
            case _ if tag in _KINDS:
                frame.context = _Context(_KINDS[tag], inside.depth)
            case _ if tag in _HEADINGS:
                frame.context = _heading(element, inside)
            case _ if inside.context.kind is not BlockKind.FOOTNOTE and is_footnote(element):
                frame.context = _Context(BlockKind.FOOTNOTE, inside.depth)
            # None that holds blocks: pages call whole comments headings, for those who jump from one to the next.
            case "div" | "p" if element.get("role") == "heading" and not any(
                inner.tag in _BLOCK_TAGS for inner in element.iterdescendants()
            ):
                frame.context = _heading(element, inside)

    def _code(self, element: HtmlElement) -> None:
        """A code block that is nothing but text and colouring."""
        frame = self._frames[-1].inner()
        frame.context = _Context(BlockKind.CODE, frame.depth)
        self._frames.append(frame)
        self._inline.text.add_exact("".join(element.itertext()))
        self._flush(element)
        self._frames.pop()

    def _flush(self, element: HtmlElement, holder: HtmlElement | None = None) -> None:
        """End the block collected so far at an element; `holder` is what it stands in where that is another."""
        if not self._inline.text:
            return
        frame = self._frames[-1]
        context = frame.context
        is_code = context.kind is BlockKind.CODE
        text, marks = self._inline.text.take(exact=is_code)
        if not text:
            return
        kind, level, number, ordered = context.kind, context.level, context.number, context.ordered
        if kind is BlockKind.LIST_ITEM and context.emitted:
            kind, level, number, ordered = BlockKind.PARAGRAPH, frame.depth, None, False
        elif kind is BlockKind.PARAGRAPH:
            level = frame.depth
        context.emitted = True
        language = code_language(element) if is_code else ""
        shown = () if is_code else marks
        block = Block(
            kind, text, level, ordered, number, language, marks=shown, parent=frame.parent, note=frame.note,
            secondary=frame.is_folded,
        )  # fmt: skip
        self._emit(block, element, holder)

    def _emit(self, block: Block, element: HtmlElement, holder: HtmlElement | None = None) -> None:
        """Keep the block."""
        place, frame = len(self.found), self._frames[-1]
        self.found.append(Found(block, element, place, element if holder is None else holder))
        if block.kind is BlockKind.TERM and frame.terms is not None:
            frame.terms.place = place
        elif block.kind is BlockKind.LIST_ITEM and frame.owner is not None and frame.owner.place is None:
            frame.owner.place = place

    def _table(self, table: HtmlElement) -> None:
        caption = table.find("caption")
        if caption is not None:
            self._walk(caption)
            self._flush(caption)
        outer, self._in_cell = self._inline, True
        block = table_block(table, self._cell)
        self._inline, self._in_cell = outer, False
        if block is not None:
            frame = self._frames[-1]
            note = note_kind(table) or frame.note
            block = replace(block, level=frame.depth, parent=frame.parent, note=note, secondary=frame.is_folded)
            self._emit(block, table)

    def _cell(self, cell: HtmlElement) -> Cell:
        """The text of a table cell on one line."""
        row = cell.getparent()
        if not len(cell) and not cell.get("style") and not row.get("style"):
            return Cell(clean(" ".join((cell.text or "").split())).strip(), ())
        # One of its own: what a cell leaves open ends with it.
        inline = self._inline = InlineReader(self.base_url, self._inline.targets)
        inline.strike(row)
        inline.strike(cell)
        self._walk(cell)
        text, marks = inline.text.take()
        return Cell(text.replace("\n", " "), marks)


def _list_item(element: HtmlElement, inside: _Frame) -> _Context:
    numbering = inside.numbering
    number: int | None = None
    if numbering is not None:
        value = (element.get("value") or "").strip()
        number = int(value) if _INTEGER.fullmatch(value) else numbering.next_number
        numbering.next_number = number + numbering.step
    footnote = inside.context.kind is BlockKind.FOOTNOTE or (element.get("role") or "") == "doc-endnote"
    kind = BlockKind.FOOTNOTE if footnote else BlockKind.LIST_ITEM
    return _Context(kind, inside.depth, number is not None, number)


def _heading(element: HtmlElement, inside: _Frame) -> _Context:
    """A heading, but for what is marked up as one inside a term or a caption.

    Source: WAI-ARIA 1.2 §5.4, role `heading`: level 2 where none is given; HTML has six.
    """
    kind = inside.context.kind
    if kind in {BlockKind.TERM, BlockKind.CAPTION}:
        return _Context(kind, inside.depth)
    given = element.get("aria-level") or ""
    stated = min(max(int(given), 1), 6) if _INTEGER.fullmatch(given) else 2
    return _Context(BlockKind.HEADING, _HEADINGS.get(element.tag, stated))


def blocks_of(found: Sequence[Found], first: int = 0) -> tuple[Block, ...]:
    """The blocks of what was kept of a walk, each with its parent's place among them; they begin at place `first`.

    A block whose parent was left out stands in none.
    """
    places: dict[int | None, int] = {item.place: index for index, item in enumerate(found, start=first)}
    return tuple(
        block if (parent := places.get(block.parent)) == block.parent else replace(block, parent=parent)
        for block in (item.block for item in found)
    )
