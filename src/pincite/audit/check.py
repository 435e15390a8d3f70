"""Checking a stored report again, offline and without a model: is it whole, and does it say what its pages say?

All that code decides is made anew: hashes and ids, each quote at its place, the proof of each quoted sentence, the
exact facts of the others, numbering, marks, rendering. Of what a judge decided the record must be of just this sentence
and these passages; the judge is not asked again (`judged_again` does that). What can't be looked at is `unchecked`,
which is neither clean nor failed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from pincite.audit.printed import (
    conflict_problems,
    coverage_problems,
    differences,
    excerpt_problems,
    label_problems,
    mark_problems,
    note_problems,
    reference_problems,
    sentence_label_problems,
    wording_problems,
)
from pincite.audit.proofs import Proofs, ToProve, claim_problems, context_problems, record_problems, verdict_printed
from pincite.audit.stored import Problem, ProblemKind, Reread, StoredPages, addresses, failed, unchecked
from pincite.domain.budget import Coverage
from pincite.domain.codec import from_json, short_utc_text, to_json
from pincite.domain.errors import Internal, ParseError, SchemaMismatch
from pincite.domain.events import Json
from pincite.domain.evidence import RecordedJudgement
from pincite.domain.frozen import dataclass
from pincite.domain.layout import BlockForm, Section, SectionKind, Sentence, SentenceKind, code_in
from pincite.domain.page import Document
from pincite.domain.report import (
    DERIVED,
    SCHEMA_VERSION,
    Reference,
    Report,
    ReportClaim,
    ReportConflict,
    ReportEvidence,
    Summary,
)
from pincite.domain.statements import stated, statements_of
from pincite.ports import EvidenceSource
from pincite.text.normalise import fold
from pincite.urls.masking import mask_secrets
from pincite.verification.snippets import MAX_EXAMPLES

T = TypeVar("T")

# The schema version from which on a report says how each sentence was proven.
PROOFS_SINCE = 2


class CheckStatus(StrEnum):
    """Outcome of checking a report."""

    PASSED = "passed"
    FAILED = "failed"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True)
class CheckCounts:
    """How much was looked at."""

    quotes: int = 0
    documents: int = 0
    snapshots: int = 0
    sentences: int = 0
    claims: int = 0
    references: int = 0


@dataclass(frozen=True, slots=True)
class JudgedBy:
    """How many printed sentences rest on the word of one judge, and when it was asked, first and last."""

    judge: str
    sentences: int
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What checking found; passed only when everything could be looked at and nothing is wrong.

    `kept` counts the captures by what is kept of them: `full`; `run`, the text and the body's hash; `excerpts`, the
    quotes with the windows around them, compared word for word, and hashes that can't be made anew. `proofs` counts the
    printed sentences by how they are proven, `judged` names who judged, `notes` what else a reader should know.
    `judged_again` is whom `again` of them were put before once more.
    """

    status: CheckStatus
    counts: CheckCounts
    problems: tuple[Problem, ...] = ()
    kept: Mapping[str, int] = field(default_factory=dict)
    proofs: Mapping[str, int] = field(default_factory=dict)
    judged: tuple[JudgedBy, ...] = ()
    notes: tuple[str, ...] = ()
    judged_again: str = ""
    again: int = 0


def check_report(raw: Mapping[str, Json], evidence: EvidenceSource, *, reread: Reread | None = None) -> CheckResult:
    """Whether the report in `raw` (parsed report JSON) is whole and says what the stored pages say.

    Args:
        raw: the report; broken parts are reported, not raised.
        evidence: the stored captures and documents.
        reread: reads a capture's body again (`pincite.extract`); then each document must come out the same, or, where
            another version of the reader made it, each quote stand in what comes out.

    Errors: SchemaMismatch (written by a newer Pincite).
    """
    version = raw.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise SchemaMismatch(f"the report is of schema version {version}; this Pincite reads up to {SCHEMA_VERSION}")
    return _Check(StoredPages(evidence, reread)).result(raw)


