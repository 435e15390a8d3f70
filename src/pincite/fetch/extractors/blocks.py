"""An element tree to blocks: structure is kept as the page has it, nothing is chosen here."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

from lxml import etree
from lxml.html import HtmlElement

from pincite.domain.page import Block, BlockKind, MarkKind
from pincite.fetch.extractors.characters import clean
from pincite.fetch.extractors.hidden import NEVER_TEXT
from pincite.fetch.extractors.languages import code_language
from pincite.fetch.extractors.tables import MAX_COLUMNS, Cell, holds_data, is_header, join_rows, rows_of, span_of
from pincite.fetch.extractors.writing import InlineText

_BLOCK_TAGS = frozenset(
    "html body address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol p pre search section summary table "
    "caption tbody td tfoot th thead tr ul listing xmp plaintext noindex".split()
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CODE_TAGS = frozenset({"pre", "listing", "xmp", "plaintext"})
_MARKS = {
    "a": MarkKind.LINK,
    "b": MarkKind.STRONG,
    "strong": MarkKind.STRONG,
    "i": MarkKind.EMPHASIS,
    "em": MarkKind.EMPHASIS,
    "var": MarkKind.EMPHASIS,
    "cite": MarkKind.EMPHASIS,
    "dfn": MarkKind.EMPHASIS,
    "code": MarkKind.CODE,
    "tt": MarkKind.CODE,
    "kbd": MarkKind.CODE,
    "samp": MarkKind.CODE,
}
_NOTHING = Cell("", ())
_PERMALINKS = frozenset(
    {"", "¶", "#", "§", "🔗", "\uf0c1", "\u200b", "Permalink", "[link]", "Link to this heading"}
    | {"^", "↩", "↩\ufe0e", "↑", "⤴"}  # back from a footnote
)
_PERMALINK_CLASSES = re.compile(
    r"\b(?:headerlink|permalink|header-anchor|anchor-?link|hash-link|id_link|heading-anchor)\b"
)
_ADMONITION = re.compile(
    r"\b(?:note|warning|tip|caution|important|hint|danger|attention|admonition|seealso|callout|alert)\b", re.IGNORECASE
)
_FOOTNOTE = re.compile(r"\b(?:footnotes?|endnotes?|fn-list|footnote-list)\b", re.IGNORECASE)
_LINE_NUMBERS = re.compile(
    r"\b(?:linenos|linenodiv|lineno|line-numbers-rows|gutter|line-?numbers?|blob-num|hljs-ln-n|rouge-gutter)\b"
)
_COMPLEX_CODE = etree.XPath(
    "boolean(.//br or .//table or .//div or .//li or .//p or .//tr"
    " or .//*[contains(@class, 'line') or contains(@class, 'gutter') or contains(@class, 'blob-num')])"
)
_MAX_HREF_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Found:
    """A block and the element it was read from."""

    block: Block
    element: HtmlElement


@dataclass(slots=True)
class _Context:
    """What kind of block the text collected now becomes."""

    tag: str
    kind: BlockKind
    level: int = 0
    ordered: bool = False
    number: int | None = None
    emitted: bool = False


@dataclass(slots=True)
class _Numbering:
    """A list being walked."""

    ordered: bool
    next_number: int = 1


@dataclass(slots=True)
class BlockWalk:
    """One walk over a tree. `base_url` makes link targets absolute."""

    base_url: str
    found: list[Found] = field(default_factory=list)
    _text: InlineText = field(default_factory=InlineText)
    _contexts: list[_Context] = field(default_factory=lambda: [_Context("", BlockKind.PARAGRAPH)])
    _lists: list[_Numbering] = field(default_factory=list)
    _depth: int = 0
    _code_depth: int = 0
    _targets: dict[str, str] = field(default_factory=dict)
    _folds: list[HtmlElement] = field(default_factory=list)

    def run(self, root: HtmlElement) -> list[Found]:
        """The blocks under `root` in page order."""
        self._walk(root)
        self._flush(root)
        return self.found

    def _walk(self, root: HtmlElement) -> None:
        if not self._enter(root):
            return
        stack: list[tuple[HtmlElement, Iterator[HtmlElement]]] = [(root, iter(root))]
        while stack:
            element, children = stack[-1]
            child = next(children, None)
            if child is None:
                stack.pop()
                self._leave(element)
                if stack:
                    self._add(element.tail)
            elif isinstance(child.tag, str) and self._enter(child):
                stack.append((child, iter(child)))
            else:
                self._add(child.tail)

    def _add(self, text: str | None) -> None:
        if text:
            if self._code_depth:
                self._text.add_exact(text)
            else:
                self._text.add(text)

    def _enter(self, element: HtmlElement) -> bool:
        """Start an element; False when its inside is not to be walked."""
        tag = element.tag
        if tag in NEVER_TEXT:
            return False
        entered = self._enter_block(element, tag) if tag in _BLOCK_TAGS else self._enter_inline(element, tag)
        if entered:
            self._add(element.text)
        return entered

    def _enter_block(self, element: HtmlElement, tag: str) -> bool:
        if self._code_depth:
            return self._enter_in_code(element)
        self._flush(element)
        if tag in _CODE_TAGS and not _COMPLEX_CODE(element):
            self._code(element)
            return False
        if tag == "table" and holds_data(element):
            self._table(element)
            return False
        of_a_fold = tag == "summary" and bool(self._folds) and element.getparent() is self._folds[-1]
        if of_a_fold or (tag == "details" and "open" not in element.attrib):
            self._folds.append(element)
        self._open_block(element, tag)
        return True

    def _enter_inline(self, element: HtmlElement, tag: str) -> bool:
        if tag == "br":
            self._line_break(element)
            return False
        if tag == "a" and self._is_permalink(element):
            return False
        if tag == "span" and "editsection" in (element.get("class") or ""):  # wikis: a link to the editor
            return False
        if self._code_depth and _LINE_NUMBERS.search(element.get("class") or ""):
            return False
        if tag in _MARKS:
            self._text.open(_MARKS[tag], self._target(element) if tag == "a" else "")
        elif tag == "q":
            self._add("“")
        elif tag == "sup" and self._text.last.isdigit() and (element.text or "").strip()[:1].isdigit():
            self._add("^")
        return True

    def _line_break(self, element: HtmlElement) -> None:
        if self._code_depth:
            self._text.add_exact("\n")
        elif self._text.last == "\n":
            self._flush(element)
        else:
            self._text.line_break()

    def _enter_in_code(self, element: HtmlElement) -> bool:
        """A block element inside code is one more line of it."""
        if _LINE_NUMBERS.search(element.get("class") or ""):
            return False
        if self._text and self._text.last != "\n":
            self._text.add_exact("\n")
        if element.tag in _CODE_TAGS:
            self._code_depth += 1
            self._contexts.append(self._contexts[-1])
        return True

    def _leave(self, element: HtmlElement) -> None:
        tag = element.tag
        if tag in _BLOCK_TAGS:
            if self._code_depth and tag not in _CODE_TAGS:
                return
            self._flush(element)
            self._close_block(tag)
            if self._folds and self._folds[-1] is element:
                self._folds.pop()
        elif tag in _MARKS:
            self._text.close(_MARKS[tag])
        elif tag == "q":
            self._add("”")

    def _open_block(self, element: HtmlElement, tag: str) -> None:
        inside = self._contexts[-1]
        if tag in {"ul", "ol", "menu", "dir"}:
            self._lists.append(_Numbering(tag == "ol", _start_of(element)))
        elif tag == "li":
            self._contexts.append(self._list_item(element))
            self._depth += 1
        elif tag == "dt":
            self._contexts.append(_Context(tag, BlockKind.TERM, self._depth))
        elif tag == "dd":
            self._contexts.append(_Context(tag, BlockKind.DEFINITION, self._depth))
            self._depth += 1
        elif tag in _HEADINGS:
            self._contexts.append(self._heading(element, tag))
        elif tag in _CODE_TAGS:
            self._code_depth += 1
            self._contexts.append(_Context(tag, BlockKind.CODE, self._depth))
        elif tag == "blockquote":
            self._contexts.append(_Context(tag, BlockKind.QUOTATION, self._depth))
        elif tag in {"figcaption", "caption"}:
            self._contexts.append(_Context(tag, BlockKind.CAPTION, self._depth))
        elif inside.kind is not BlockKind.FOOTNOTE and self._is_footnote(element):
            self._contexts.append(_Context(tag, BlockKind.FOOTNOTE, self._depth))
            return
        elif tag in {"td", "th"}:
            self._contexts.append(_Context(tag, BlockKind.PARAGRAPH, self._depth))
        else:
            self._contexts.append(inside)
            return
        if tag in {"ul", "ol", "menu", "dir"}:
            self._contexts.append(inside)

    def _list_item(self, element: HtmlElement) -> _Context:
        numbering = self._lists[-1] if self._lists else _Numbering(ordered=False)
        number: int | None = None
        if numbering.ordered:
            value = (element.get("value") or "").strip()
            number = int(value) if re.fullmatch(r"-?\d{1,6}", value) else numbering.next_number
            numbering.next_number = number + 1
        footnote = self._contexts[-1].kind is BlockKind.FOOTNOTE or (element.get("role") or "") == "doc-endnote"
        kind = BlockKind.FOOTNOTE if footnote else BlockKind.LIST_ITEM
        return _Context("li", kind, self._depth, numbering.ordered, number)

    def _heading(self, element: HtmlElement, tag: str) -> _Context:
        inside = self._contexts[-1]
        parent = element.getparent()
        boxed = parent is not None and _ADMONITION.search(parent.get("class") or "") is not None
        if inside.kind in {BlockKind.TERM, BlockKind.CAPTION} or (boxed and len(element.text_content().split()) < 4):
            return _Context(tag, inside.kind, self._depth)
        return _Context(tag, BlockKind.HEADING, _HEADINGS[tag])

    @staticmethod
    def _is_footnote(element: HtmlElement) -> bool:
        role = element.get("role") or ""
        if role in {"doc-footnote", "doc-endnotes", "doc-endnote"}:
            return True
        names = element.get("class")
        return bool(names) and element.tag in {"div", "aside", "section", "p", "dl"} and bool(_FOOTNOTE.search(names))

    def _close_block(self, tag: str) -> None:
        if len(self._contexts) > 1:
            self._contexts.pop()
        if tag in {"ul", "ol", "menu", "dir"} and self._lists:
            self._lists.pop()
        elif tag in {"li", "dd"}:
            self._depth = max(self._depth - 1, 0)
        elif tag in _CODE_TAGS:
            self._code_depth = max(self._code_depth - 1, 0)

    def _code(self, element: HtmlElement) -> None:
        """A code block that is nothing but text and colouring."""
        self._contexts.append(_Context(element.tag, BlockKind.CODE, self._depth))
        self._text.add_exact("".join(element.itertext()))
        self._flush(element)
        self._contexts.pop()

    def _flush(self, element: HtmlElement) -> None:
        """End the block collected so far."""
        if not self._text:
            return
        context = self._contexts[-1]
        is_code = context.kind is BlockKind.CODE
        text, marks = self._text.take(exact=is_code)
        if not text:
            return
        kind, level, number, ordered = context.kind, context.level, context.number, context.ordered
        if kind is BlockKind.LIST_ITEM and context.emitted:
            kind, level, number, ordered = BlockKind.PARAGRAPH, self._depth, None, False
        elif kind is BlockKind.PARAGRAPH:
            level = self._depth
        context.emitted = True
        language = code_language(element) if is_code else ""
        block = Block(
            kind=kind,
            text=text,
            level=level,
            ordered=ordered,
            number=number,
            language=language,
            marks=() if is_code else marks,
            secondary=self._is_folded(),
        )
        self.found.append(Found(block, element))

    def _table(self, table: HtmlElement) -> None:
        caption = table.find("caption")
        if caption is not None:
            self._walk(caption)
            self._flush(caption)
        rows: list[list[Cell]] = []
        elements = rows_of(table)
        below: dict[int, int] = {}
        for row in elements:
            cells: list[Cell] = []
            for cell in row:
                _fill(cells, below)
                width, height = span_of(cell), span_of(cell, "rowspan")
                if height > 1:
                    below.update((len(cells) + n, height) for n in range(width))
                cells.append(self._cell(cell))
                cells += [_NOTHING] * (width - 1)
            _fill(cells, below)
            below = {column: left - 1 for column, left in below.items() if left > 1}
            if any(cell.text for cell in cells):
                rows.append(cells)
        if not rows:
            return
        text, marks = join_rows(rows)
        if not text.strip():
            return
        self.found.append(
            Found(
                Block(
                    kind=BlockKind.TABLE,
                    text=text,
                    level=self._depth,
                    rows=tuple(tuple(cell.text for cell in row) for row in rows),
                    has_header=is_header(elements[0]),
                    marks=marks,
                    secondary=self._is_folded(),
                ),
                table,
            )
        )

    def _is_folded(self) -> bool:
        """Inside a closed `<details>`, its summary excepted, which always shows."""
        shown = 2 if self._folds and self._folds[-1].tag == "summary" else 0
        return len(self._folds) > shown

    def _cell(self, cell: HtmlElement) -> Cell:
        """The text of a table cell on one line."""
        if not len(cell):
            return Cell(clean(" ".join((cell.text or "").split())).strip(), ())
        outer, self._text = self._text, InlineText()
        writer = self._text
        try:
            self._cell_inside(cell)
            text, marks = writer.take()
        finally:
            self._text = outer
        if "\n" in text:
            text = text.replace("\n", " ")
        return Cell(text, marks)

    def _cell_inside(self, cell: HtmlElement) -> None:
        writer = self._text
        writer.add(cell.text or "")
        stack: list[tuple[HtmlElement, Iterator[HtmlElement]]] = [(cell, iter(cell))]
        while stack:
            element, children = stack[-1]
            child = next(children, None)
            if child is None:
                stack.pop()
                if element.tag in _MARKS:
                    writer.close(_MARKS[element.tag])
                elif element.tag in _BLOCK_TAGS:
                    writer.space()
                if stack:
                    writer.add(element.tail or "")
                continue
            if not isinstance(child.tag, str) or (child.tag == "a" and self._is_permalink(child)):
                writer.add(child.tail or "")
                continue
            if child.tag in _BLOCK_TAGS or child.tag == "br":
                writer.space()
            elif child.tag in _MARKS:
                writer.open(_MARKS[child.tag], self._target(child) if child.tag == "a" else "")
            writer.add(child.text or "")
            stack.append((child, iter(child)))

    def _is_permalink(self, anchor: HtmlElement) -> bool:
        """Whether the anchor only points at the heading it stands in."""
        href = anchor.get("href") or ""
        if "#" not in href:
            return False
        if _PERMALINK_CLASSES.search(anchor.get("class") or ""):
            return True
        return len(anchor) == 0 and href.startswith("#") and (anchor.text or "").strip() in _PERMALINKS

    def _target(self, anchor: HtmlElement) -> str:
        """The absolute http(s) target of a link, or nothing."""
        href = (anchor.get("href") or "").strip()
        if href == "#":  # a button in disguise
            return ""
        known = self._targets.get(href)
        if known is None:
            known = self._targets[href] = absolute(self.base_url, href)
        return known


def _fill(cells: list[Cell], below: dict[int, int]) -> None:
    """Leave the places empty that a cell of an earlier row reaches down into."""
    while below.get(len(cells), 0) > 0 and len(cells) < MAX_COLUMNS:
        cells.append(_NOTHING)


def absolute(base_url: str, href: str) -> str:
    """`href` against `base_url` when that gives an http(s) URL of sane length, else nothing."""
    if not href or len(href) > _MAX_HREF_CHARS:
        return ""
    try:
        target = urljoin(base_url, href)
        return target if urlsplit(target).scheme in {"http", "https"} else ""
    except ValueError:
        return ""


def _start_of(element: HtmlElement) -> int:
    value = (element.get("start") or "1").strip()
    return int(value) if re.fullmatch(r"-?\d{1,6}", value) else 1
