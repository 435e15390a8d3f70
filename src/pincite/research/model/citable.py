"""What of a page may be cited: sentences of its text, rows of its tables, its listings, as spans of the document."""

from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from pincite.domain.page import QUOTED_NOTE, BlockKind, Document
from pincite.domain.page_markdown import CELL_SEPARATOR
from pincite.text.instructions import is_flagged
from pincite.text.sentences import Span, sentences

# A longer line is data; its beginning says what it is.
_LINE_CHARS: Final = 1_200
# A listing of more rows is cut into several passages: about as much as a screen shows. Of 13,311 listings in six
# manuals (PostgreSQL, Python, Git, Postfix, Debian's policy, requests) 148 have more, 438 more than 24.
_CODE_LINES: Final = 40
_CODE_CHARS: Final = 2_400


def citable(document: Document, start: int, end: int) -> list[Span]:
    """Sentences of text, rows of tables, whole listings (long ones in several pieces), as spans of the document.

    Words that are spoken to machines are left out, and those that a mail only quotes: nobody may cite them.
    """
    spans: list[Span] = []
    for block, begin in zip(document.blocks, document.starts, strict=True):
        if begin + len(block.text) <= start or begin >= end or block.kind is BlockKind.HEADING:
            continue
        if block.note == QUOTED_NOTE:
            continue
        if block.kind is BlockKind.CODE:
            found = list(_listings(block.text))
        elif block.kind is BlockKind.TABLE:
            found = _rows(block.text)
        else:
            found = list(sentences(block.text))
        for span in found:
            whole = Span(begin + span.start, begin + min(span.end, span.start + max(_LINE_CHARS, _CODE_CHARS)))
            text = document.text[whole.start : whole.end]
            if start <= whole.start < end and _holds(document, whole) and not is_flagged(text):
                spans.append(whole)
    return spans


def _holds(document: Document, span: Span) -> bool:
    """Whether it has a word that the page does not cross out."""
    left, text = document.standing(span.start, span.end), document.text[span.start : span.end]
    return any(character.isalnum() for character in left) or (left == text and bool(left.strip()))


def _listings(text: str) -> Iterator[Span]:
    """The listing whole, or in runs of so many rows and characters, cut where a blank row ends a definition.

    Half a function is worse than none: it is cut between rows of it only where no blank row is in reach.
    """
    rows = text.split("\n")
    starts = [0, *accumulate(len(row) + 1 for row in rows)]
    first = 0
    while first < len(rows):
        last = first + 1
        while last < min(len(rows), first + _CODE_LINES) and starts[last + 1] - 1 - starts[first] <= _CODE_CHARS:
            last += 1
        if last < len(rows):
            blank = [at for at in range(first + 1, last) if not rows[at].strip()]
            outer = [at for at in blank if rows[at + 1][:1].strip()]
            last = max(outer or blank, default=last - 1) + 1
        if piece := text[starts[first] : starts[last]].rstrip():
            yield Span(starts[first], starts[first] + len(piece))
        first = last


def _rows(text: str) -> list[Span]:
    spans: list[Span] = []
    position = 0
    for row in text.split("\n"):
        told = row
        while told.startswith(CELL_SEPARATOR):  # an empty cell
            told = told.removeprefix(CELL_SEPARATOR)
        if told := told.lstrip():
            spans.append(Span(position + len(row) - len(told), position + len(row.rstrip())))
        position += len(row) + 1
    return spans
