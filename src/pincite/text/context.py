"""Evidence in context: a passage with what it takes to understand it, and its lines as a judge or a reader sees them.

Context is the page's own words: title, headings, term, list introduction, table header, the sentence that a pronoun
points back to, the rest of the paragraph. All of it has offsets, so that it can be shown and checked.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from pincite.domain.evidence import INSIDE, ContextPiece, ContextRole, EvidenceLine, EvidencePassage, arranged
from pincite.domain.items import item_at
from pincite.domain.page import BlockKind, Document, MarkKind
from pincite.domain.page_markdown import header_row_count, row_headers
from pincite.text.sentences import Span, sentences
from pincite.text.tokens import first_words, token_estimate

# What may stand beside a passage (docs/verification.md): a blind reader was right on 200 of 200 with less.
CONTEXT_TOKENS: Final = 300
# Of it for the sentences beside the passage; headings, titles and notes need the rest. Chosen, not measured.
_AROUND_TOKENS: Final = 120
# The most for one piece, so that a page whose title is an essay still shows its headings.
_PIECE_TOKENS: Final = 80
# "Changed in version 3.11" and its kin; a longer first line is text of the box.
_NOTE_TITLE_CHARS: Final = 60
# What of one passage can't be taken as it stands; more would crowd out all else. Chosen, not measured.
_MOST_MARKS: Final = 12
# "In this case", "If it does": what points back stands among the first words.
_LOOK_BACK_WORDS: Final = 3
_END_MARKS: Final = " .!?;:)\"'”’»"
# What stands between the cells of a row in the text of a document.
_CELL: Final = " | "
_BY_LINE: Final = frozenset({BlockKind.TABLE, BlockKind.CODE})
_NEVER_ANTECEDENT = frozenset({BlockKind.HEADING, BlockKind.TABLE, BlockKind.TERM, BlockKind.CAPTION})
# Closed classes of grammar (English, German, French, Spanish): what can't be understood without the sentence before.
_POINTING = frozenset(
    "it its they them their this that these those he she his her him such both former latter "
    "er sie es dies diese dieser dieses diesem diesen jene jener jenes solche solcher "
    "il elle ils elles ce cet cette ces cela ceci celui celle ceux celles leur leurs "
    "él ella ellos ellas este esta esto estos estas ese esa eso esos esas aquel aquella".split()
)
_JOINING = frozenset(
    "therefore however thus hence so but also then otherwise moreover furthermore instead similarly additionally "
    "consequently nevertheless nonetheless meanwhile accordingly besides likewise conversely and or yet still "
    "daher deshalb deswegen jedoch aber dennoch trotzdem außerdem dann sonst dadurch dabei damit zudem somit folglich "
    "donc cependant toutefois mais ainsi alors aussi sinon puis ensuite néanmoins pourtant "
    "pero además así entonces también luego aunque tampoco".split()
)


def passage_in_context(document: Document, start: int, end: int) -> EvidencePassage:
    """The passage `[start, end)` of the document as evidence."""
    return EvidencePassage(
        document.document_id,
        start,
        end,
        document.text[start:end],
        context_of(document, start, end),
        is_whole(document, start, end),
    )


def is_whole(document: Document, start: int, end: int) -> bool:
    """Whether the span begins and ends where a sentence, a list item, a cell's row or a line of code does."""
    first, last = document.block_at(start), document.block_at(max(end - 1, start))
    # Empty cells in front of a row say nothing of it.
    begins = any(
        span.start <= start and not document.text[span.start : start].replace(_CELL, "").strip()
        for span in units_of(document, first)
    )
    return begins and any(
        span.start < end <= span.end and not document.text[end : span.end].strip(_END_MARKS)
        for span in units_of(document, last)
    )