def status_of(problems: tuple[Problem, ...]) -> CheckStatus:
    """What these problems come to."""
    if not problems:
        return CheckStatus.PASSED
    wrong = any(problem.kind is ProblemKind.FAILED for problem in problems)
    return CheckStatus.FAILED if wrong else CheckStatus.UNCHECKED


@dataclass(frozen=True, slots=True)
class PlacedSentence:
    """A sentence, where it is, what it states, and the kind of section it is printed in."""

    where: str
    sentence: Sentence
    statement: str
    kind: SectionKind = SectionKind.FINDINGS
    is_code: bool = False
    examples: tuple[str, ...] = ()


def placed_sentences(summary: Summary, sections: Sequence[Section]) -> Iterator[PlacedSentence]:
    """The sentences of a report in order."""
    for i, sentence in enumerate(summary.sentences):
        yield PlacedSentence(f"summary.sentences[{i}]", sentence, stated(sentence))
    for i, section in enumerate(sections):
        try:
            texts = statements_of(section)
        except (IndexError, ZeroDivisionError):  # blocks that hold what is not there: the rules of a report tell
            texts = tuple(map(stated, section.sentences))
        code = code_in(section.blocks)
        made = (block for block in section.blocks if block.form is BlockForm.CODE)
        examples = {j: block.code[: MAX_EXAMPLES + 1] for block in made for item in block.items for j in item}
        for j, (sentence, text) in enumerate(zip(section.sentences, texts, strict=True)):
            where = f"sections[{i}].sentences[{j}]"
            yield PlacedSentence(where, sentence, text, section.kind, j in code, examples.get(j, ()))


