"""Checking a stored report again, offline and without a model: is it whole, and does it say what its pages say?

Every quote is compared with the stored document at its place, every document id and body hash is made anew, every
figure of a sentence must stand in its quotes, the rules of a report must hold and its Markdown must be the rendering of
its parts. What can't be looked at is `unchecked`, which is neither clean nor failed.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from pincite.audit.wording import differences
from pincite.domain.codec import from_json, short_utc_text
from pincite.domain.errors import Internal, ParseError, QuoteMismatch, SchemaMismatch, StorageUnavailable
from pincite.domain.events import Json
from pincite.domain.evidence import CheckOutcome, QuoteRecord, Relation, Verdict, VerdictStatus, page_texts
from pincite.domain.ids import sha256_hex, snapshot_id
from pincite.domain.layout import Section, Sentence
from pincite.domain.page import Document, Excerpts, Kept, Snapshot
from pincite.domain.report import (
    PARTIAL_MARK,
    SCHEMA_VERSION,
    ConflictKind,
    Mode,
    Reference,
    Report,
    ReportClaim,
    ReportConflict,
    ReportEvidence,
    Summary,
)
from pincite.ports import ClaimChecker, EvidenceSource
from pincite.urls.masking import MASK, mask_url

T = TypeVar("T")
Reread = Callable[[bytes, str, str | None], Document]

_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_CARRIED = frozenset({VerdictStatus.SUPPORTED, VerdictStatus.PARTIAL})


class ProblemKind(StrEnum):
    """Whether something is wrong, or could not be looked at."""

    FAILED = "failed"
    UNCHECKED = "unchecked"


class CheckStatus(StrEnum):
    """Outcome of checking a report."""

    PASSED = "passed"
    FAILED = "failed"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong and where: `where` is a path in the report JSON, for instance `claims[2].evidence[0]`."""

    kind: ProblemKind
    where: str
    what: str


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
class CheckResult:
    """What checking found; passed only when everything could be looked at and nothing is wrong.

    `kept` counts the captures by what is kept of them: `full`; `run`, the text and the body's hash; `excerpts`, the
    quotes with the windows around them, compared word for word, and hashes that can't be made anew.
    """

    status: CheckStatus
    counts: CheckCounts
    problems: tuple[Problem, ...] = ()
    kept: Mapping[str, int] = field(default_factory=dict)


def check_report(
    raw: Mapping[str, Json],
    evidence: EvidenceSource,
    *,
    reread: Reread | None = None,
    checker: ClaimChecker | None = None,
) -> CheckResult:
    """Whether the report in `raw` (parsed report JSON) is whole and says what the stored pages say.

    Args:
        raw: the report; broken parts are reported, not raised.
        evidence: the stored captures and documents.
        reread: reads a capture's body again (`pincite.extract`); then each document must come out the same, where
            the extractor is still of the same version.
        checker: judges each claim by its quotes again, and finds figures that stand in another form there ("1.2
            million" for "1,200,000"). Without one, figures must stand in the quotes as they are.

    Errors:
        SchemaMismatch: written by a newer Pincite.
    """
    version = raw.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise SchemaMismatch(f"the report is of schema version {version}; this Pincite reads up to {SCHEMA_VERSION}")
    check = _Check(evidence, reread, checker)
    problems = tuple(check.run(raw))
    kinds = {problem.kind for problem in problems}
    status = CheckStatus.PASSED
    if problems:
        status = CheckStatus.FAILED if ProblemKind.FAILED in kinds else CheckStatus.UNCHECKED
    return CheckResult(status, check.counts(), problems, check.kept())


def _failed(where: str, what: str) -> Problem:
    return Problem(ProblemKind.FAILED, where, what)


def _unchecked(where: str, what: str) -> Problem:
    return Problem(ProblemKind.UNCHECKED, where, what)


