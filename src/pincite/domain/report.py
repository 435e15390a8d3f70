"""The report: sentences tied to claims, claims tied to stored passages, references numbered as they appear.

Field names here are the report JSON (`schema_version` 2; docs/exports.md says what is new since 1). A Report that
breaks a rule can't be built: no orphan sentence, no dangling `[n]`, no unsourced summary sentence (invariant 2).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from pincite.domain.budget import Coverage, Metrics
from pincite.domain.citation import Citation, cut_on_word, normalize_citation
from pincite.domain.errors import Internal, NotFound
from pincite.domain.evidence import (
    Check,
    ClaimType,
    ContextPiece,
    EvidencePassage,
    Proof,
    RecordedJudgement,
    Relation,
    VerdictStatus,
    arranged,
)
from pincite.domain.frozen import dataclass
from pincite.domain.layout import Section, Sentence, SentenceKind, broken_layout
from pincite.domain.search import Constraints
from pincite.domain.statements import PARTIAL_MARK

# Counted up when a member of the JSON changes its meaning or goes.
SCHEMA_VERSION = 2


class ClaimMark(StrEnum):
    """What a reader must know about a claim before relying on it; the rules are in docs/research.md."""

    LOW_CONFIDENCE = "low_confidence"
    ONE_SOURCE = "one_source"
    UNRESOLVED = "unresolved"


class ConflictKind(StrEnum):
    """How statements exclude each other."""

    FIGURES = "figures"
    DENIAL = "denial"
    VERSIONS = "versions"
    PREMISE = "premise"


class Mode(StrEnum):
    """Who did the reading and writing."""

    EXTRACTIVE = "extractive"
    MODEL = "model"
    MIXED = "mixed"


class ReportStatus(StrEnum):
    """Whether the report answers the question."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    INSUFFICIENT_EVIDENCE = "insufficient_evidence"


