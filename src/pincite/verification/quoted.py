"""Whether a sentence is in its source's own words: slices of one page, joined only by what changes nothing."""

import re
from collections.abc import Iterator, Sequence

from pincite.domain.evidence import ContextRole, EvidencePassage, arranged
from pincite.text.normalise import fold
from pincite.text.sentences import sentences

_END_MARKS = " .!?;:"
# In place of a sentence with words that the page crosses out: nobody quotes it as it stands.
_STRUCK = "\0"
_LEADS = frozenset({ContextRole.TITLE, ContextRole.HEADING, ContextRole.TERM, ContextRole.LIST_INTRO})
_JOINTS = (": ", " - ", ". ", " ")
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
        for joint in _JOINTS:
            if lead and wanted.startswith(lead + joint):
                yield wanted[len(lead) + len(joint) :].strip(_END_MARKS)


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
    struck = [piece for piece in passage.context if piece.role is ContextRole.STRUCK and piece.start is not None]
    for span in sentences(passage.text):
        low, high = passage.start + span.start, passage.start + span.end
        if any((piece.start or 0) < high and (piece.end or 0) > low for piece in struck):
            yield _STRUCK
        else:
            yield from map(_plain, passage.text[span.start : span.end].split("\n"))


def _plain(text: str) -> str:
    return " ".join(fold(text).text.split()).strip(_END_MARKS)
