"""What a writer wants to say, as a report: numbered references, quotes, conflicts, gaps, metrics."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pincite.domain.budget import Coverage, Metrics
from pincite.domain.citation import cut_on_word, normalize_citation, told_apart
from pincite.domain.evidence import Evidence, Proof, RecordedJudgement, Relation, VerdictStatus, VerifiedClaim
from pincite.domain.frozen import dataclass
from pincite.domain.ids import report_id
from pincite.domain.layout import ReportBlock, Section, SectionKind, Sentence, SentenceKind, apart, code_in, names_in
from pincite.domain.markdown import render_markdown
from pincite.domain.page import MarkKind
from pincite.domain.plan import Conflict, Gap, Progress, ReadPage, ReportMetadata, Task
from pincite.domain.report import (
    ClaimMark,
    Mode,
    PartStatus,
    Reference,
    RejectedClaim,
    Report,
    ReportClaim,
    ReportEvidence,
    ReportGap,
    ReportLead,
    ReportPart,
    ReportStatus,
    Summary,
)
from pincite.domain.report_words import OLDER_COPY, UNDATED
from pincite.domain.statements import (
    LOW_CONFIDENCE_LABEL,
    ONE_SOURCE_MARK,
    ONE_SOURCE_NOTE,
    PARTIAL_MARK,
    UNRESOLVED_MARK,
)
from pincite.research.state import LOW_CONFIDENCE, was_asked
from pincite.research.tidying import conflicts_once, printed_conflicts, sections_once
from pincite.text.context import context_of
from pincite.text.fragments import fragment_url
from pincite.urls import mask_secrets, registrable_domain

# A heading of two lines.
_TITLE_CHARS = 140
# What was found and not read, for a reader who goes on by hand; the rest is in the events.
_MAX_LEADS = 10
# Caps that are met before a round (`ResearchService._cap_met`); others break one off.
_BETWEEN_ROUNDS = frozenset({"pages", "searches"})
CLOSING_HEADINGS = {
    SectionKind.KEY_NUMBERS: "Key numbers",
    SectionKind.RISKS: "Risks and limits",
    SectionKind.CONCLUSION: "What the pages conclude",
    SectionKind.UNCERTAIN: "What is uncertain",
}
# Independent sources from which on a claim counts as covered by several.
WANTED_SOURCES = 2


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence to print, without its marks, and the verified claims it states.

    `label` says of which version of a page it holds; `opens` starts a new paragraph. `proof` and `judgement` are those
    of the line itself; a line that is the text of its one claim has that claim's. `marked` are what tells most, the
    first `lead` characters say what it is about, `code` are spans that are set as code.
    """

    text: str
    items: tuple[VerifiedClaim, ...]
    label: str = ""
    opens: bool = False
    proof: Proof | None = None
    judgement: RecordedJudgement | None = None
    marked: tuple[tuple[int, int], ...] = ()
    lead: int = 0
    code: tuple[tuple[int, int], ...] = ()

    @property
    def proven(self) -> tuple[Proof | None, RecordedJudgement | None]:
        """How the line was proven, and the judgement behind it."""
        if self.proof is None and len(self.items) == 1 and self.items[0].claim.text == self.text:
            return self.items[0].proof, self.items[0].judgement
        return self.proof, self.judgement


@dataclass(frozen=True, slots=True)
class DraftedSection:
    """A headed section to be. `blocks` lay its lines out (`layout.ReportBlock`); without any they are paragraphs."""

    heading: str
    lines: tuple[Line, ...]
    kind: SectionKind = SectionKind.FINDINGS
    blocks: tuple[ReportBlock, ...] = ()


@dataclass(frozen=True, slots=True)
class Content:
    """What a report will say: the direct answer, headed sections, what is missing, what was not printed and why.

    Sections that close it (key numbers, risks, what is uncertain) without a heading get the usual one. `gaps` and
    `rejected` are those besides the gaps and claims of the run; `parts` say what became of each part of the question.
    `written_by` names the model that wrote the lines, `code_names` what is code in all of them.
    """

    answer: tuple[Line, ...] = ()
    sections: tuple[DraftedSection, ...] = ()
    gaps: tuple[Gap, ...] = ()
    parts: tuple[ReportPart, ...] = ()
    rejected: tuple[RejectedClaim, ...] = ()
    written_by: str = ""
    code_names: tuple[str, ...] = ()

    def lines(self) -> Iterator[Line]:
        """All lines in reading order."""
        yield from self.answer
        yield from (line for section in self.sections for line in section.lines)

    def printed(self) -> Iterable[VerifiedClaim]:
        """The claims that are stated, in reading order."""
        return (item for line in self.lines() for item in line.items)