@dataclass(frozen=True, slots=True)
class Summary:
    """The direct answer: claim sentences only, empty when nothing supports one."""

    sentences: tuple[Sentence, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportEvidence:
    """A stored quote of a claim: where it stands and in which capture. Checked anew by `pincite check`."""

    document_id: str
    snapshot_id: str
    body_sha256: str
    url: str
    quote: str
    start: int
    end: int
    prefix: str = ""
    suffix: str = ""
    relation: Relation = Relation.SUPPORTS
    fragment_url: str = ""
    reference_n: int | None = None
    context: tuple[ContextPiece, ...] = ()

    @property
    def passage(self) -> EvidencePassage:
        """The quote in context, as judges get it."""
        return EvidencePassage(self.document_id, self.start, self.end, self.quote, self.context)


class PartStatus(StrEnum):
    """Whether a part of the question is answered."""

    ANSWERED = "answered"
    PARTLY = "partly"
    NOT_HERE = "not_in_these_sources"


@dataclass(frozen=True, slots=True)
class ReportPart:
    """A part of the question and what became of it; `missing` names the piece that no source read has."""

    text: str
    status: PartStatus
    missing: str = ""
    likelihood: float | None = None


@dataclass(frozen=True, slots=True)
class ReportClaim:
    """A verified statement with its verdict, the checks behind it and its quotes.

    `proof` says how it earned its place; of what a judge decided, `judge` names who, `likelihood` how sure, `judgement`
    the entry of `Report.judgements`. `beyond` are the words that its passages do not carry (of a partial one).
    """

    id: str
    text: str
    type: ClaimType
    confidence: float
    verdict: VerdictStatus
    checks: tuple[Check, ...] = ()
    evidence: tuple[ReportEvidence, ...] = ()
    independent_sources: int = 1
    marks: tuple[ClaimMark, ...] = ()
    proof: Proof | None = None
    judge: str = ""
    likelihood: float | None = None
    beyond: str = ""
    judgement: str = ""


@dataclass(frozen=True, slots=True)
class Reference:
    """A numbered entry of the reference list. `url` is canonical, `fetched_url` what was read."""

    n: int
    url: str
    title: str
    accessed_at: datetime
    snapshot_id: str
    excerpt: str
    author: str | None = None
    published_at: datetime | None = None
    fetched_url: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class ReportConflictSide:
    """One side of a conflict with its passages."""

    statement: str
    independent_sources: int
    evidence: tuple[ReportEvidence, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportConflict:
    """Statements that exclude each other; `wording` is "2 independent sources say 398, 1 says 412" where it can be.

    `told`: a sentence of the report says so already, with its sources; it is not listed again below.
    """

    claim_ids: tuple[str, ...]
    sides: tuple[ReportConflictSide, ...]
    kind: ConflictKind = ConflictKind.FIGURES
    wording: str = ""
    told: bool = False


@dataclass(frozen=True, slots=True)
class ReportGap:
    """What the sources did not answer, and what was tried."""

    sub_question: str
    reason: str
    queries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportLead:
    """Found but not read. `about`: what a model takes it to be about, in words of its title and snippet."""

    title: str
    url: str
    snippet: str
    reason: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class RejectedClaim:
    """A proposed claim or sentence that did not pass, and why. `beyond` are the words that nothing carries."""

    text: str
    verdict: VerdictStatus
    why: str
    beyond: str = ""


@dataclass(frozen=True, slots=True)
class FindingCitation:
    """A source of a finding in the smallest useful shape."""

    url: str
    title: str
    snippet: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement with at least one citation."""

    statement: str
    citations: tuple[FindingCitation, ...]


@dataclass(frozen=True, slots=True)
class ClaimCitation:
    """The pages that support a claim, by their addresses, as the report cites them."""

    claim_id: str
    urls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A finished answer. Building one that breaks invariant 2 raises `Internal`.

    `notes` say how the question was read where that is not as it was written. `written_by` names the model that wrote
    the sentences, where one did.
    """

    run_id: str
    report_id: str
    question: str
    title: str
    created_at: datetime
    profile: str
    mode: Mode
    status: ReportStatus
    summary: Summary
    sections: tuple[Section, ...]
    claims: tuple[ReportClaim, ...]
    references: tuple[Reference, ...]
    constraints: Constraints = Constraints()
    conflicts: tuple[ReportConflict, ...] = ()
    gaps: tuple[ReportGap, ...] = ()
    leads: tuple[ReportLead, ...] = ()
    rejected_claims: tuple[RejectedClaim, ...] = ()
    metrics: Metrics = Metrics()
    outline: tuple[str, ...] = ()
    coverage: Coverage = Coverage()
    notes: tuple[str, ...] = ()
    parts: tuple[ReportPart, ...] = ()
    judgements: tuple[RecordedJudgement, ...] = ()
    written_by: str = ""
    version: int = 1
    markdown: str = ""
    schema_version: int = field(default=SCHEMA_VERSION)

    def __post_init__(self) -> None:
        broken = next(broken_rules(self), None)
        if broken is not None:
            raise Internal(f"the report breaks a rule: {broken}", reason="report_rule")

    def sentences(self) -> tuple[Sentence, ...]:
        """All sentences in reading order."""
        return self.summary.sentences + tuple(s for section in self.sections for s in section.sentences)

    def quotes(self) -> Iterator[ReportEvidence]:
        """Every stored quote: those of the claims, then those of the sides of conflicts."""
        yield from (item for claim in self.claims for item in claim.evidence)
        yield from (item for conflict in self.conflicts for side in conflict.sides for item in side.evidence)

    def listed_conflicts(self) -> tuple[ReportConflict, ...]:
        """Those that no sentence tells: they stand below the sections."""
        return tuple(conflict for conflict in self.conflicts if not conflict.told)

    def answered_share(self) -> float:
        """Share of the question's parts that are answered, 0 to 1; a report without parts counts as one part."""
        if not self.parts:
            return float(self.status is ReportStatus.COMPLETE)
        return sum(part.status is PartStatus.ANSWERED for part in self.parts) / len(self.parts)

    def reference(self, n: int) -> Reference:
        """What `[n]` (`citation:n`) stands for. Errors: NotFound (`citation_unknown`)."""
        if not 1 <= n <= len(self.references):
            raise NotFound(f"the report has no reference [{n}]", reason="citation_unknown")
        return self.references[n - 1]

    def citations(self) -> tuple[Citation, ...]:
        """Each source in the one shape of all doors; the excerpt is what is quoted from it first."""
        quotes: dict[int, str] = {}
        for evidence in (one for claim in self.claims for one in claim.evidence):
            if evidence.reference_n is not None:
                quotes.setdefault(evidence.reference_n, evidence.quote)
        return tuple(
            normalize_citation(r.url, r.title, r.accessed_at, quotes.get(r.n, ""), r.published_at)
            for r in self.references
        )

    def claim_citations(self) -> tuple[ClaimCitation, ...]:
        """The addresses behind each claim, in the order of the claims."""
        return tuple(
            ClaimCitation(claim.id, tuple(dict.fromkeys(reference.url for _, reference in self._cited(claim))))
            for claim in self.claims
        )

    def findings(self) -> tuple[Finding, ...]:
        """Every claim once, with its citations (at least one each)."""
        found: list[Finding] = []
        for claim in self.claims:
            citations = (FindingCitation(r.url, r.title, cut_on_word(e.quote)) for e, r in self._cited(claim))
            if unique := tuple(dict.fromkeys(citations)):
                found.append(Finding(claim.text, unique))
        return tuple(found)

    def _cited(self, claim: ReportClaim) -> list[tuple[ReportEvidence, Reference]]:
        """The evidence that carries the claim, with the pages that the report lists for it."""
        carrying = [e for e in claim.evidence if e.relation is not Relation.CONTRADICTS]
        return [(e, self.references[n - 1]) for e in carrying if 1 <= (n := e.reference_n or 0) <= len(self.references)]


# Members of the JSON that repeat others under names that programs look for: their type, and what makes them.
DERIVED: Final[Mapping[str, tuple[Any, Callable[[Report], object]]]] = {
    "topic": (str, lambda report: report.question),
    "citations": (tuple[ClaimCitation, ...], Report.claim_citations),
}


def evidence_of(claims: Iterable[ReportClaim]) -> tuple[EvidencePassage, ...]:
    """The passages that support the claims of a sentence: what its judgement holds for (`evidence_sha256`)."""
    return arranged(e.passage for claim in claims for e in claim.evidence if e.relation is Relation.SUPPORTS)


def broken_rules(report: Report) -> Iterator[str]:
    """Each rule of invariant 2 that `report` breaks, as a sentence; nothing for a sound report."""
    claims = {claim.id: claim for claim in report.claims}
    numbers = tuple(reference.n for reference in report.references)
    if numbers != tuple(range(1, len(numbers) + 1)):
        yield f"references are numbered {numbers}, not 1..{len(numbers)}"
    for sentence in report.summary.sentences:
        if sentence.kind is not SentenceKind.CLAIM:
            yield f"unsourced summary sentence: {sentence.text!r}"
    for sentence in report.sentences():
        yield from _broken_sentence(sentence, claims)
    cited = tuple(dict.fromkeys(n for sentence in report.sentences() for n in sentence.references))
    if cited != numbers:
        yield f"the text cites {cited} but the reference list is {numbers}"
    stated = {claim_id for sentence in report.sentences() for claim_id in sentence.claim_ids}
    stated |= {claim_id for conflict in report.conflicts for claim_id in conflict.claim_ids}
    for claim in report.claims:
        if claim.id not in stated:
            yield f"orphan claim {claim.id}"
    for section in report.sections:
        yield from broken_layout(section, len(numbers))
        used = tuple(dict.fromkeys(n for s in section.sentences for n in s.references))
        if not used:
            yield f"section without a citation: {section.heading!r}"
        if section.citations != used:
            yield f"section {section.heading!r} lists citations {section.citations} but uses {used}"
    if report.outline and report.outline != tuple(section.heading for section in report.sections):
        yield f"the outline {report.outline} is not that of the sections"
    yield from (f"the coverage names the unknown claim {name}" for name in report.coverage.below if name not in claims)


def _broken_sentence(sentence: Sentence, claims: dict[str, ReportClaim]) -> Iterator[str]:
    if sentence.kind is SentenceKind.CONNECTIVE:
        if sentence.claim_ids or sentence.references:
            yield f"connective sentence with citations: {sentence.text!r}"
        if any(character.isdigit() for character in sentence.label + sentence.text):
            yield f"connective sentence with a figure: {sentence.text!r}"
        return
    if not sentence.claim_ids or not sentence.references:
        yield f"orphan sentence: {sentence.text!r}"
    carried: set[int | None] = set()
    for claim_id in sentence.claim_ids:
        claim = claims.get(claim_id)
        if claim is None:
            yield f"sentence states the unknown claim {claim_id}"
            continue
        carried |= {e.reference_n for e in claim.evidence if e.relation is not Relation.CONTRADICTS}
        if claim.verdict not in (VerdictStatus.SUPPORTED, VerdictStatus.PARTIAL):
            yield f"sentence states a claim that is {claim.verdict}: {sentence.text!r}"
        if claim.verdict is VerdictStatus.PARTIAL and not sentence.text.endswith(PARTIAL_MARK):
            yield f"sentence does not say that it is partly supported: {sentence.text!r}"
    for n in sentence.references:
        if n not in carried:
            yield f"[{n}] after {sentence.text!r} carries none of its claims"
