"""Reports put into a home as if a run had made them, and reports as large as asked for."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pincite.domain.budget import Budget, Coverage
from pincite.domain.codec import to_json
from pincite.domain.events import EventType, Json, RunStatus
from pincite.domain.evidence import ClaimType, VerdictStatus
from pincite.domain.ids import claim_id, sha256_hex, snapshot_id
from pincite.domain.layout import Section, Sentence, SentenceKind
from pincite.domain.markdown import render_markdown
from pincite.domain.page import Block, BlockKind, Document, Snapshot
from pincite.domain.plan import Task
from pincite.domain.records import RunRecord
from pincite.domain.report import Reference, Report, ReportClaim, ReportEvidence, Summary
from pincite.domain.report_words import one_line
from pincite.settings import load_settings
from pincite.testing.reports import SampleReport, sample_report
from pincite.wiring.parts import open_parts

_SECTION = 20
_PER_PAGE = 50


async def keep_report(
    home: Path,
    sample: SampleReport,
    *,
    scope: str = "local",
    status: RunStatus = RunStatus.COMPLETED,
    database_url: str | None = None,
) -> str:
    """The id of a run in `home`, or in this PostgreSQL, that has this report, its evidence and a few events."""
    report = sample.report
    given = {"home": home, "scope": scope, "database_url": database_url}
    async with open_parts(load_settings(given, environ={}, files=())) as parts:
        snapshots, documents, runs = await parts.snapshots(), await parts.documents(), await parts.runs()
        for snapshot in sample.snapshots.values():
            await snapshots.put(snapshot)
        by_capture = {e.document_id: e.snapshot_id for c in report.claims for e in c.evidence}
        for document in sample.documents.values():
            await documents.put(document, by_capture.get(document.document_id, "snap_other"))
        record = RunRecord(
            report.run_id,
            scope,
            one_line(report.question),
            RunStatus.QUEUED,
            report.created_at,
            report.created_at,
            {"task": to_json(Task(question=one_line(report.question)))},
            Budget(pages=20),
        )
        await runs.create(record)
        taken = await runs.take(report.run_id, "test", 30)
        sink = await parts.events(taken, "topic")
        for type_, data in _events(report):
            await sink.emit(type_, data)
        await runs.put_report(report)
        await runs.finish(report.run_id, taken.epoch, status)
    return report.run_id


def large_report(claims: int, run_id: str = "run_20261121093000_00000000beef") -> SampleReport:
    """A report of so many claims, each with a quote of its own; fifty to a page, twenty to a section."""
    base = sample_report().report
    documents: dict[str, Document] = {}
    snapshots: dict[str, Snapshot] = {}
    references, made, sentences = [], [], []
    for n in range(1, -(-claims // _PER_PAGE) + 1):
        numbers = range((n - 1) * _PER_PAGE, min(n * _PER_PAGE, claims))
        texts = [
            f"Beacon {i} of the coast was lit in {1700 + i % 300} and stands {10 + i % 50} metres tall."
            for i in numbers
        ]
        document = Document(
            "sample", "1", tuple(Block(BlockKind.PARAGRAPH, text) for text in texts), title=f"Beacons {n}"
        )
        snapshot = _capture(n, document.text)
        documents[document.document_id], snapshots[snapshot.snapshot_id] = document, snapshot
        references.append(
            Reference(n, snapshot.final_url, document.title, snapshot.fetched_at, snapshot.snapshot_id, texts[0])
        )
        for text in texts:
            claim = _claim(text, document, snapshot, n)
            made.append(claim)
            sentences.append(Sentence(text, SentenceKind.CLAIM, (claim.id,), (n,)))
    sections = tuple(
        Section(
            f"Beacons, part {start // _SECTION + 1}", part, tuple(dict.fromkeys(r for s in part for r in s.references))
        )
        for start in range(0, len(sentences), _SECTION)
        for part in [tuple(sentences[start : start + _SECTION])]
    )
    report = replace(
        base,
        run_id=run_id,
        title=f"{claims} beacons",
        question=f"What is known of {claims} beacons?",
        summary=Summary(tuple(sentences[:2])),
        sections=sections,
        claims=tuple(made),
        references=tuple(references),
        conflicts=(),
        outline=tuple(section.heading for section in sections),
        coverage=Coverage(claims=claims),
    )
    return SampleReport(replace(report, markdown=render_markdown(report)), documents, snapshots)


def _capture(n: int, text: str) -> Snapshot:
    sample = next(iter(sample_report().snapshots.values()))
    body = text.encode()
    url = f"https://beacons.example/{n}"
    digest = sha256_hex(body)
    name = snapshot_id(url, sample.fetched_at, digest)
    return replace(
        sample, snapshot_id=name, url=url, final_url=url, canonical_url=url, body=body, body_sha256=digest, note=""
    )


def _claim(text: str, document: Document, snapshot: Snapshot, n: int) -> ReportClaim:
    start = document.text.index(text)
    quote = document.quote(start, start + len(text))
    item = ReportEvidence(
        document_id=quote.document_id,
        snapshot_id=snapshot.snapshot_id,
        body_sha256=snapshot.body_sha256,
        url=snapshot.final_url,
        quote=quote.text,
        start=quote.start,
        end=quote.end,
        prefix=quote.prefix,
        suffix=quote.suffix,
        reference_n=n,
    )
    return ReportClaim(claim_id(text, ""), text, ClaimType.FACT, 0.9, VerdictStatus.SUPPORTED, (), (item,), 1)


def _events(report: Report) -> list[tuple[EventType, Mapping[str, Json]]]:
    first: list[tuple[EventType, Mapping[str, Json]]] = [
        (EventType.RUN_STARTED, {"question": one_line(report.question)}),
        (
            EventType.PLAN_CREATED,
            {"round": 1, "sub_questions": [{"id": "1", "text": one_line(report.question), "queries": []}]},
        ),
        (EventType.ROUND_STARTED, {"round": 1}),
        (EventType.SEARCH_COMPLETED, {"query": one_line(report.question), "results": len(report.references)}),
        (EventType.SEARCH_FAILED, {"query": "another", "code": "TIMEOUT", "reason": "timeout"}),
    ]
    pages: list[tuple[EventType, Mapping[str, Json]]] = [
        (EventType.PAGE_FETCHED, {"url": r.url, "title": one_line(r.title), "snapshot_id": r.snapshot_id})
        for r in report.references
    ]
    verified: list[tuple[EventType, Mapping[str, Json]]] = [
        (EventType.CLAIM_VERIFIED, {"claim_id": c.id, "text": one_line(c.text), "verdict": str(c.verdict)})
        for c in report.claims
    ]
    rejected: list[tuple[EventType, Mapping[str, Json]]] = [
        (
            EventType.CLAIM_REJECTED,
            {"claim_id": "x", "text": one_line(c.text), "verdict": str(c.verdict), "reasons": [one_line(c.why)]},
        )
        for c in report.rejected_claims
    ]
    rest: list[tuple[EventType, Mapping[str, Json]]] = [
        (EventType.PAGE_FAILED, {"url": "https://dead.example/", "code": "DEAD_LINK", "reason": "not_found"}),
        (EventType.PAGE_REFUSED, {"url": "https://no.example/", "code": "ROBOTS_DISALLOWED", "reason": "robots"}),
        *verified,
        *rejected,
        (EventType.RUN_COMPLETED, {"status": str(report.status)}),
    ]
    return [*first, *pages, *rest]