def assemble(task: Task, progress: Progress, metadata: ReportMetadata, content: Content, *, mode: Mode) -> Report:
    """The report that says `content`; without a sentence that holds it is `insufficient_evidence`."""
    pages = {page.url: page for page in progress.pages}
    progress = replace(progress, conflicts=conflicts_once(progress.conflicts, progress.claims, pages))
    used = _used(content, progress.conflicts, progress.claims)
    references = _references(content, pages)
    numbers = {reference.url: reference.n for reference in references}
    gaps = _gaps(progress, content)
    higher = f"more may be found with a higher cap on {progress.capped_by}"
    # A model that missed something had its second look: beside what it says is missing the cap tells a reader nothing.
    capped = (ReportGap("", higher),) if progress.capped_by and not (gaps and mode is Mode.MODEL) else ()
    coverage = _coverage(tuple(used.values()), metadata.wanted_share)
    all_below = bool(used) and len(coverage.below) == len(used)
    said = _Wording(pages, numbers, frozenset(coverage.below), content.code_names, said_once=all_below)
    sections = sections_once(map(said.section, content.sections))
    claims = tuple(_claim(item, said, pages) for item in used.values())
    refused = (
        RejectedClaim(item.claim.text, item.verdict.status, "; ".join(item.verdict.reasons), item.beyond)
        for item in progress.claims
        if not item.printable
    )
    # Excerpts are printed as their sources have them, whatever style was asked for.
    wishes = [wish for wish in task.style.unusual if wish != "length"] if mode is Mode.EXTRACTIVE else []
    listed = " and ".join(filter(None, (", ".join(wishes[:-1]), *wishes[-1:])))
    unheeded = (f"No language model wrote this report: {listed} had no effect.",) if wishes else ()
    report = Report(
        run_id=metadata.run_id,
        report_id=report_id(metadata.run_id, 1),
        question=task.question.strip(),
        title=cut_on_word(task.question, _TITLE_CHARS),
        created_at=metadata.created_at,
        profile=task.profile,
        mode=mode,
        # That no further round was made says nothing of parts that are answered; a round that was broken off does.
        status=_status(content, gaps if progress.capped_by in _BETWEEN_ROUNDS else (*gaps, *capped), progress),
        summary=Summary(tuple(said.sentence(line) for line in content.answer)),
        sections=sections,
        outline=tuple(section.heading for section in sections),
        claims=claims,
        references=references,
        constraints=task.constraints,
        conflicts=printed_conflicts(progress.conflicts, claims),
        gaps=(*gaps, *capped),
        leads=tuple(ReportLead(x.title, x.url, x.snippet, x.reason, x.about) for x in progress.leads[:_MAX_LEADS]),
        rejected_claims=(*refused, *content.rejected),
        coverage=coverage,
        notes=(*progress.plan.notes, *unheeded, *((ONE_SOURCE_NOTE,) if all_below else ())),
        metrics=_metrics(metadata.metrics, progress, references),
        judgements=_judgements(content, used.values()),
        parts=content.parts,
        written_by=content.written_by,
    )
    return replace(report, markdown=render_markdown(report))


def _judgements(content: Content, items: Iterable[VerifiedClaim]) -> tuple[RecordedJudgement, ...]:
    """The judgements behind the printed lines, claims and second sources, each once."""
    known = [(item.judgement, *item.seconded) for item in items]
    found = [*(line.proven[1] for line in content.lines()), *(judgement for each in known for judgement in each)]
    return tuple({judgement.id: judgement for judgement in found if judgement is not None}.values())


def _used(content: Content, conflicts: Sequence[Conflict], claims: Sequence[VerifiedClaim]) -> dict[str, VerifiedClaim]:
    """The claims that are printed, in order of appearance, then those that only a conflict names."""
    items = {item.claim.claim_id: item for item in content.printed()}
    known = {item.claim.claim_id: item for item in claims}
    for conflict in conflicts:
        for side in conflict.sides:
            if side.claim_id in known:
                items.setdefault(side.claim_id, known[side.claim_id])
    return items


def reference_numbers(content: Content) -> dict[str, int]:
    """The number that each page will have in the report, by address: writers that lay excerpts out name it."""
    urls = dict.fromkeys(evidence.url for item in content.printed() for evidence in _backing(item))
    return {url: number for number, url in enumerate(urls, start=1)}


def _backing(item: VerifiedClaim) -> Iterable[Evidence]:
    return (evidence for evidence in item.claim.evidence if evidence.relation is not Relation.CONTRADICTS)


