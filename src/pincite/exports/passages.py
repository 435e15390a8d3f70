"""Quotes in the stored text around them, and evidence cut to the passages that a report quotes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from pincite.domain.excerpts import Excerpts, excerpts_of
from pincite.domain.frozen import dataclass
from pincite.domain.page import BlockKind, Document, Kept, MarkKind, Snapshot
from pincite.domain.report import Report, ReportEvidence
from pincite.ports import EvidenceSource

# How much is shown before and after a quote: about three lines each.
CONTEXT_CHARS = 240

CUT = "…"


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text, inside the quote (`marked`), inside another quote of the same claim (`also`), or around them.

    `struck`: the page crosses it out.
    """

    text: str
    marked: bool
    also: bool = False
    struck: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A block of the page, as far as it is shown."""

    kind: BlockKind
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Passage:
    """A quote in its surroundings and the headings above it.

    `stored` is False when the document isn't at hand or says something else at this place: what is shown then is the
    quote as the report carries it. `whole` is False when only the surroundings of quotes were kept of the page.
    """

    parts: tuple[Part, ...]
    section: tuple[str, ...] = ()
    stored: bool = True
    whole: bool = True


Span = tuple[int, int]


def passage(
    evidence: ReportEvidence,
    document: Document | Excerpts | None,
    context_chars: int = CONTEXT_CHARS,
    also: Sequence[Span] = (),
) -> Passage:
    """The quote of `evidence` within the stored document, or within its own prefix and suffix without one.

    `also` are the spans of other quotes in the same document.
    """
    start, end = evidence.start, evidence.end
    if isinstance(document, Excerpts):
        return _within(evidence, document)
    if document is None or not 0 <= start < end or document.text[start:end] != evidence.quote:
        around = (Piece(evidence.prefix, False), Piece(evidence.quote, True), Piece(evidence.suffix, False))
        shown = tuple(piece for piece in around if piece.text)
        return Passage((Part(BlockKind.PARAGRAPH, shown),), stored=False)
    section = document.section_path(start)
    return Passage(tuple(_parts(document, (start, end), context_chars, also)), section)


def _within(evidence: ReportEvidence, kept: Excerpts) -> Passage:
    """The quote within what was kept around it."""
    for at, text in kept.windows:
        low, high = evidence.start - at, evidence.end - at
        if low >= 0 and text[low:high] == evidence.quote:
            before = (CUT if at else "") + text[:low]
            after = text[high:] + (CUT if at + len(text) < kept.chars else "")
            pieces = (Piece(before, False), Piece(evidence.quote, True), Piece(after, False))
            return Passage((Part(BlockKind.PARAGRAPH, tuple(p for p in pieces if p.text)),), whole=False)
    return passage(evidence, None)


def parts_of(document: Document, limit_chars: int) -> tuple[Part, ...]:
    """The blocks of a document from its start, unmarked, up to about `limit_chars`."""
    return tuple(_parts(document, (0, 0), limit_chars))


def _parts(document: Document, quote: Span, context_chars: int, also: Sequence[Span] = ()) -> Iterator[Part]:
    start, end = quote
    low, high = max(0, start - context_chars), min(len(document.text), end + context_chars)
    struck = [(m.start, m.end) for m in document.marks_in(low, high, (MarkKind.STRUCK,))] if low < high else []
    edges = sorted({edge for span in (quote, *also, *struck) for edge in span})
    for index in range(document.block_at(low), document.block_at(high) + 1):
        block, at = document.blocks[index], document.starts[index]
        block_end = at + len(block.text)
        shown_from, shown_to = _whole_words(block.text, low - at, high - at)
        if shown_from >= shown_to:
            continue
        pieces = [Piece(CUT, False)] if shown_from > 0 else []
        borders = sorted({at + shown_from, at + shown_to, *(edge for edge in edges if at < edge < block_end)})
        borders = [border for border in borders if at + shown_from <= border <= at + shown_to]
        for one, other in pairwise(borders):
            here = start <= one < end
            again = not here and any(since <= one < until for since, until in also)
            gone = any(since <= one < until for since, until in struck)
            pieces.append(Piece(document.text[one:other], here, again, gone))
        if at + shown_to < block_end:
            pieces.append(Piece(CUT, False))
        yield Part(block.kind, tuple(pieces))


def _whole_words(text: str, low: int, high: int) -> Span:
    """The span less the half words at its ends; in scripts without spaces it stays as it is."""
    # Words are seldom longer than 40 characters.
    after = text.find(" ", low, low + 40) if low > 0 else -1
    before = text.rfind(" ", max(0, high - 40), max(0, high)) if high < len(text) else -1
    start = max(low, 0) if after < 0 else after + 1
    return start, min(max(high, 0), len(text)) if before < 0 else before


class PassagesOnly:
    """Implements `ports.EvidenceSource`: of each page the windows around its quotes, and the hash of the whole."""

    def __init__(self, report: Report, evidence: EvidenceSource) -> None:
        self._evidence = evidence
        self._spans: dict[str, list[Span]] = {}
        for item in report.quotes():
            self._spans.setdefault(item.document_id, []).append((item.start, item.end))

    def snapshot(self, snapshot_id: str) -> Snapshot | None:
        """The capture without its body, or None. Errors: StorageUnavailable."""
        found = self._evidence.snapshot(snapshot_id)
        return None if found is None else replace(found, body=b"", kept=Kept.EXCERPTS)

    def document(self, document_id: str, snapshot_id: str | None = None) -> Document | None:
        """None: no text is passed on whole."""
        return None

    def excerpts(self, document_id: str, snapshot_id: str | None = None) -> Excerpts | None:
        """The quotes of the document with what stands around them, or None. Errors: StorageUnavailable."""
        document = self._evidence.document(document_id, snapshot_id)
        if document is None:
            return self._evidence.excerpts(document_id, snapshot_id)
        return excerpts_of(document, self._spans.get(document_id, ()))
