"""Where a quotation stands in a text: exact after typographic folding, or not at all.

Fuzzy matching only finds the place; the real text of that place then replaces the quotation, and a caller must check
its claim against it again. No threshold of likeness separates a typo from a falsified number (docs/verification.md).
"""

import re
from dataclasses import dataclass
from itertools import pairwise

from pincite.text.normalise import Folded, fold
from pincite.text.sentences import Span

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

    `text` is the real text of the place. `likeness` is 0-100 and no proof of anything.
    """

    span: Span
    text: str
    exact: bool
    likeness: float


def locate(quotation: str, document_text: str) -> Span | None:
    """The exact place of the quotation, or None. Quotes, dashes, spaces and line breaks may be written otherwise.

    Parts around an ellipsis must all stand there, in order and at most 1,000 characters apart; the span then runs
    from the first to the last. Letters, digits and case must be the same.
    """
    return locate_folded(quotation, fold(document_text))


def locate_folded(quotation: str, folded: Folded) -> Span | None:
    """As `locate`, for a document that is folded already."""
    parts = [part for part in _ELLIPSIS.split(fold(quotation).text.strip(_MARKS)) if part.strip(_MARKS + ".,;")]
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
        position = first[0] + 1


def locate_near(quotation: str, document_text: str) -> Located | None:
    """The place that is most like the quotation, with its real text; None when nothing is like it."""
    folded = fold(document_text)
    span = locate_folded(quotation, folded)
    if span is not None:
        return Located(span, document_text[span.start : span.end], True, 100.0)
    # Imported late: only near misses need it.
    from rapidfuzz import fuzz

    wanted = fold(quotation).text.strip(_MARKS)
    if len(wanted) < 8:
        return None
    best = fuzz.partial_ratio_alignment(wanted.lower(), folded.text[:_LOCATE_CHARS].lower(), score_cutoff=_LOCATE_FROM)
    if best is None or best.dest_end <= best.dest_start or len(folded.text.lower()) != len(folded.text):
        return None
    start, end = _whole_words(folded.text, best.dest_start, best.dest_end)
    found = Span(*folded.span(start, end))
    return Located(found, document_text[found.start : found.end], False, best.score)


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
    head = r"(?<!\w)" if words[0][:1].isalnum() else ""
    tail = r"(?!\w)" if words[-1][-1:].isalnum() else ""
    return re.compile(head + r"\s+".join(map(re.escape, words)) + tail)


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    while start > 0 and text[start].isalnum() and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
