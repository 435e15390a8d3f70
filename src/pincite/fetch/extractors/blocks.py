"""An element tree to blocks: structure is kept as the page has it, nothing is chosen here."""

import re
from collections.abc import Sequence
from dataclasses import field, replace
from functools import lru_cache

from lxml import etree
from lxml.html import HtmlElement

from pincite.domain.frozen import dataclass
from pincite.domain.page import Block, BlockKind
from pincite.fetch.extractors.characters import clean
from pincite.fetch.extractors.hidden import NEVER_TEXT, PICTURES
from pincite.fetch.extractors.inline import InlineReader
from pincite.fetch.extractors.languages import code_language
from pincite.fetch.extractors.revealed import FOLDED
from pincite.fetch.extractors.tables import Cell, holds_data, table_block

_BLOCK_TAGS = frozenset(
    "html body address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol p pre search section summary table "
    "caption tbody td tfoot th thead tr ul listing xmp plaintext noindex".split()
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CODE_TAGS = frozenset({"pre", "listing", "xmp", "plaintext"})
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
# Class names of boxes in what documentation tools write: Docutils, Sphinx, DocBook, Asciidoctor, MkDocs, Docusaurus,
# GitHub (`markdown-alert-note`).
_NOTE_KINDS = frozenset(
    "note notes warning tip hint caution important danger attention error admonition seealso callout alert notice info "
    "example todo deprecated versionadded versionchanged versionremoved".split()
)
_NOTE_PREFIXES = frozenset({"admonition", "alert", "callout", "markdown", "theme", "is", "block"})
_VAGUE_NOTES = frozenset({"admonition", "alert", "callout", "notice", "info"})
_BOX_TAGS = frozenset({"div", "aside", "section", "p", "table", "blockquote", "details", "dl"})
_FOOTNOTE = re.compile(r"\b(?:footnotes?|endnotes?|fn-list|footnote-list)\b", re.IGNORECASE)
_FOOTNOTE_ROLES = frozenset({"doc-footnote", "doc-endnotes", "doc-endnote"})
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
    """An element whose inside belongs to a block: a list item to its first words, a definition to its term.

    `place` is that block once there is one; a definition list keeps the last term it met.
    """

    element: HtmlElement
    place: int | None = None


@dataclass(slots=True)
class _Numbering:
    """A list being walked."""

    ordered: bool
    next_number: int = 1
    step: int = 1


@dataclass(slots=True)
class BlockWalk:
    """One walk over a tree. `base_url` makes link targets absolute."""

    base_url: str
    found: list[Found] = field(default_factory=list)
    _inline: InlineReader = field(init=False)
    _contexts: list[_Context] = field(default_factory=lambda: [_Context(BlockKind.PARAGRAPH)])
    _lists: list[_Numbering] = field(default_factory=list)
    _owners: list[_Owner] = field(default_factory=list)
    _definition_lists: list[_Owner] = field(default_factory=list)
    _notes: list[tuple[HtmlElement, str]] = field(default_factory=list)
    _folds: list[HtmlElement] = field(default_factory=list)
    _depth: int = 0
    _code_depth: int = 0
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

    def _add(self, text: str) -> None:
        if self._code_depth:
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
        if self._code_depth:
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
        if self._code_depth and _LINE_NUMBERS.search(element.get("class") or ""):
            return False
        return self._inline.enter(element)

    def _line_break(self, element: HtmlElement) -> None:
        text = self._inline.text
        if self._code_depth:
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
            self._code_depth += 1
            self._contexts.append(self._contexts[-1])
        return True

    def _leave_block(self, element: HtmlElement) -> None:
        tag = element.tag
        if self._in_cell:
            self._inline.text.space()
        elif not self._code_depth or tag in _CODE_TAGS:
            self._flush(element)
            self._inline.leave(element)
            self._close_block(element, tag)

    def _open_block(self, element: HtmlElement, tag: str) -> None:
        self._open_around(element, tag)
        inside = self._contexts[-1]
        match tag:
            case "li":
                opened = self._list_item(element)
                self._owners.append(_Owner(element))
                self._depth += 1
            case "dt":
                opened = _Context(BlockKind.TERM, self._depth)
            case "dd":
                opened = _Context(BlockKind.DEFINITION, self._depth)
                term = self._definition_lists[-1].place if self._definition_lists else None
                self._owners.append(_Owner(element, term))
                self._depth += 1
            case "blockquote":
                opened = _Context(BlockKind.QUOTATION, self._depth)
            case "figcaption" | "caption":
                opened = _Context(BlockKind.CAPTION, self._depth)
            case _ if tag in _HEADINGS:
                opened = self._heading(_HEADINGS[tag])
            case _ if tag in _CODE_TAGS:
                self._code_depth += 1
                opened = _Context(BlockKind.CODE, self._depth)
            case _ if inside.kind is not BlockKind.FOOTNOTE and _is_footnote(element):
                opened = _Context(BlockKind.FOOTNOTE, self._depth)
            case "td" | "th":
                opened = _Context(BlockKind.PARAGRAPH, self._depth)
            case "div" | "p" if element.get("role") == "heading" and _is_one_line(element):
                opened = self._heading(_aria_level(element))
            case _:
                opened = inside
        self._contexts.append(opened)

    def _open_around(self, element: HtmlElement, tag: str) -> None:
        """Note what goes on around blocks: lists, folds, boxes."""
        if tag in _LISTS:
            backwards = "reversed" in element.attrib
            value = (element.get("start") or "").strip()
            first = int(value) if _INTEGER.fullmatch(value) else len(element.findall("li")) if backwards else 1
            self._lists.append(_Numbering(tag == "ol", first, -1 if backwards else 1))
        elif tag == "dl":
            self._definition_lists.append(_Owner(element))
        of_a_fold = tag == "summary" and bool(self._folds) and element.getparent() is self._folds[-1]
        if of_a_fold or (tag == "details" and "open" not in element.attrib) or FOLDED in element.attrib:
            self._folds.append(element)
        if tag in _BOX_TAGS and (kind := _note_kind(element)):
            self._notes.append((element, kind))

    def _list_item(self, element: HtmlElement) -> _Context:
        numbering = self._lists[-1] if self._lists else _Numbering(ordered=False)
        number: int | None = None
        if numbering.ordered:
            value = (element.get("value") or "").strip()
            number = int(value) if _INTEGER.fullmatch(value) else numbering.next_number
            numbering.next_number = number + numbering.step
        footnote = self._contexts[-1].kind is BlockKind.FOOTNOTE or (element.get("role") or "") == "doc-endnote"
        kind = BlockKind.FOOTNOTE if footnote else BlockKind.LIST_ITEM
        return _Context(kind, self._depth, numbering.ordered, number)

    def _heading(self, level: int) -> _Context:
        """A heading, but for what is marked up as one inside a term or a caption."""
        inside = self._contexts[-1]
        if inside.kind in {BlockKind.TERM, BlockKind.CAPTION}:
            return _Context(inside.kind, self._depth)
        return _Context(BlockKind.HEADING, level)

    def _close_block(self, element: HtmlElement, tag: str) -> None:
        if len(self._contexts) > 1:
            self._contexts.pop()
        if tag in _LISTS and self._lists:
            self._lists.pop()
        elif tag in {"li", "dd"}:
            self._depth = max(self._depth - 1, 0)
        elif tag in _CODE_TAGS:
            self._code_depth = max(self._code_depth - 1, 0)
        for stack in (self._owners, self._definition_lists):
            if stack and stack[-1].element is element:
                stack.pop()
        if self._notes and self._notes[-1][0] is element:
            self._notes.pop()
        if self._folds and self._folds[-1] is element:
            self._folds.pop()

    def _code(self, element: HtmlElement) -> None:
        """A code block that is nothing but text and colouring."""
        self._contexts.append(_Context(BlockKind.CODE, self._depth))
        self._inline.text.add_exact("".join(element.itertext()))
        self._flush(element)
        self._contexts.pop()

    def _flush(self, element: HtmlElement, holder: HtmlElement | None = None) -> None:
        """End the block collected so far at an element; `holder` is what it stands in where that is another."""
        if not self._inline.text:
            return
        context = self._contexts[-1]
        is_code = context.kind is BlockKind.CODE
        text, marks = self._inline.text.take(exact=is_code)
        if not text:
            return
        kind, level, number, ordered = context.kind, context.level, context.number, context.ordered
        if kind is BlockKind.LIST_ITEM and context.emitted:
            kind, level, number, ordered = BlockKind.PARAGRAPH, self._depth, None, False
        elif kind is BlockKind.PARAGRAPH:
            level = self._depth
        context.emitted = True
        language = code_language(element) if is_code else ""
        shown = () if is_code else marks
        parent, note, folded = self._around()
        block = Block(
            kind, text, level, ordered, number, language, marks=shown, parent=parent, note=note, secondary=folded
        )
        self._emit(block, element, holder)

    def _around(self) -> tuple[int | None, str, bool]:
        """What a block found here stands in: the place of its parent, its box, whether it is folded away."""
        parent = None
        for owner in reversed(self._owners):
            if owner.place is not None:
                parent = owner.place
                break
        return parent, self._notes[-1][1] if self._notes else "", bool(self._folds) and self._is_folded()

    def _emit(self, block: Block, element: HtmlElement, holder: HtmlElement | None = None) -> None:
        """Keep the block."""
        place = len(self.found)
        self.found.append(Found(block, element, place, element if holder is None else holder))
        if block.kind is BlockKind.TERM and self._definition_lists:
            self._definition_lists[-1].place = place
        elif block.kind is BlockKind.LIST_ITEM and self._owners and self._owners[-1].place is None:
            self._owners[-1].place = place

    def _table(self, table: HtmlElement) -> None:
        caption = table.find("caption")
        if caption is not None:
            self._walk(caption)
            self._flush(caption)
        kind = _note_kind(table)
        if kind:
            self._notes.append((table, kind))
        outer, self._inline = self._inline, InlineReader(self.base_url, self._inline.targets)
        self._in_cell = True
        try:
            block = table_block(table, self._cell)
        finally:
            self._inline, self._in_cell = outer, False
        if block is not None:
            parent, note, folded = self._around()
            self._emit(replace(block, level=self._depth, parent=parent, note=note, secondary=folded), table)
        if kind:
            self._notes.pop()

    def _is_folded(self) -> bool:
        """Inside a closed `<details>`, its summary excepted, which always shows."""
        shown = 2 if self._folds and self._folds[-1].tag == "summary" else 0
        return len(self._folds) > shown

    def _cell(self, cell: HtmlElement) -> Cell:
        """The text of a table cell on one line."""
        row = cell.getparent()
        if not len(cell) and not cell.get("style") and (row is None or not row.get("style")):
            return Cell(clean(" ".join((cell.text or "").split())).strip(), ())
        inline = self._inline
        for element in (row, cell):
            if element is not None:
                inline.strike(element)
        self._walk(cell)
        text, marks = inline.text.take()
        if not inline.is_closed:
            self._inline = InlineReader(self.base_url, inline.targets)
        return Cell(text.replace("\n", " "), marks)


def _is_footnote(element: HtmlElement) -> bool:
    if (element.get("role") or "") in _FOOTNOTE_ROLES:
        return True
    names = element.get("class")
    return bool(names) and element.tag in {"div", "aside", "section", "p", "dl"} and bool(_FOOTNOTE.search(names))


def _is_one_line(element: HtmlElement) -> bool:
    """Whether it holds no blocks: pages call whole comments headings, for those who jump from one to the next."""
    return not any(inner.tag in _BLOCK_TAGS for inner in element.iterdescendants())


def _aria_level(element: HtmlElement) -> int:
    """Source: WAI-ARIA 1.2 §5.4, role `heading`: level 2 where none is given; HTML has six."""
    value = element.get("aria-level") or ""
    return min(max(int(value), 1), 6) if _INTEGER.fullmatch(value) else 2


def _note_kind(element: HtmlElement) -> str:
    """The kind of box an element is by its class or role, or nothing. What holds a section is no box."""
    names = element.get("class")
    kind = _note_in(names) if names else ""
    if element.get("role") == "note" and kind in {"", *_VAGUE_NOTES}:
        kind = "note"
    return "" if not kind or next(element.iter("h1", "h2"), None) is not None else kind


@lru_cache(maxsize=2_048)
def _note_in(names: str) -> str:
    """The kind of box that class names spell out, the clearest of several."""
    kinds: list[str] = []
    for name in names.lower().split():
        *prefixes, last = name.replace("_", "-").split("-")
        if last in _NOTE_KINDS and all(prefix in _NOTE_PREFIXES for prefix in prefixes):
            kinds.append(last)
        elif prefixes and prefixes[0] in {"admonition", "alert", "callout"} and last not in {"title", "heading"}:
            kinds.append(prefixes[0])
    return next((kind for kind in kinds if kind not in _VAGUE_NOTES), kinds[0] if kinds else "")


def blocks_of(found: Sequence[Found], first: int = 0) -> tuple[Block, ...]:
    """The blocks of what was kept of a walk, each with its parent's place among them; they begin at place `first`.

    A block whose parent was left out stands in none.
    """
    places = {item.place: index for index, item in enumerate(found, start=first)}
    return tuple(
        block if (parent := block.parent) is None else _with_parent(block, places.get(parent))
        for block in (item.block for item in found)
    )


def _with_parent(block: Block, parent: int | None) -> Block:
    return block if block.parent == parent else replace(block, parent=parent)