def _references(content: Content, pages: dict[str, ReadPage]) -> tuple[Reference, ...]:
    """The reference list in the order of the text, each page with the passage that is cited first."""
    first: dict[str, Evidence] = {}
    for item in content.printed():
        for evidence in _backing(item):
            first.setdefault(evidence.url, evidence)
    titles = Counter(pages[url].document.title for url in first)
    return tuple(
        _reference(n, pages[url], evidence, is_shared=titles[pages[url].document.title] > 1)
        for n, (url, evidence) in enumerate(first.items(), start=1)
    )


def _reference(n: int, page: ReadPage, evidence: Evidence, *, is_shared: bool) -> Reference:
    document, snapshot = page.document, page.snapshot
    title = document.title or page.url
    if is_shared:
        title = told_apart(document.title, (entry.title for entry in document.outline)) or page.url
    citation = normalize_citation(page.url, title, snapshot.fetched_at, evidence.quote.text, document.published_at)
    marks = (UNDATED if page.undated else "", OLDER_COPY if page.stale else "")
    note = "; ".join(part for part in (snapshot.note, *marks) if part)
    return Reference(
        n=n,
        url=page.url,
        title=citation.title,
        accessed_at=snapshot.fetched_at,
        snapshot_id=snapshot.snapshot_id,
        excerpt=citation.excerpt,
        author=document.byline or None,
        published_at=document.published_at,
        fetched_url=fetched_url if (fetched_url := mask_secrets(snapshot.final_url)) != page.url else "",
        note=note,
    )


@dataclass(frozen=True, slots=True)
class _Wording:
    """How lines are printed: reference numbers by page, the claims with fewer sources than were wanted, code names.

    `said_once`: that claims have one source is said of the whole report, and not behind each sentence.
    """

    pages: dict[str, ReadPage]
    numbers: dict[str, int]
    below: frozenset[str]
    code_names: tuple[str, ...]
    said_once: bool

    def marks(self, item: VerifiedClaim) -> tuple[ClaimMark, ...]:
        low = (ClaimMark.LOW_CONFIDENCE,) if item.claim.confidence < LOW_CONFIDENCE else ()
        one = (ClaimMark.ONE_SOURCE,) if item.claim.claim_id in self.below else ()
        return (*low, *one, ClaimMark.UNRESOLVED) if item.unresolved else (*low, *one)

    def sentence(self, line: Line, kind: SectionKind = SectionKind.FINDINGS, *, is_code: bool = False) -> Sentence:
        """The line as printed. Code gets no marks: they would stand in it; its claims carry them."""
        marks = [self.marks(item) for item in line.items]
        text, (proof, judgement) = line.text, line.proven
        # A source's own words are printed as they stand; how likely they answer is said of their part.
        low = proof is not Proof.QUOTED and bool(marks) and all(ClaimMark.LOW_CONFIDENCE in found for found in marks)
        if low and kind is not SectionKind.UNCERTAIN:  # there the heading says so
            text = LOW_CONFIDENCE_LABEL + text
        if not is_code and not self.said_once and any(ClaimMark.ONE_SOURCE in found for found in marks):
            text = f"{text} {ONE_SOURCE_MARK}"
        if not is_code and any(ClaimMark.UNRESOLVED in found for found in marks):
            text = f"{text} {UNRESOLVED_MARK}"
        if any(item.verdict.status is VerdictStatus.PARTIAL for item in line.items):
            text = f"{text} {PARTIAL_MARK}"
        states = SentenceKind.CLAIM if line.items else SentenceKind.CONNECTIVE
        cited = tuple(sorted({self.numbers[e.url] for item in line.items for e in _backing(item)}))
        ids = tuple(item.claim.claim_id for item in line.items)
        judged = "" if judgement is None else judgement.id
        lead, own = (line.lead, line.code) if text.startswith(line.text) else (0, ())
        names = (*self.code_names, *(self._set_as_code(line) if proof is Proof.QUOTED else ()))
        code = () if is_code else apart((*own, *names_in(text, names)))
        struck = apart(span for item in line.items for span in item.claim.struck_in(text))
        return Sentence(
            text, states, ids, cited, line.label, line.opens, proof, judged, line.marked, code, lead, struck
        )

    def _set_as_code(self, line: Line) -> Iterator[str]:
        """The names that the pages set as code in the passages that a line quotes."""
        for evidence in (one for item in line.items for one in _backing(item)):
            document = self.pages[evidence.url].document if evidence.url in self.pages else None
            if document is None or document.document_id != evidence.quote.document_id:
                continue
            for mark in document.marks_in(evidence.quote.start, evidence.quote.end, (MarkKind.CODE,)):
                name = document.text[mark.start : mark.end].strip()
                if name and "[" not in name and "\n" not in name:
                    yield name

    def section(self, part: DraftedSection) -> Section:
        code = code_in(part.blocks)
        sentences = tuple(
            self.sentence(line, part.kind, is_code=index in code) for index, line in enumerate(part.lines)
        )
        cited = tuple(dict.fromkeys(n for s in sentences for n in s.references))
        blocks: list[ReportBlock] = []
        for block in part.blocks:
            # The code names that its header and its rows have.
            names, known = (*block.header, *block.rows), (*block.code, *self.code_names)
            found = [name[slice(*span)] for name in names for span in names_in(name, known)]
            blocks.append(replace(block, code=tuple(dict.fromkeys(found))) if found else block)
        return Section(part.heading or CLOSING_HEADINGS[part.kind], sentences, cited, part.kind, tuple(blocks))