class _Check:
    """One pass over one report. Captures and documents are looked at once each, at the first place that needs them."""

    def __init__(self, evidence: EvidenceSource, reread: Reread | None, checker: ClaimChecker | None) -> None:
        self._evidence = evidence
        self._reread = reread
        self._checker = checker
        self._snapshots: dict[str, Snapshot | None] = {}
        self._documents: dict[tuple[str, str], Document | None] = {}
        self._excerpts: dict[tuple[str, str], Excerpts] = {}
        self._quotes = 0
        self._sentences: tuple[Sentence, ...] = ()
        self._claims: tuple[ReportClaim, ...] = ()
        self._references: tuple[Reference, ...] = ()

    def counts(self) -> CheckCounts:
        return CheckCounts(
            quotes=self._quotes,
            documents=len(self._documents),
            snapshots=len(self._snapshots),
            sentences=len(self._sentences),
            claims=len(self._claims),
            references=len(self._references),
        )

    def kept(self) -> dict[str, int]:
        """How many captures are kept as what."""
        cut = {snapshot_id for _, snapshot_id in self._excerpts}
        found = Counter(
            Kept.EXCERPTS.value if name in cut else snapshot.kept.value
            for name, snapshot in self._snapshots.items()
            if snapshot is not None
        )
        return {kept.value: found[kept.value] for kept in Kept if found[kept.value]}

    def run(self, raw: Mapping[str, Json]) -> Iterator[Problem]:
        yield from self._read_parts(raw)
        references = {reference.n: reference for reference in self._references}
        for i, claim in enumerate(self._claims):
            for j, item in enumerate(claim.evidence):
                yield from self._quote(f"claims[{i}].evidence[{j}]", item, references)
            yield from self._statement(f"claims[{i}].text", claim.text, (claim,))
            yield from self._verdict(f"claims[{i}]", claim, mechanical=raw.get("mode") == Mode.EXTRACTIVE)
        for i, conflict in enumerate(self._conflicts):
            for j, side in enumerate(conflict.sides):
                for k, item in enumerate(side.evidence):
                    yield from self._quote(f"conflicts[{i}].sides[{j}].evidence[{k}]", item, references)
            yield from _wording(f"conflicts[{i}].wording", conflict, references)
        by_id = {claim.id: claim for claim in self._claims}
        for where, sentence in self._placed:
            claims = tuple(by_id[claim_id] for claim_id in sentence.claim_ids if claim_id in by_id)
            if claims:
                yield from self._statement(f"{where}.text", sentence.text.removesuffix(PARTIAL_MARK), claims)
            if sentence.label:
                yield from _label(f"{where}.label", sentence, references)
        for i, reference in enumerate(self._references):
            yield from self._reference(f"references[{i}]", reference)
        yield from _whole(raw)

    def _read_parts(self, raw: Mapping[str, Json]) -> Iterator[Problem]:
        """Each part by itself, so that a broken one doesn't hide what is wrong with the others."""
        self._conflicts: tuple[ReportConflict, ...] = ()
        summary, sections = Summary(), tuple[Section, ...]()
        problems: list[Problem] = []

        def read(kind: type[T], name: str, default: T) -> T:
            try:
                return from_json(kind, raw[name]) if name in raw else default
            except ParseError as error:
                path = str(error.context.get("path") or "")
                dot = "" if path.startswith("[") or not path else "."
                problems.append(_failed(f"{name}{dot}{path}", error.message))
                return default

        self._claims = read(tuple[ReportClaim, ...], "claims", ())
        self._references = read(tuple[Reference, ...], "references", ())
        self._conflicts = read(tuple[ReportConflict, ...], "conflicts", ())
        summary = read(Summary, "summary", summary)
        sections = read(tuple[Section, ...], "sections", sections)
        self._placed = [(f"summary.sentences[{i}]", s) for i, s in enumerate(summary.sentences)] + [
            (f"sections[{i}].sentences[{j}]", s)
            for i, section in enumerate(sections)
            for j, s in enumerate(section.sentences)
        ]
        self._sentences = tuple(sentence for _, sentence in self._placed)
        yield from problems

    def _quote(self, where: str, item: ReportEvidence, references: Mapping[int, Reference]) -> Iterator[Problem]:
        self._quotes += 1
        yield from self._capture(where, item)
        yield from self._stored_document(where, item)
        key = (item.document_id, item.snapshot_id)
        stored = self._documents.get(key) or self._excerpts.get(key)
        if stored is not None:
            record = QuoteRecord(item.document_id, item.start, item.end, item.quote, item.prefix, item.suffix)
            try:
                stored.verify(record)
            except QuoteMismatch as error:
                yield _failed(where, error.message)
        if item.fragment_url and item.fragment_url.split("#", 1)[0] != item.url.split("#", 1)[0]:
            yield _failed(f"{where}.fragment_url", "leads to another page than the quote")
        if item.reference_n is None:
            return
        reference = references.get(item.reference_n)
        if reference is None:
            yield _failed(f"{where}.reference_n", f"there is no reference [{item.reference_n}]")
        elif reference.url != item.url:
            yield _failed(f"{where}.url", f"is not the address of reference [{item.reference_n}], {reference.url}")

    def _capture(self, where: str, item: ReportEvidence) -> Iterator[Problem]:
        if item.snapshot_id not in self._snapshots:
            yield from self._load_capture(where, item.snapshot_id)
        snapshot = self._snapshots[item.snapshot_id]
        if snapshot is None:
            return
        if item.body_sha256 != snapshot.body_sha256:
            yield _failed(f"{where}.body_sha256", f"is not that of the capture {item.snapshot_id}")
        if item.url not in _addresses(snapshot):
            yield _failed(f"{where}.url", f"is not an address of the capture {item.snapshot_id}")

    def _load_capture(self, where: str, name: str) -> Iterator[Problem]:
        self._snapshots[name] = None
        try:
            snapshot = self._evidence.snapshot(name)
        except StorageUnavailable as error:
            yield _failed(where, f"the capture {name} can't be read: {error.message}")
            return
        if snapshot is None:
            yield _unchecked(where, f"the capture {name} is not stored here")
            return
        self._snapshots[name] = snapshot
        if snapshot.kept is Kept.FULL and sha256_hex(snapshot.body) != snapshot.body_sha256:
            yield _failed(where, f"the stored body of the capture {name} was changed: its hash is another one")
        masked = f"={MASK}" in snapshot.final_url  # a bundle holds no credentials: the address can't be hashed anew
        if not masked and snapshot_id(snapshot.final_url, snapshot.fetched_at, snapshot.body_sha256) != name:
            yield _failed(where, f"the capture {name} was changed: address, time and body make another id")

    def _stored_document(self, where: str, item: ReportEvidence) -> Iterator[Problem]:
        key = (item.document_id, item.snapshot_id)
        if key in self._documents:
            return
        self._documents[key] = None
        try:
            document = self._evidence.document(*key)
            excerpts = self._evidence.excerpts(*key) if document is None else None
        except StorageUnavailable as error:
            yield _failed(where, f"the document {item.document_id} can't be read: {error.message}")
            return
        if excerpts is not None:
            self._excerpts[key] = excerpts
            return
        if document is None:
            yield _unchecked(where, f"the document {item.document_id} is not stored here")
            return
        if document.document_id != item.document_id:
            yield _failed(where, f"the stored document {item.document_id} was changed: its text makes another id")
            return
        self._documents[key] = document
        snapshot = self._snapshots[item.snapshot_id]
        if self._reread is not None and snapshot is not None and snapshot.kept is Kept.FULL:
            again = self._reread(snapshot.body, snapshot.final_url, snapshot.content_type)
            same_reader = (again.extractor, again.version) == (document.extractor, document.version)
            if same_reader and again.document_id != document.document_id:
                yield _failed(where, f"reading the capture {item.snapshot_id} again gives another text")

    def _statement(self, where: str, text: str, claims: tuple[ReportClaim, ...]) -> Iterator[Problem]:
        """Whether the figures of a sentence stand in the quotes of its claims."""
        quotes = _supporting(claims)
        missing = _figures(text) - _figures("\n".join(quotes))
        if not missing:
            return
        verdict = self._checker.check(text, quotes) if self._checker else None
        if verdict is None or not _stand_differently(verdict):
            yield _failed(where, f"{', '.join(sorted(missing))} in no quote of its claims")

    def _verdict(self, where: str, claim: ReportClaim, *, mechanical: bool) -> Iterator[Problem]:
        """Whether the quotes still carry a claim that is said to be carried.

        Where a model judged, the mechanical checker may only object to what it sees denied.
        """
        if self._checker is None or claim.verdict not in _CARRIED:
            return
        verdict = self._checker.check(claim.text, _supporting((claim,)))
        refused = verdict.status is VerdictStatus.CONTRADICTED or (mechanical and verdict.status not in _CARRIED)
        if refused:
            yield _failed(where, f"its own quotes do not carry it: {'; '.join(verdict.reasons)}")

    def _reference(self, where: str, reference: Reference) -> Iterator[Problem]:
        if reference.snapshot_id not in self._snapshots:
            yield from self._load_capture(where, reference.snapshot_id)
        snapshot = self._snapshots[reference.snapshot_id]
        if snapshot is None:
            return
        if reference.url not in _addresses(snapshot):
            yield _failed(f"{where}.url", f"is not an address of the capture {reference.snapshot_id}")
        if reference.accessed_at != snapshot.fetched_at:
            yield _failed(f"{where}.accessed_at", f"the page was read at {short_utc_text(snapshot.fetched_at)}")
        if reference.fetched_url and reference.fetched_url not in (snapshot.final_url, mask_url(snapshot.final_url)):
            yield _failed(f"{where}.fetched_url", f"the page was read from {snapshot.final_url}")
        texts = [d.text for (_, name), d in self._documents.items() if d is not None and name == reference.snapshot_id]
        texts += [
            window
            for (_, name), e in self._excerpts.items()
            if name == reference.snapshot_id
            for _, window in e.windows
        ]
        excerpt = _folded(reference.excerpt).removesuffix("…").rstrip()
        if texts and not any(excerpt in _folded(text) for text in texts):
            yield _failed(f"{where}.excerpt", "is not in the stored text of the page")


