"""Where a quotation stands in a text: exact after typographic folding, or not at all.

Fuzzy matching only finds the place; the real text of that place then replaces the quotation, and a caller must check
its claim against it again. No threshold of likeness separates a typo from a falsified number (docs/verification.md).
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from pincite.domain.evidence import ContextRole, EvidencePassage, arranged
from pincite.domain.frozen import dataclass
from pincite.domain.quotes import with_struck
from pincite.text.fragments import whole_words
from pincite.text.normalise import Folded, fold
from pincite.text.sentences import Span, sentences

_ELLIPSIS = re.compile(r"\s*(?:\[\s*(?:\.\.\.|…)\s*\]|\(\s*\.\.\.\s*\)|\.\.\.\.?)\s*")
# Between the parts of a quotation with "[...]": beyond about a paragraph it is pieced together from two places.
_GAP_LIMIT = 1_000
# Only to show where a quotation was meant to stand; whether it stands there is decided exactly.
_LOCATE_FROM = 85.0
# The comparison takes time with the length; it only helps a reader.
_LOCATE_CHARS = 200_000
_MARKS = "\"' \n\t"


@dataclass(frozen=True, slots=True)
class Located:
    """Where something like the quotation stands; `exact` is whether it is the quotation itself.

    `text` is the real text of the place.
    """

    span: Span
    text: str
    exact: bool


def locate(quotation: str, document_text: str) -> Span | None:
    """The exact place of the quotation, or None. Quotes, dashes, spaces and line breaks may be written otherwise.

    Parts around an ellipsis must all stand there, in order and at most 1,000 characters apart; the span then runs
    from the first to the last. Letters, digits and case must be the same.
    """
    return locate_folded(quotation, fold(document_text))


def locate_folded(quotation: str, folded: Folded) -> Span | None:
    """As `locate`, for a document that is folded already."""
    # Split once more: control characters that Python takes for white space are none where texts are folded.
    parts = _ELLIPSIS.split(fold(quotation).text.strip(_MARKS))
    parts = [part for part in parts if part.strip(_MARKS + ".,;").split()]
    if not parts:
        return None
    position = 0
    while True:
        spans = _in_order(parts, folded.text, position)
        if spans is None:
            return None
        first, last = spans[0], spans[-1]
        if all(later[0] - earlier[1] <= _GAP_LIMIT for earlier, later in pairwise(spans)):
            return Span(*folded.span(first[0], last[1]))
        # Words of the first part may stand on the page more than once: the next place is tried.
        position = first[0] + 1


def locate_near(quotation: str, document_text: str) -> Located | None:
    """The place that is most like the quotation, with its real text; None when nothing is like it."""
    folded = fold(document_text)
    span = locate_folded(quotation, folded)
    if span is not None:
        return Located(span, document_text[span.start : span.end], True)
    # Imported late: only near misses need it.
    from rapidfuzz import fuzz

    wanted = fold(quotation).text.strip(_MARKS)
    if len(wanted) < 8:
        return None
    best = fuzz.partial_ratio_alignment(wanted.lower(), folded.text[:_LOCATE_CHARS].lower(), score_cutoff=_LOCATE_FROM)
    # Some letters grow in lower case (`İ`): then the offsets that were found are those of another text.
    if best is None or best.dest_end <= best.dest_start or len(folded.text.lower()) != len(folded.text):
        return None
    # The alignment ends anywhere; half a word shown to a reader looks like an error of the page.
    start, end = whole_words(folded.text, best.dest_start, best.dest_end)
    found = Span(*folded.span(start, end))
    return Located(found, document_text[found.start : found.end], False)


def _in_order(parts: list[str], text: str, position: int) -> list[tuple[int, int]] | None:
    spans: list[tuple[int, int]] = []
    for part in parts:
        match = _pattern(part).search(text, position)
        if match is None:
            return None
        spans.append(match.span())
        position = match.end()
    return spans


def _pattern(part: str) -> re.Pattern[str]:
    """The part with any white space between its words, on word borders."""
    words = part.strip(_MARKS).split()
    # A border only beside letters: a quotation may begin with a bracket that stands right behind a word.
    head = r"(?<!\w)" if words[0][:1].isalnum() else ""
    tail = r"(?!\w)" if words[-1][-1:].isalnum() else ""
    return re.compile(head + r"\s+".join(map(re.escape, words)) + tail)


# Whether a sentence is in its source's own words: slices of one page, joined only by what changes nothing.

_END_MARKS = " .!?;:"
_LEADS = frozenset({ContextRole.TITLE, ContextRole.HEADING, ContextRole.TERM, ContextRole.LIST_INTRO})
# The marks that a term ends with ("--continue::", "<commit>...") before the one that joins it to its line.
_JOINT = re.compile(r"(?:[.:;?!…]{0,6}| -) ")
_SECTION_NUMBER = re.compile(r"(?:[A-Z]|\d+)(?:\.\d+)*\.? ")


def is_quoted(statement: str, passages: Sequence[EvidencePassage]) -> bool:
    """Whether the statement is whole sentences of one page in their order, word for word.

    Typography, white space and the end mark may differ; the page's heading, term or list introduction may stand in
    front, the heading without its number. A passage that begins or ends inside a sentence proves nothing: it may drop
    a "not".
    """
    wanted = _plain(statement)
    if not wanted:
        return False
    pages: dict[str, list[EvidencePassage]] = {}
    for passage in arranged(passages):
        if passage.whole:
            pages.setdefault(passage.document_id, []).append(passage)
    return any(_made_of(rest, page) for page in pages.values() for rest in _without_lead(wanted, page))


def _without_lead(wanted: str, page: Sequence[EvidencePassage]) -> Iterator[str]:
    yield wanted
    found = {_plain(piece.text) for passage in page for piece in passage.context if piece.role in _LEADS}
    for lead in found | {_SECTION_NUMBER.sub("", lead, count=1) for lead in found if _SECTION_NUMBER.match(lead)}:
        after = wanted[len(lead) :] if lead and wanted.startswith(lead) else ""
        # A term may have an end mark of its own: "Easy case: the changes are the same.: This happens if ...".
        if joint := _JOINT.match(after):
            yield after[joint.end() :].strip(_END_MARKS)


def _made_of(wanted: str, page: Sequence[EvidencePassage]) -> bool:
    """Whether the text is sentences of the page in order: of one passage those that follow each other."""
    passages = [list(filter(None, _sentences(passage))) for passage in page]

    def goes_on(at: int, first: int) -> bool:
        return any(
            _run(at, number, index) for number in range(first, len(passages)) for index in range(len(passages[number]))
        )

    def _run(at: int, number: int, index: int) -> bool:
        for piece in passages[number][index:]:
            end = at + len(piece)
            if not wanted.startswith(piece, at) or (end < len(wanted) and wanted[end].isalnum()):
                return False
            while end < len(wanted) and wanted[end] in _END_MARKS:
                end += 1
            if end == len(wanted) or goes_on(end, number + 1):
                return True
            at = end
        return False

    return goes_on(0, 0)


def _sentences(passage: EvidencePassage) -> Iterator[str]:
    """Its sentences; whoever quotes one of which the page crosses out a part says so."""
    struck = passage.struck
    for span in sentences(passage.text):
        own = [
            (max(low, span.start) - span.start, min(high, span.end) - span.start)
            for low, high in struck
            if low < span.end and high > span.start
        ]
        yield from map(_plain, with_struck(passage.text[span.start : span.end], own).split("\n"))


def _plain(text: str) -> str:
    return fold(text).flat.strip(_END_MARKS)