def context_of(document: Document, start: int, end: int) -> tuple[ContextPiece, ...]:
    """The pieces of the page beside `document.text[start:end]`, outermost first; offsets are into the same text.

    Nothing that lies inside the passage itself is given again, but what can't be taken there as it stands (`INSIDE`).
    In all at most `CONTEXT_TOKENS`.
    """
    if not 0 <= start < end <= len(document.text):
        return ()
    here, last = document.block_at(start), document.block_at(end - 1)
    pieces = [ContextPiece(ContextRole.TITLE, document.title)] if document.title else []
    item = item_at(document.structure, start, end)
    pieces += [ContextPiece(ContextRole.SIGNED, item.signature)] if item is not None and item.signature else []
    pieces += _headings(document, here)
    pieces += _above(document, here)
    intro = _list_intro(document, here)
    if intro is not None:
        pieces.append(_piece(document, intro, ContextRole.LIST_INTRO))
    pieces += _note(document, here)
    pieces += _table(document, here, start)
    antecedent = _antecedent(document, here, start, intro)
    pieces += [] if antecedent is None else [antecedent]
    left = CONTEXT_TOKENS
    kept: dict[int, ContextPiece] = {}
    # What stands nearest to the passage tells most about it: it is kept when a page has too much above.
    for index in reversed(range(len(pieces))):
        piece = _clipped(pieces[index], min(left, _PIECE_TOKENS))
        if piece is not None:
            kept[index] = piece
            left -= token_estimate(piece.text)
    before = antecedent.start if antecedent is not None and antecedent.start is not None else start
    # Last, from what is left: what stands above says what a passage is about, what stands around it only how it goes
    # on.
    around = _around(document, here, last, min(before, start), end, min(left, _AROUND_TOKENS))
    return (*(kept[index] for index in sorted(kept)), *around, *_inside(document, start, end))


def antecedent_of(document: Document, start: int, end: int) -> ContextPiece | None:
    """The sentence that a passage points back to, as `context_of` gives it."""
    if not 0 <= start < end <= len(document.text) or not points_back(document.text[start:]):
        return None
    here = document.block_at(start)
    found = _antecedent(document, here, start, _list_intro(document, here))
    return None if found is None else _clipped(found, _PIECE_TOKENS)


def _inside(document: Document, start: int, end: int) -> list[ContextPiece]:
    """What of the passage can't be taken as it stands: crossed out, in a formula, joined."""
    pieces: list[ContextPiece] = []
    for mark in document.marks_in(start, end)[:_MOST_MARKS]:
        low, high = max(mark.start, start), min(mark.end, end)
        role = ContextRole.STRUCK if mark.kind is MarkKind.STRUCK else ContextRole.UNSURE
        pieces.append(ContextPiece(role, document.text[low:high], low, high))
    return pieces


def numbered(passages: Iterable[EvidencePassage], premises: Sequence[str] = ()) -> tuple[EvidenceLine, ...]:
    """The lines of the passages and their context, numbered over all pages: each page in its own order, nothing twice.

    A passage gives a line for each of its sentences, so that a judge can name what it rests on.
    """
    lines = [EvidenceLine("", text, ContextRole.PREMISE) for text in premises]
    page = ""
    taken: list[tuple[int, int]] = []
    ordered = arranged(passages)
    for passage in ordered:
        if passage.document_id != page:
            page = passage.document_id
            taken = [(p.start, p.end) for p in ordered if p.document_id == page]
            titled: set[str] = set()
        for piece in passage.context:
            if piece.role in INSIDE:
                continue
            if piece.start is None or piece.end is None:
                if piece.text not in titled:
                    titled.add(piece.text)
                    lines.append(EvidenceLine("", piece.text, piece.role, page))
            elif not any(low < piece.end and piece.start < high for low, high in taken):
                taken.append((piece.start, piece.end))
                lines.append(EvidenceLine("", piece.text, piece.role, page, piece.start, piece.end))
        lines += _of_passage(passage)
        lines += [
            EvidenceLine("", piece.text, piece.role, page, piece.start, piece.end)
            for piece in passage.context
            if piece.role in INSIDE
        ]
    return tuple(replace(line, line_id=str(number)) for number, line in enumerate(lines, start=1))


def pinned(passages: Sequence[EvidencePassage], lines: Iterable[EvidenceLine]) -> tuple[EvidencePassage, ...]:
    """The passages in which one of the lines stands, or to whose context it belongs; all of them when none does."""
    named = [(line.page, line.start, line.end) for line in lines if line.start is not None and line.end is not None]
    found = tuple(passage for passage in passages if any(_belongs(passage, *line) for line in named))
    # A judge that names no line has not said that it needed fewer.
    return found or tuple(passages)