def _wording(where: str, conflict: ReportConflict, references: Mapping[int, Reference]) -> Iterator[Problem]:
    """Whether the figures said to stand against each other stand in the passages, besides counts of sources.

    The versions that are said to differ stand in the titles or addresses of the pages.
    """
    items = [item for side in conflict.sides for item in side.evidence]
    known = {str(side.independent_sources) for side in conflict.sides} | _figures("\n".join(i.quote for i in items))
    if conflict.kind is ConflictKind.VERSIONS:
        titles = [r.title for item in items if (r := references.get(item.reference_n or 0)) is not None]
        known |= _figures("\n".join([*titles, *(item.url for item in items)]))
    missing = _figures(conflict.wording) - known
    if missing:
        yield _failed(where, f"{', '.join(sorted(missing))} in no passage of its sides")


def _label(where: str, sentence: Sentence, references: Mapping[int, Reference]) -> Iterator[Problem]:
    """Whether the version a sentence is said to hold for is that of the pages it cites."""
    pages = "\n".join(f"{r.title} {r.url}" for n in sentence.references if (r := references.get(n)) is not None)
    missing = _figures(sentence.label) - _figures(pages)
    if missing:
        yield _failed(where, f"{', '.join(sorted(missing))} in no title or address that it cites")


def _addresses(snapshot: Snapshot) -> tuple[str, ...]:
    """Its addresses, also as reports print them."""
    own = (snapshot.url, snapshot.final_url, snapshot.canonical_url)
    return (*own, *(mask_url(url) for url in own))