def _coverage(items: Sequence[VerifiedClaim], wanted_share: float | None) -> Coverage:
    """How many claims rest on two independent sources; where fewer than wanted do, the others are named."""
    several = sum(item.independent_sources >= WANTED_SOURCES for item in items)
    missed = wanted_share is not None and several < wanted_share * len(items)
    below = tuple(item.claim.claim_id for item in items if missed and item.independent_sources < WANTED_SOURCES)
    return Coverage(len(items), several, wanted_share, WANTED_SOURCES, below)


def _report_evidence(evidence: Evidence, numbers: dict[str, int], pages: dict[str, ReadPage]) -> ReportEvidence:
    quote, link, context = evidence.quote, evidence.fragment_url, evidence.context
    page = pages[evidence.url].document if evidence.url in pages else None
    if page is not None and not link and evidence.url.startswith(("http://", "https://")):
        # It opens the page at the passage; empty where the same words stand there twice.
        link = fragment_url(evidence.url, page.text, quote.start, quote.end)
    if page is not None and not context and page.document_id == quote.document_id:
        context = context_of(page, quote.start, quote.end)
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
        fragment_url=link,
        reference_n=numbers.get(evidence.url),
        context=context,
    )


def _claim(item: VerifiedClaim, said: _Wording, pages: dict[str, ReadPage]) -> ReportClaim:
    claim = item.claim
    return ReportClaim(
        id=claim.claim_id,
        text=claim.text,
        type=claim.type,
        confidence=claim.confidence,
        verdict=item.verdict.status,
        checks=item.checks,
        evidence=tuple(_report_evidence(evidence, said.numbers, pages) for evidence in claim.evidence),
        independent_sources=item.independent_sources,
        marks=said.marks(item),
        proof=item.proof,
        judge=item.judgement.judge if item.judgement is not None else "",
        likelihood=item.judgement.likelihood if item.judgement is not None else None,
        beyond=item.beyond,
        judgement=item.judgement.id if item.judgement is not None else "",
    )


def _gaps(progress: Progress, content: Content) -> tuple[ReportGap, ...]:
    """The gaps with the queries that were sent for them: a plan may have more."""
    tried = {part.text: tuple(query.text for query in part.queries) for part in progress.plan.sub_questions}
    made = []
    for gap in (*progress.gaps, *content.gaps):
        planned = gap.queries or tried.get(gap.sub_question, ())
        sent = tuple(query for query in planned if was_asked(query, progress))
        made.append(ReportGap(gap.sub_question, gap.reason, sent))
    return tuple(made)


def _status(content: Content, gaps: Sequence[ReportGap], progress: Progress) -> ReportStatus:
    """What nobody asked for takes nothing from the answer where it is missing; it is listed all the same."""
    here = any(part.status is not PartStatus.NOT_HERE for part in content.parts) and content.sections
    if not content.answer and not here:
        return ReportStatus.INSUFFICIENT_EVIDENCE
    added = {part.text for part in progress.plan.sub_questions if part.added}
    missing = any(gap.sub_question not in added for gap in gaps) or any(
        part.status is not PartStatus.ANSWERED for part in content.parts
    )
    return ReportStatus.PARTIAL if missing else ReportStatus.COMPLETE


def _metrics(metrics: Metrics, progress: Progress, references: Sequence[Reference]) -> Metrics:
    owners = {registrable_domain(reference.url) for reference in references}
    return replace(
        metrics,
        sources_count=len(references),
        domain_diversity=round(len(owners) / len(references), 3) if references else 0.0,
        claims_checked=len(progress.claims),
        claims_total=sum(item.printable for item in progress.claims),
    )