def _belongs(passage: EvidencePassage, page: str, start: int, end: int) -> bool:
    if passage.document_id != page:
        return False
    return passage.start <= start < passage.end or any(
        piece.start == start and piece.end == end for piece in passage.context
    )


def _of_passage(passage: EvidencePassage) -> Iterator[EvidenceLine]:
    for span in _units_of_text(passage.text):
        yield EvidenceLine(
            "",
            passage.text[span.start : span.end],
            None,
            passage.document_id,
            passage.start + span.start,
            passage.start + span.end,
        )


def _units_of_text(text: str) -> Iterator[Span]:
    """Its sentences, and rows of tables whole: torn at "Repl." the cells no longer stand under their columns."""
    if _CELL not in text:
        yield from sentences(text)
        return
    start = 0
    for line in text.split("\n"):
        found = [Span(0, len(line))] if _CELL in line else sentences(line)
        yield from (Span(start + span.start, start + span.end) for span in found)
        start += len(line) + 1


def _piece(document: Document, index: int, role: ContextRole) -> ContextPiece:
    start, text = document.starts[index], document.blocks[index].text
    return ContextPiece(role, text, start, start + len(text))


def _clipped(piece: ContextPiece, tokens: int) -> ContextPiece | None:
    """The piece with no more tokens than that, cut at a word; None when no word is left."""
    text = piece.text
    while token_estimate(text) > tokens:
        cut = text.rfind(" ", 0, int(len(text) * min(0.9, tokens / token_estimate(text))) + 1)
        if cut <= 0 or tokens <= 0:
            return None
        text = text[:cut]
    return replace(piece, text=text, end=None if piece.start is None else piece.start + len(text))


def _headings(document: Document, here: int) -> list[ContextPiece]:
    """The headings above a block, outermost first, without the title's own and that of a box, which `_note` tells."""
    return [
        _piece(document, index, ContextRole.HEADING)
        for index in document.headings_above(here)
        if index != here
        and not _opens_box(document, index)
        and document.blocks[index].text.casefold() != document.title.casefold()
    ]


def _above(document: Document, here: int) -> Iterator[ContextPiece]:
    """The terms and list items a block stands in, outermost first. Several terms in a row share a definition."""
    chain = document.ancestors(here)
    if not chain and document.blocks[here].kind is BlockKind.DEFINITION:
        # Documents stored before blocks had a `parent`: the term is the next one above.
        above = here
        while above >= 0 and _is(document, above, BlockKind.DEFINITION):
            above -= 1
        chain = (above,) if above >= 0 and _is(document, above, BlockKind.TERM) else ()
    for index in chain:
        if document.blocks[index].kind is BlockKind.TERM:
            first, parent = index, document.blocks[index].parent
            while first and _is(document, first - 1, BlockKind.TERM) and document.blocks[first - 1].parent == parent:
                first -= 1
            yield from (_piece(document, term, ContextRole.TERM) for term in range(first, index + 1))
        elif document.blocks[index].kind is BlockKind.LIST_ITEM:
            yield _piece(document, index, ContextRole.LIST_ITEM)


def _is(document: Document, index: int, kind: BlockKind) -> bool:
    return document.blocks[index].kind is kind


def _list_intro(document: Document, here: int) -> int | None:
    """The paragraph that introduces the list of which the block is an item, or stands in one."""
    around = (*document.ancestors(here), here)
    item = next((index for index in around if _is(document, index, BlockKind.LIST_ITEM)), None)
    if item is None:
        return None
    parent = document.blocks[item].parent
    index = item - 1
    while index >= 0 and (
        (_is(document, index, BlockKind.LIST_ITEM) and document.blocks[index].parent == parent)
        or any(_is(document, above, BlockKind.LIST_ITEM) and above != parent for above in document.ancestors(index))
    ):
        index -= 1
    introduces = index >= 0 and document.blocks[index].kind in {BlockKind.PARAGRAPH, BlockKind.DEFINITION}
    return index if introduces else None


def _opens_box(document: Document, index: int) -> bool:
    note = document.blocks[index].note
    return bool(note) and (not index or document.blocks[index - 1].note != note)


def _note(document: Document, here: int) -> list[ContextPiece]:
    """The title of the box around a block, or the kind of box where it has none."""
    kind = document.blocks[here].note
    if not kind:
        return []
    first = here
    while not _opens_box(document, first):
        first -= 1
    if first < here and len(document.blocks[first].text) <= _NOTE_TITLE_CHARS:
        return [_piece(document, first, ContextRole.NOTE)]
    return [ContextPiece(ContextRole.NOTE, kind)]