def _supporting(claims: Iterable[ReportClaim]) -> tuple[str, ...]:
    items = (item for claim in claims for item in claim.evidence if item.relation is Relation.SUPPORTS)
    return page_texts((item.url, item.quote) for item in items)


def _stand_differently(verdict: Verdict) -> bool:
    """Whether the checker found the figures in another form: one of its checks on them passed, none failed."""
    outcomes = {check.outcome for check in verdict.checks if check.name in ("numbers", "dates")}
    return CheckOutcome.PASSED in outcomes and not outcomes & {CheckOutcome.FAILED, CheckOutcome.PARTIAL}


def _figures(text: str) -> set[str]:
    """The figures of a text; `1,200` and `1200` are the same."""
    found = _FIGURE.findall(unicodedata.normalize("NFKC", text))
    return {figure.replace(",", "") if _THOUSANDS.fullmatch(figure) else figure for figure in found}


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _whole(raw: Mapping[str, Json]) -> Iterator[Problem]:
    """Whether the rules of a report hold and its Markdown is the rendering of its parts."""
    try:
        report = from_json(Report, dict(raw))
    except ParseError as error:
        yield _failed(str(error.context.get("path") or "report"), error.message)
        return
    except Internal as error:
        yield _failed("report", error.message)
        return
    if report.markdown == "" and not isinstance(raw.get("markdown"), str):
        yield _failed("markdown", "is missing")
        return
    for where, what, sure in differences(report):
        yield _failed(where, what) if sure else _unchecked(where, what)
