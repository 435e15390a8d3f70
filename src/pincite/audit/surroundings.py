"""What stands around a quote on its page, then and now."""

from collections.abc import Iterator

from pincite.domain.evidence import CONTEXT_CHARS, ContextRole, EvidencePassage
from pincite.domain.page import Document
from pincite.domain.report import ReportEvidence
from pincite.text.context import context_of, is_whole, passage_in_context, units_of
from pincite.text.normalise import fold

_NEAR_BLOCKS = 2
"""How many blocks before and after a quote may change what it means: a note under it, a line that introduces it."""
_FIRST_BLOCKS = 3
"""So many blocks at the top of a page may speak of all of it: "RETRACTED", "This page is a hoax"."""
_MOST_NEW = 6
"""New passages that a judge is shown beside the quote."""


def changes(evidence: ReportEvidence, old: Document | None, page: Document, start: int, end: int) -> str:
    """What changed around a quote that stands at `[start, end)` of the page today, in words; empty when nothing did."""
    found = list(_changed_context(evidence, old, page, start, end))
    if old is None:
        prefix, suffix = page.text[max(0, start - CONTEXT_CHARS) : start], page.text[end : end + CONTEXT_CHARS]
        if (_flat(prefix), _flat(suffix)) != (_flat(evidence.prefix), _flat(evidence.suffix)):
            found.append("the words before or after it")
    else:
        if is_whole(old, evidence.start, evidence.end) and not is_whole(page, start, end):
            found.append("the sentence it is in")
        found += [f"new there: “{_short(page, index)}”" for index in _new_blocks(old, page, start, end)]
    return f"changed around it: {'; '.join(dict.fromkeys(found))}" if found else ""


def around(page: Document, start: int, end: int, old: Document | None) -> tuple[EvidencePassage, ...]:
    """The passage at that place in its context, and what is new near it or at the top of the page."""
    start, end = _whole_sentences(page, start, end)
    passages = [passage_in_context(page, start, end)]
    fresh = _new_blocks(old, page, start, end) if old is not None else _near(page, start, end)
    spans = [span for index in fresh for span in units_of(page, index)][:_MOST_NEW]
    passages += [passage_in_context(page, span.start, span.end) for span in spans if not start <= span.start < end]
    return tuple(passages)


def _whole_sentences(page: Document, start: int, end: int) -> tuple[int, int]:
    """The span widened to the sentences it touches: "A hoax said" may stand before it in the same one."""
    touched = [
        span
        for index in range(page.block_at(start), page.block_at(max(end - 1, start)) + 1)
        for span in units_of(page, index)
        if span.start < end and start < span.end
    ]
    return min([start, *(span.start for span in touched)]), max([end, *(span.end for span in touched)])


def _changed_context(
    evidence: ReportEvidence, old: Document | None, page: Document, start: int, end: int
) -> Iterator[str]:
    """The roles of which the page says something else today."""
    before = context_of(old, evidence.start, evidence.end) if old is not None else evidence.context
    if old is None and not before:
        return
    now = context_of(page, start, end)
    for role in ContextRole:
        then, today = ([_flat(piece.text) for piece in pieces if piece.role is role] for pieces in (before, now))
        if then != today:
            yield "the rest of its paragraph" if role is ContextRole.AROUND else f"its {role.value.replace('_', ' ')}"


def _new_blocks(old: Document, page: Document, start: int, end: int) -> list[int]:
    """The blocks near the quote, and those at the top of the page, that were not on the page before."""
    known = {_flat(block.text) for block in old.blocks}
    return [index for index in _near(page, start, end) if _flat(page.blocks[index].text) not in known]


def _near(page: Document, start: int, end: int) -> list[int]:
    first, last = page.block_at(start), page.block_at(max(end - 1, start))
    near = {*range(first - _NEAR_BLOCKS, first), *range(last + 1, last + 1 + _NEAR_BLOCKS), *range(_FIRST_BLOCKS)}
    return sorted(index for index in near if 0 <= index < len(page.blocks) and not first <= index <= last)


def _short(page: Document, index: int) -> str:
    text = " ".join(page.blocks[index].text.split())
    return text if len(text) <= 80 else text[:79].rsplit(" ", 1)[0] + "…"


def _flat(text: str) -> str:
    return " ".join(fold(text).text.split())