def _table(document: Document, here: int, start: int) -> list[ContextPiece]:
    """Caption, header rows and what names the row at `start`, as far as they stand before it.

    The paragraph right above a table is its caption too: few pages mark it as one.
    """
    block, begin = document.blocks[here], document.starts[here]
    if block.kind is not BlockKind.TABLE:
        return []
    pieces: list[ContextPiece] = []
    if here and document.blocks[here - 1].kind in {BlockKind.CAPTION, BlockKind.PARAGRAPH}:
        pieces.append(_piece(document, here - 1, ContextRole.CAPTION))
    at, row = begin, 0
    for number, line in enumerate(block.text.split("\n")):
        if number < header_row_count(block) and at + len(line) <= start:
            pieces.append(ContextPiece(ContextRole.TABLE_HEADER, line, at, at + len(line)))
        if at <= start:
            row = number
        at += len(line) + 1
    pieces += [
        ContextPiece(ContextRole.ROW_HEADER, cell.text, begin + cell.start, begin + cell.end)
        for cell in row_headers(block, row)
        if begin + cell.end <= start
    ]
    return pieces


def points_back(text: str) -> bool:
    """Whether a text opens with a word that points to what stands before it, or joins on to that."""
    opening = [word.lower() for word in first_words(text, _LOOK_BACK_WORDS)]
    return bool(opening) and (opening[0] in _JOINING or not _POINTING.isdisjoint(opening))


def _antecedent(document: Document, here: int, start: int, intro: int | None) -> ContextPiece | None:
    """The sentence before the passage, when that opens with a word that points back or joins on."""
    if not points_back(document.text[start:]):
        return None
    units = units_of(document, here)
    if document.blocks[here].kind in _BY_LINE:  # of its own row or line
        units = [unit for unit in units if unit.start <= start < unit.end]
    own = [span for span in _sentences(document, units) if span.end <= start]
    if own:
        span = own[-1]
    else:
        before = here - 1
        if before < 0 or before == intro or document.blocks[before].kind in _NEVER_ANTECEDENT:
            return None
        units = units_of(document, before)
        if not units:
            return None
        span = units[-1]
    return ContextPiece(ContextRole.ANTECEDENT, document.text[span.start : span.end], span.start, span.end)


def _around(document: Document, here: int, last: int, start: int, end: int, tokens: int) -> list[ContextPiece]:
    """The sentences of the same paragraph before and after, nearest first, as far as there is room."""
    block = document.blocks[here]
    # The rows of a table that name its columns are given as headers already.
    named = header_row_count(block) if block.kind is BlockKind.TABLE else 0
    before = [span for span in _sentences(document, units_of(document, here)[named:]) if span.end <= start]
    after = [span for span in _sentences(document, units_of(document, last)) if span.start >= end]
    pieces: list[ContextPiece] = []
    for spans in (before[::-1], after):
        kept: list[Span] = []
        for span in spans:
            cost = token_estimate(document.text[span.start : span.end])
            if cost > tokens:
                break
            tokens -= cost
            kept.append(span)
        if kept:
            low, high = min(span.start for span in kept), max(span.end for span in kept)
            pieces.append(ContextPiece(ContextRole.AROUND, document.text[low:high], low, high))
    return pieces


def _sentences(document: Document, units: Iterable[Span]) -> list[Span]:
    """The sentences in these parts of a block: its own, or those of its lines where it is a table or code."""
    return [
        Span(unit.start + span.start, unit.start + span.end)
        for unit in units
        for span in sentences(document.text[unit.start : unit.end])
    ]


def units_of(document: Document, index: int) -> list[Span]:
    """The sentences of a block, or its lines where it is a table or code, with offsets into the document's text."""
    block, base = document.blocks[index], document.starts[index]
    if block.kind in _BY_LINE:
        spans: list[Span] = []
        position = 0
        for line in block.text.split("\n"):
            if line.strip():
                spans.append(Span(base + position, base + position + len(line)))
            position += len(line) + 1
        return spans
    return [Span(base + span.start, base + span.end) for span in sentences(block.text)]
