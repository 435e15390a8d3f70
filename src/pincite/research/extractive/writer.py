"""Verified claims to a report: direct answer, sections in reading order, numbered references, what is missing."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pincite.domain.evidence import Evidence, Relation, VerdictStatus, VerifiedClaim
from pincite.domain.ids import report_id
from pincite.domain.markdown import render_markdown
from pincite.domain.plan import Conflict, Gap, Imprint, Progress, ReadPage, Task
from pincite.domain.report import (
    PARTIAL_MARK,
    Metrics,
    Mode,
    Reference,
    RejectedClaim,
    Report,
    ReportClaim,
    ReportConflict,
    ReportConflictSide,
    ReportConstraints,
    ReportEvidence,
    ReportGap,
    ReportLead,
    ReportStatus,
    Section,
    Sentence,
    SentenceKind,
    Summary,
    normalize_citation,
)
from pincite.research.extractive.outline import Draft, draft
from pincite.urls import mask_url, registrable_domain

_TITLE_CHARS = 140
_MAX_LEADS = 10


class ExtractiveWriter:
    """States verified claims in their own words, in an order a person can follow, and nothing else."""

    async def write(self, task: Task, progress: Progress, imprint: Imprint) -> Report:
        """The report; without a claim that holds it is `insufficient_evidence` and says what was searched."""
        drafted = draft(task, progress)
        pages = {page.url: page for page in progress.pages}
        used = _used(drafted, progress.conflicts, progress.claims)
        numbers, references = _number(drafted, pages)
        conflicts = _conflicts(progress.conflicts, used, numbers)
        gaps = _gaps(progress, drafted)
        claims = tuple(_claim(item, numbers) for item in used.values())
        report = Report(
            run_id=imprint.run_id,
            report_id=report_id(imprint.run_id, 1),
            question=task.question.strip(),
            title=_title(task.question),
            created_at=imprint.created_at,
            profile=task.profile,
            mode=Mode.EXTRACTIVE,
            status=_status(drafted, gaps),
            summary=Summary(tuple(_sentence(item, prefix, numbers) for prefix, item in drafted.answer)),
            sections=tuple(_section(heading, items, numbers) for heading, items in drafted.sections),
            claims=claims,
            references=references,
            constraints=_constraints(task),
            conflicts=conflicts,
            gaps=gaps,
            leads=tuple(ReportLead(lead.title, lead.url, lead.snippet, lead.reason) for lead in progress.leads)[
                :_MAX_LEADS
            ],
            rejected_claims=tuple(_rejected(item) for item in progress.claims if not item.printable),
            metrics=_metrics(imprint.metrics, progress, references),
        )
        return replace(report, markdown=render_markdown(report))


def _used(drafted: Draft, conflicts: Sequence[Conflict], claims: Sequence[VerifiedClaim]) -> dict[str, VerifiedClaim]:
    """The claims that are printed, in order of appearance, then those that only a conflict names."""
    items = {item.claim.claim_id: item for _, item in drafted.answer}
    for _, section in drafted.sections:
        items.update({item.claim.claim_id: item for item in section})
    known = {item.claim.claim_id: item for item in claims}
    for conflict in conflicts:
        for side in conflict.sides:
            if side.claim_id in known:
                items.setdefault(side.claim_id, known[side.claim_id])
    return items


def _number(drafted: Draft, pages: dict[str, ReadPage]) -> tuple[dict[str, int], tuple[Reference, ...]]:
    """Reference numbers by page in the order of the text, and the list itself."""
    numbers: dict[str, int] = {}
    references: list[Reference] = []
    printed = [item for _, item in drafted.answer] + [item for _, items in drafted.sections for item in items]
    for item in printed:
        for evidence in _supporting(item):
            if evidence.url not in numbers:
                numbers[evidence.url] = len(numbers) + 1
                references.append(_reference(numbers[evidence.url], pages[evidence.url], evidence))
    return numbers, tuple(references)


def _supporting(item: VerifiedClaim) -> Iterable[Evidence]:
    return (evidence for evidence in item.claim.evidence if evidence.relation is Relation.SUPPORTS)


def _reference(n: int, page: ReadPage, evidence: Evidence) -> Reference:
    document, snapshot = page.document, page.snapshot
    longest = max((e for e in (evidence,)), key=lambda e: len(e.quote.text))
    citation = normalize_citation(
        page.url, document.title or page.url, snapshot.fetched_at, longest.quote.text, document.published_at
    )
    note = "; ".join(part for part in (snapshot.note, "date unknown" if page.undated else "") if part)
    return Reference(
        n=n,
        url=page.url,
        title=citation.title,
        accessed_at=snapshot.fetched_at,
        snapshot_id=snapshot.snapshot_id,
        excerpt=citation.excerpt,
        author=document.byline or None,
        published_at=document.published_at,
        fetched_url=fetched_url if (fetched_url := mask_url(snapshot.final_url)) != page.url else "",
        note=note,
    )


def _sentence(item: VerifiedClaim, prefix: str, numbers: dict[str, int]) -> Sentence:
    text = prefix + item.claim.text
    if item.verdict.status is VerdictStatus.PARTIAL:
        text = f"{text} {PARTIAL_MARK}"
    marks = tuple(dict.fromkeys(numbers[evidence.url] for evidence in _supporting(item)))
    return Sentence(text, SentenceKind.CLAIM, (item.claim.claim_id,), marks)


def _section(heading: str, items: Sequence[VerifiedClaim], numbers: dict[str, int]) -> Section:
    sentences = tuple(_sentence(item, "", numbers) for item in items)
    return Section(heading, sentences, tuple(dict.fromkeys(n for s in sentences for n in s.references)))


def _report_evidence(evidence: Evidence, numbers: dict[str, int]) -> ReportEvidence:
    quote = evidence.quote
    return ReportEvidence(
        document_id=quote.document_id,
        snapshot_id=evidence.snapshot_id,
        body_sha256=evidence.body_sha256,
        url=evidence.url,
        quote=quote.text,
        start=quote.start,
        end=quote.end,
        prefix=quote.prefix,
        suffix=quote.suffix,
        relation=evidence.relation,
        fragment_url=evidence.fragment_url,
        reference_n=numbers.get(evidence.url),
    )


def _claim(item: VerifiedClaim, numbers: dict[str, int]) -> ReportClaim:
    claim = item.claim
    return ReportClaim(
        id=claim.claim_id,
        text=claim.text,
        type=claim.type,
        confidence=claim.confidence,
        verdict=item.verdict.status,
        checks=item.checks,
        evidence=tuple(_report_evidence(evidence, numbers) for evidence in claim.evidence),
        independent_sources=item.independent_sources,
    )


def _conflicts(
    conflicts: Sequence[Conflict], used: dict[str, VerifiedClaim], numbers: dict[str, int]
) -> tuple[ReportConflict, ...]:
    made = []
    for conflict in conflicts:
        sides = tuple(
            ReportConflictSide(
                side.statement,
                side.independent_sources,
                tuple(_report_evidence(evidence, numbers) for evidence in used[side.claim_id].claim.evidence)
                if side.claim_id in used
                else (),
            )
            for side in conflict.sides
        )
        if conflict.premise:
            sides = (ReportConflictSide(f"The question takes for granted: {conflict.premise}", 0), *sides)
        ids = tuple(side.claim_id for side in conflict.sides if side.claim_id in used)
        made.append(ReportConflict(ids, sides))
    return tuple(made)


def _gaps(progress: Progress, drafted: Draft) -> tuple[ReportGap, ...]:
    gaps = [*progress.gaps, *drafted.gaps]
    if progress.capped_by:
        gaps.append(
            Gap("", f"the search ended at its cap on {progress.capped_by}; more may be found with a higher one")
        )
    tried = {part.text: tuple(query.text for query in part.queries) for part in progress.plan.sub_questions}
    return tuple(
        ReportGap(gap.sub_question, gap.reason, gap.queries or tried.get(gap.sub_question, ())) for gap in gaps
    )


def _status(drafted: Draft, gaps: Sequence[ReportGap]) -> ReportStatus:
    if not drafted.answer:
        return ReportStatus.INSUFFICIENT_EVIDENCE
    return ReportStatus.PARTIAL if gaps else ReportStatus.COMPLETE


def _rejected(item: VerifiedClaim) -> RejectedClaim:
    return RejectedClaim(item.claim.text, item.verdict.status, "; ".join(item.verdict.reasons))


def _constraints(task: Task) -> ReportConstraints:
    limits = task.constraints
    return ReportConstraints(
        include_domains=limits.include_domains,
        prefer_domains=limits.prefer_domains,
        exclude_domains=limits.exclude_domains,
        per_domain_cap=limits.per_domain_cap,
        since=None if limits.since is None else limits.since.isoformat(),
        until=None if limits.until is None else limits.until.isoformat(),
        language=limits.language,
    )


def _metrics(metrics: Metrics, progress: Progress, references: Sequence[Reference]) -> Metrics:
    owners = {r.url if r.url.startswith("local:") else registrable_domain(r.url) for r in references}
    return replace(
        metrics,
        sources_count=len(references),
        domain_diversity=round(len(owners) / len(references), 3) if references else 0.0,
        claims_checked=len(progress.claims),
        claims_total=sum(item.printable for item in progress.claims),
    )


def _title(question: str) -> str:
    line = " ".join(question.split())
    return line if len(line) <= _TITLE_CHARS else line[: _TITLE_CHARS - 1].rsplit(" ", 1)[0] + "…"