class _Check:
    """One pass over one report."""

    def __init__(self, pages: StoredPages) -> None:
        self._pages = pages
        self._quotes = 0
        self._claims: tuple[ReportClaim, ...] = ()
        self._references: tuple[Reference, ...] = ()
        self._placed: tuple[PlacedSentence, ...] = ()
        self._used: list[RecordedJudgement] = []

    def result(self, raw: Mapping[str, Json]) -> CheckResult:
        # One fault is met on many ways: each is told once, where it was met first.
        problems = tuple(dict.fromkeys(self._problems(raw)))
        counts = CheckCounts(
            quotes=self._quotes,
            documents=len(self._pages.documents),
            snapshots=len(self._pages.snapshots),
            sentences=len(self._placed),
            claims=len(self._claims),
            references=len(self._references),
        )
        proofs = Counter(
            proof.value if (proof := placed.sentence.proof) is not None else "not recorded"
            for placed in self._placed
            if placed.sentence.kind is SentenceKind.CLAIM
        )
        judged: list[JudgedBy] = []
        for name in dict.fromkeys(entry.judge for entry in self._used):
            times = sorted(entry.judged_at for entry in self._used if entry.judge == name)
            judged.append(JudgedBy(name, len(times), times[0], times[-1]))
        status, kept, notes = status_of(problems), self._pages.kept(), tuple(self._pages.notes)
        return CheckResult(status, counts, problems, kept, dict(proofs), tuple(judged), notes)

    def _problems(self, raw: Mapping[str, Json]) -> Iterator[Problem]:
        yield from self._read_parts(raw)
        # From the smallest part to the whole: what a reader sees first in the list is the cause, the rest follows from
        # it.
        references = {reference.n: reference for reference in self._references}
        for where, item in self._evidence():
            yield from self._item(where, item, references)
        yield from self._statements(references)
        by_id = {claim.id: claim for claim in self._claims}
        said = [placed.sentence.text for placed in self._placed]
        for i, conflict in enumerate(self._conflicts):
            yield from wording_problems(f"conflicts[{i}].wording", conflict, references, said)
            yield from conflict_problems(f"conflicts[{i}]", conflict, by_id, references, str(raw.get("question")))
        for i, section in enumerate(self._sections):
            for j, block in enumerate(section.blocks):
                pages = {item.document_id: page for _, item in self._evidence() if (page := self._pages.of(item))}
                yield from excerpt_problems(f"sections[{i}].blocks[{j}]", section, block, by_id, pages)
        for i, reference in enumerate(self._references):
            yield from self._reference(f"references[{i}]", reference)
        yield from coverage_problems(self._coverage, self._claims, self._notes)
        yield from self._whole(raw)

    def _evidence(self) -> Iterator[tuple[str, ReportEvidence]]:
        """Every stored quote of the report, with its place."""
        for i, claim in enumerate(self._claims):
            yield from ((f"claims[{i}].evidence[{j}]", item) for j, item in enumerate(claim.evidence))
        for i, conflict in enumerate(self._conflicts):
            for j, side in enumerate(conflict.sides):
                at = f"conflicts[{i}].sides[{j}].evidence"
                yield from ((f"{at}[{k}]", item) for k, item in enumerate(side.evidence))

    def _read_parts(self, raw: Mapping[str, Json]) -> Iterator[Problem]:
        """Each part by itself, so that a broken one doesn't hide what is wrong with the others."""
        problems: list[Problem] = []

        def read(kind: type[T], name: str, default: T) -> T:
            try:
                return from_json(kind, raw[name]) if name in raw else default
            except ParseError as error:
                path = str(error.context.get("path") or "")
                dot = "" if path.startswith("[") or not path else "."
                problems.append(failed(f"{name}{dot}{path}", error.message))
                return default

        self._claims = read(tuple[ReportClaim, ...], "claims", ())
        self._references = read(tuple[Reference, ...], "references", ())
        version = raw.get("schema_version")
        # An unreadable version counts as new: a report can't escape the proofs by losing its number.
        self._recorded = not isinstance(version, int) or version >= PROOFS_SINCE
        self._conflicts = read(tuple[ReportConflict, ...], "conflicts", ())
        self._judgements = read(tuple[RecordedJudgement, ...], "judgements", ())
        self._coverage = read(Coverage, "coverage", Coverage())
        self._notes = read(tuple[str, ...], "notes", ())
        self._made_at = read(datetime, "created_at", None)  # None stands for a broken one
        summary = read(Summary, "summary", Summary())
        self._sections = read(tuple[Section, ...], "sections", ())
        self._placed = tuple(placed_sentences(summary, self._sections))
        yield from problems

    def _item(self, where: str, item: ReportEvidence, references: Mapping[int, Reference]) -> Iterator[Problem]:
        self._quotes += 1
        yield from self._pages.item(where, item)
        stored = self._pages.of(item)
        if isinstance(stored, Document):
            yield from context_problems(where, item, stored)
        if item.fragment_url and item.fragment_url.split("#", 1)[0] != item.url.split("#", 1)[0]:
            yield failed(f"{where}.fragment_url", "leads to another page than the quote")
        if item.reference_n is None:
            return
        reference = references.get(item.reference_n)
        if reference is None:
            yield failed(f"{where}.reference_n", f"there is no reference [{item.reference_n}]")
        elif reference.url != item.url:
            yield failed(f"{where}.url", f"is not the address of reference [{item.reference_n}], {reference.url}")

    def _statements(self, references: Mapping[int, Reference]) -> Iterator[Problem]:
        """The proofs of claims and sentences."""
        proofs = Proofs(self._pages.of, self._judgements, recorded=self._recorded)
        known = {entry.id: entry for entry in self._judgements}
        yield from record_problems(self._judgements, self._made_at)
        for i, claim in enumerate(self._claims):
            yield from claim_problems(f"claims[{i}]", claim, known)
            yield from proofs.statement(
                ToProve(f"claims[{i}]", claim.text, claim.proof, claim.judgement, (claim,), claim.verdict)
            )
            yield from proofs.second_sources(f"claims[{i}]", claim)
        proofs.used.clear()  # a sentence that prints its claim has the same judgement: count what is printed
        by_id = {claim.id: claim for claim in self._claims}
        for place in self._placed:
            sentence = place.sentence
            if sentence.kind is SentenceKind.CONNECTIVE:
                yield from proofs.connective(place.where, place.statement, sentence.judgement)
                if sentence.label:
                    yield failed(f"{place.where}.label", "stands before a sentence that cites nothing")
                continue
            claims = tuple(by_id[name] for name in sentence.claim_ids if name in by_id)
            if claims:
                verdict = verdict_printed(sentence.text)
                item = ToProve(
                    place.where,
                    place.statement,
                    sentence.proof,
                    sentence.judgement,
                    claims,
                    verdict,
                    place.is_code,
                    place.examples,
                )
                yield from proofs.statement(item)
            yield from mark_problems(
                place.where, sentence, claims, place.kind, is_code=place.is_code, notes=self._notes
            )
            if sentence.label:
                yield from sentence_label_problems(f"{place.where}.label", sentence, claims, references)
        self._used = proofs.used

    def _reference(self, where: str, reference: Reference) -> Iterator[Problem]:
        yield from self._pages.capture(where, reference.snapshot_id)
        snapshot = self._pages.snapshots[reference.snapshot_id]
        if snapshot is None:
            return
        if reference.url not in addresses(snapshot):
            yield failed(f"{where}.url", f"is not an address of the capture {reference.snapshot_id}")
        if reference.accessed_at != snapshot.fetched_at:
            yield failed(f"{where}.accessed_at", f"the page was read at {short_utc_text(snapshot.fetched_at)}")
        if reference.fetched_url and reference.fetched_url not in (
            snapshot.final_url,
            mask_secrets(snapshot.final_url),
        ):
            yield failed(f"{where}.fetched_url", f"the page was read from {snapshot.final_url}")
        yield from note_problems(where, reference, snapshot)
        pages = self._pages.pages_of(reference.snapshot_id)
        texts = [
            text
            for page in pages
            for text in ([page.text] if isinstance(page, Document) else [window for _, window in page.windows])
        ]
        excerpt = fold(reference.excerpt.removesuffix("…")).flat
        if texts and not any(excerpt in fold(text).flat for text in texts):
            yield failed(f"{where}.excerpt", "is not in the stored text of the page")
        if pages:
            yield from reference_problems(where, reference, pages[0])

    def _whole(self, raw: Mapping[str, Json]) -> Iterator[Problem]:
        """Whether the rules of a report hold, its Markdown is the rendering of its parts, and it has no other parts."""
        try:
            report = from_json(Report, dict(raw))
        except ParseError as error:
            yield failed(str(error.context.get("path") or "report"), error.message)
            return
        except Internal as error:
            yield failed("report", error.message)
            return
        yield from label_problems(report)
        for name, (_, made) in DERIVED.items():
            if name in raw and raw[name] != to_json(made(report), outside=True):
                yield failed(name, "does not follow from the question and the claims")
        known = {name: value for name, value in raw.items() if name not in DERIVED}
        for path in unknown_members(to_json(report, outside=True), known):
            yield unchecked(path, "is a member that this version does not know")
        if report.markdown == "" and not isinstance(raw.get("markdown"), str):
            yield failed("markdown", "is missing")
            return
        for where, what, sure in differences(report):
            yield failed(where, what) if sure else unchecked(where, what)


def unknown_members(known: Json, found: Json, path: str = "") -> Iterator[str]:
    """The paths of members of `found` that `known` does not have."""
    if isinstance(known, dict) and isinstance(found, dict):
        for name, value in found.items():
            inner = f"{path}.{name}" if path else name
            if name not in known:
                yield inner
            else:
                yield from unknown_members(known[name], value, inner)
    elif isinstance(known, list) and isinstance(found, list):
        for index, (one, other) in enumerate(zip(known, found, strict=False)):
            yield from unknown_members(one, other, f"{path}[{index}]")
