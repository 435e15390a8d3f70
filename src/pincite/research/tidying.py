"""What several rounds, parts and pages said twice, put together once: conflicts and sections, newest first."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from pincite.domain.evidence import VerifiedClaim
from pincite.domain.layout import BlockForm, ReportBlock, Section, SectionKind, Sentence
from pincite.domain.plan import Conflict, ReadPage
from pincite.domain.report import ReportClaim, ReportConflict, ReportConflictSide

_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_FIGURE: Final = re.compile(r"\d+(?:[.,]\d+)*")


def conflicts_once(
    conflicts: Sequence[Conflict], claims: Iterable[VerifiedClaim], pages: Mapping[str, ReadPage]
) -> tuple[Conflict, ...]:
    """Each conflict once, the newer side first where as many sources stand behind both.

    Two conflicts are one when the same statements stand against each other, or statements about the same part of the
    question that differ in the same figures: "41 m" against "38 m" is one conflict however many pages say either.
    """
    by_id = {item.claim.claim_id: item for item in claims}
    kept: dict[object, Conflict] = {}
    for conflict in conflicts:
        kept.setdefault(_conflict_key(conflict, by_id), conflict)
    return tuple(_newest_first(conflict, by_id, pages) for conflict in kept.values())


def _conflict_key(conflict: Conflict, claims: Mapping[str, VerifiedClaim]) -> object:
    texts = [claims[side.claim_id].claim.text if side.claim_id in claims else side.statement for side in conflict.sides]
    figures = [frozenset(_FIGURE.findall(text)) for text in texts]
    common = frozenset.intersection(*figures) if figures else frozenset()
    apart = frozenset(found - common for found in figures)
    parts = frozenset(claims[side.claim_id].claim.sub_question for side in conflict.sides if side.claim_id in claims)
    if len(apart) > 1 and all(apart):
        return conflict.premise, parts, apart
    return conflict.premise, frozenset(" ".join(text.casefold().split()) for text in texts)


def _newest_first(conflict: Conflict, claims: Mapping[str, VerifiedClaim], pages: Mapping[str, ReadPage]) -> Conflict:
    """The conflict with sides of equal weight by date; a wording that counts them off in their order keeps it."""
    if conflict.wording:
        return conflict
    dates = [_date(claims.get(side.claim_id), pages) for side in conflict.sides]
    if None in dates:
        return conflict
    dated = zip(conflict.sides, dates, strict=True)
    newest = sorted(dated, key=lambda pair: (pair[0].independent_sources, pair[1] or _NEVER), reverse=True)
    return replace(conflict, sides=tuple(side for side, _ in newest))


def _date(item: VerifiedClaim | None, pages: Mapping[str, ReadPage]) -> datetime | None:
    """When the newest page behind a claim was published."""
    read = [pages[e.url].document for e in item.claim.evidence if e.url in pages] if item is not None else []
    dates = [date for date in (document.modified_at or document.published_at for document in read) if date is not None]
    return max(dates, default=None)


def printed_conflicts(conflicts: Sequence[Conflict], claims: Sequence[ReportClaim]) -> tuple[ReportConflict, ...]:
    """The conflicts as a report has them, each with its claims; what the question takes for granted is a side."""
    known = {claim.id: claim.evidence for claim in claims}
    made = []
    for conflict in conflicts:
        sides = tuple(
            ReportConflictSide(side.statement, side.independent_sources, known.get(side.claim_id, ()))
            for side in conflict.sides
        )
        if conflict.premise:
            sides = (ReportConflictSide(f"The question takes for granted: {conflict.premise}", 0), *sides)
        ids = tuple(side.claim_id for side in conflict.sides if side.claim_id in known)
        made.append(ReportConflict(ids, sides, conflict.kind, conflict.wording, conflict.told))
    return tuple(made)


def sections_once(sections: Iterable[Section]) -> tuple[Section, ...]:
    """Sections of the same kind under the same heading as one, where the first stands."""
    found: dict[tuple[SectionKind, str], Section] = {}
    for section in sections:
        key = (section.kind, " ".join(section.heading.casefold().split()))
        first = found.get(key)
        found[key] = section if first is None else _joined(first, section)
    return tuple(found.values())


def _joined(first: Section, then: Section) -> Section:
    opened = (replace(then.sentences[0], opens=True), *then.sentences[1:]) if then.sentences else ()
    joined = replace(
        first,
        sentences=(*first.sentences, *opened),
        citations=tuple(dict.fromkeys((*first.citations, *then.citations))),
    )
    if not (first.blocks or then.blocks):
        return joined
    offset = len(first.sentences)
    moved = (
        replace(block, items=tuple(tuple(index + offset for index in item) for item in block.items))
        for block in then.blocks or _paragraphs(opened)
    )
    return replace(joined, blocks=(*(first.blocks or _paragraphs(first.sentences)), *moved))


def _paragraphs(sentences: Sequence[Sentence]) -> tuple[ReportBlock, ...]:
    """The blocks of sentences that nothing lays out: a paragraph begins where one opens."""
    starts = [index for index, sentence in enumerate(sentences) if sentence.opens or index == 0]
    ends = [*starts[1:], len(sentences)]
    spans = zip(starts, ends, strict=True)
    return tuple(ReportBlock(BlockForm.PARAGRAPH, (tuple(range(start, end)),)) for start, end in spans)
