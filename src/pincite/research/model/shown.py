"""Code that stands beside what statements tell, offered to whoever writes and printed word for word.

A writer only says where it stands: the text is a slice of the page, so it needs no judge.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from pincite.domain.evidence import (
    UNRESOLVED,
    Claim,
    Evidence,
    NoteForm,
    Relation,
    Verdict,
    VerdictStatus,
    VerifiedClaim,
)
from pincite.domain.ids import claim_id
from pincite.domain.layout import BlockForm, Excerpt, ExcerptKind, ReportBlock
from pincite.domain.page import BlockKind, Document
from pincite.domain.plan import ReadPage
from pincite.research.assembly import Content, DraftedSection, reference_numbers
from pincite.research.model.evidence import EvidenceBank
from pincite.research.state import within_quotable
from pincite.text.instructions import is_flagged
from pincite.verification.proof import Statement, prove

# Longer listings are read on their page: about as much as a screen shows beside its explanation. Chosen, not measured.
MAX_LINES: Final = 24
MAX_CHARS: Final = 1_600


async def code_beside(
    offered: Mapping[str, VerifiedClaim], bank: EvidenceBank, at: datetime
) -> dict[str, VerifiedClaim]:
    """The code that each statement comes with, by the statement's name; code of several is that of the first.

    It is the block that a quote of the statement lies in, or the one right behind the quote's. Code that is long, that
    speaks to machines as prose does, or that is more than its site allows to be quoted is left out.
    """
    found: dict[str, VerifiedClaim] = {}
    seen: set[tuple[str, int]] = set()
    for name, item in offered.items():
        evidence = next(
            filter(None, (_beside(e, bank) for e in item.claim.evidence if e.relation is Relation.SUPPORTS)), None
        )
        if evidence is None or (evidence.quote.document_id, evidence.quote.start) in seen:
            continue
        page = bank.page(evidence.quote.document_id)
        allowed = within_quotable([_claim_of(item.claim, evidence)], [] if page is None else [page])
        if not allowed:
            continue
        (claim,) = allowed
        passages = bank.passages([claim])
        (proven,) = await prove([Statement(claim.text, passages, bank.text_of(passages))], None, at=at)
        if proven.verdict is not VerdictStatus.SUPPORTED:
            continue
        seen.add((evidence.quote.document_id, evidence.quote.start))
        found[name] = replace(
            item,
            claim=claim,
            independent_sources=1,
            checks=tuple(check for check in item.checks if check.name == UNRESOLVED),
            verdict=Verdict(proven.verdict, score=1.0),
            proof=proven.proof,
            judgement=proven.judgement,
            beyond="",
            seconded=(),
        )
    return found


def _beside(evidence: Evidence, bank: EvidenceBank) -> Evidence | None:
    page = bank.page(evidence.quote.document_id)
    if page is None:
        return None
    document = page.document
    index = document.block_at(evidence.quote.start)
    last = document.block_at(max(evidence.quote.end - 1, evidence.quote.start))
    place = next((at for at in (*range(index, last + 1), last + 1) if _is_code(document, at)), None)
    if place is None:
        return None
    start, text = document.starts[place], document.blocks[place].text
    if not text.strip() or text.count("\n") >= MAX_LINES or len(text) > MAX_CHARS or is_flagged(text):
        return None
    return bank.evidence(bank.in_context(document, start, start + len(text)))


def _is_code(document: Document, index: int) -> bool:
    return index < len(document.blocks) and document.blocks[index].kind is BlockKind.CODE


def _claim_of(told: Claim, evidence: Evidence) -> Claim:
    """The code as a claim of the same part of the question."""
    text = evidence.quote.text
    return replace(
        told,
        claim_id=claim_id(text, told.sub_question),
        text=text,
        evidence=(evidence,),
        form=NoteForm.STATEMENT,
        group="",
        direct=0,
    )


def with_places(content: Content, pages: Iterable[ReadPage]) -> Content:
    """The content, its blocks of code with what is said above them: where they come from."""
    documents = {page.document.document_id: page.document for page in pages}
    numbers = reference_numbers(content)
    return replace(content, sections=tuple(_placed(section, numbers, documents) for section in content.sections))


def _placed(section: DraftedSection, numbers: Mapping[str, int], documents: Mapping[str, Document]) -> DraftedSection:
    blocks: list[ReportBlock] = []
    for block in section.blocks:
        if block.form is BlockForm.EXCERPT and block.excerpt is None:
            (evidence,) = section.lines[block.items[0][0]].items[0].claim.evidence
            document, start = documents[evidence.quote.document_id], evidence.quote.start
            path = tuple(dict.fromkeys(filter(None, (document.title, *document.section_path(start)))))
            language = document.blocks[document.block_at(start)].language
            excerpt = Excerpt(ExcerptKind.CODE, numbers[evidence.url], path, language=language)
            blocks.append(replace(block, excerpt=excerpt))
        else:
            blocks.append(block)
    return replace(section, blocks=tuple(blocks))
