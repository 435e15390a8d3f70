"""The judged sentences of a stored report before a judge again, with their passages as the stored pages have them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from pincite.audit.check import CheckResult, placed_sentences, status_of
from pincite.audit.proofs import NOT_ON_RECORD, passages_of, verdict_printed
from pincite.audit.stored import Problem, ProblemKind, StoredPages, failed, unchecked
from pincite.domain.codec import from_json
from pincite.domain.errors import Internal, ParseError
from pincite.domain.events import Json
from pincite.domain.evidence import Proof, VerdictStatus
from pincite.domain.frozen import dataclass
from pincite.domain.layout import SentenceKind
from pincite.domain.page import Document
from pincite.domain.report import Report
from pincite.ports import EvidenceSource, Judge
from pincite.verification.proof import Proven, Statement, prove


@dataclass(frozen=True, slots=True)
class ToJudge:
    """A printed sentence, where it is, and the verdict it is printed with; None for one that cites nothing."""

    where: str
    statement: Statement
    printed: VerdictStatus | None


def to_judge(raw: Mapping[str, Json], evidence: EvidenceSource) -> tuple[ToJudge, ...]:
    """The sentences of a report that somebody judged, or that nobody did though they are not quoted."""
    try:
        report = from_json(Report, dict(raw))
    except (ParseError, Internal):
        return ()  # what is wrong with it is told by the check
    pages = StoredPages(evidence, None)
    for claim in report.claims:
        for item in claim.evidence:
            list(pages.item("", item))
    claims = {claim.id: claim for claim in report.claims}
    found: list[ToJudge] = []
    for place in placed_sentences(report.summary, report.sections):
        sentence = place.sentence
        if sentence.kind is SentenceKind.CONNECTIVE:
            if sentence.judgement:
                found.append(ToJudge(place.where, Statement(place.statement), None))
            continue
        named = [claims[name] for name in sentence.claim_ids]
        passages = passages_of(pages.of, named)
        if sentence.proof is Proof.QUOTED or passages is None:
            continue
        stored = (pages.of(item) for claim in named for item in claim.evidence)
        texts = dict.fromkeys(page.text for page in stored if isinstance(page, Document))
        premises = tuple(claim.text for claim in named) if sentence.proof is Proof.DERIVED else ()
        statement = Statement(
            place.statement, passages, tuple(texts), premises, is_code=place.is_code, examples=place.examples
        )
        found.append(ToJudge(place.where, statement, verdict_printed(sentence.text)))
    return tuple(found)


async def judged_again(result: CheckResult, items: Sequence[ToJudge], judge: Judge, *, at: datetime) -> CheckResult:
    """The result with what the judge says of the sentences today. Errors: as `prove`."""
    proven = await prove([item.statement for item in items], judge, at=at)
    problems = [p for item, found in zip(items, proven, strict=True) if (p := _problem(item, found, judge.name))]
    settled = {f"{item.where}.text" for item in items} - {problem.where for problem in problems}
    kept = [
        problem
        for problem in result.problems
        if not (problem.kind is ProblemKind.UNCHECKED and problem.what == NOT_ON_RECORD and problem.where in settled)
    ]
    everything = (*kept, *problems)
    return replace(result, status=status_of(everything), problems=everything, judged_again=judge.name, again=len(items))


def _problem(item: ToJudge, proven: Proven, judge: str) -> Problem | None:
    """What is wrong when the judge does not say what is printed."""
    where = f"{item.where}.text"
    if item.printed is None:
        if proven.nothing_to_check:
            return None
        if proven.judgement is None:
            return unchecked(where, f"{judge} did not judge it again: {proven.reason}")
        return failed(where, f"cites nothing, and {judge} does not say that it states nothing")
    if proven.verdict is VerdictStatus.SUPPORTED or proven.verdict is item.printed is VerdictStatus.PARTIAL:
        return None
    if proven.verdict is VerdictStatus.UNCHECKED:
        return unchecked(where, f"{judge} did not judge it again: {proven.reason}")
    return failed(where, f"{judge} judges it {proven.verdict.value}: {proven.reason}")
