"""A small sound report with every part filled, and the stored evidence behind it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

from pincite.domain.budget import Coverage, Metrics
from pincite.domain.evidence import Check, CheckOutcome, ClaimType, Relation, VerdictStatus
from pincite.domain.excerpts import Excerpts
from pincite.domain.frozen import dataclass
from pincite.domain.ids import claim_id, sha256_hex, snapshot_id
from pincite.domain.layout import Section, SectionKind, Sentence, SentenceKind
from pincite.domain.markdown import render_markdown
from pincite.domain.page import Block, BlockKind, Document, Snapshot
from pincite.domain.report import (
    Mode,
    Reference,
    RejectedClaim,
    Report,
    ReportClaim,
    ReportConflict,
    ReportConflictSide,
    ReportEvidence,
    ReportGap,
    ReportLead,
    ReportStatus,
    Summary,
)
from pincite.domain.search import Constraints
from pincite.domain.statements import PARTIAL_MARK

_READ_AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
_METRICS = Metrics(
    duration_s=1.25,
    searches=4,
    pages_fetched=3,
    dead_links=1,
    cost_usd=Decimal("0.012"),
    sources_count=3,
    domain_diversity=1.0,
    claims_checked=5,
    claims_total=4,
)
_QUESTION = "How tall is the Halden lighthouse, and when was it lit?"


@dataclass(frozen=True, slots=True)
class SampleReport:
    """A report with the documents and captures its quotes were sliced from, by id: an `EvidenceSource` too."""

    report: Report
    documents: Mapping[str, Document]
    snapshots: Mapping[str, Snapshot]

    def snapshot(self, snapshot_id: str) -> Snapshot | None:
        """The capture, or None."""
        return self.snapshots.get(snapshot_id)

    def document(self, document_id: str, snapshot_id: str | None = None) -> Document | None:
        """The document, or None."""
        return self.documents.get(document_id)

    def excerpts(self, document_id: str, snapshot_id: str | None = None) -> Excerpts | None:
        """None: every document here is whole."""
        return None


@dataclass(frozen=True, slots=True)
class _Page:
    snapshot: Snapshot
    document: Document

    def evidence(self, passage: str, n: int | None, relation: Relation = Relation.SUPPORTS) -> ReportEvidence:
        start = self.document.text.index(passage)
        quote = self.document.quote(start, start + len(passage))
        return ReportEvidence(
            document_id=quote.document_id,
            snapshot_id=self.snapshot.snapshot_id,
            body_sha256=self.snapshot.body_sha256,
            url=self.snapshot.canonical_url,
            quote=quote.text,
            start=quote.start,
            end=quote.end,
            prefix=quote.prefix,
            suffix=quote.suffix,
            relation=relation,
            reference_n=n,
        )

    def reference(self, n: int, excerpt: str, *, author: str | None = None, published: int | None = None) -> Reference:
        return Reference(
            n=n,
            url=self.snapshot.canonical_url,
            title=self.document.title,
            accessed_at=self.snapshot.fetched_at,
            snapshot_id=self.snapshot.snapshot_id,
            excerpt=excerpt,
            author=author,
            published_at=None if published is None else datetime(published, 3, 14, tzinfo=UTC),
            fetched_url=self.snapshot.final_url,
            note=self.snapshot.note,
        )


def _page(url: str, title: str, paragraphs: tuple[str, ...], *, note: str = "", final_url: str = "") -> _Page:
    body = f"<h1>{title}</h1>{''.join(f'<p>{paragraph}</p>' for paragraph in paragraphs)}".encode()
    digest = sha256_hex(body)
    blocks = (Block(BlockKind.HEADING, title, level=1), *(Block(BlockKind.PARAGRAPH, text) for text in paragraphs))
    snapshot = Snapshot(
        snapshot_id=snapshot_id(final_url or url, _READ_AT, digest),
        url=url,
        final_url=final_url or url,
        canonical_url=url,
        status=200,
        content_type="text/html; charset=utf-8",
        headers=(("content-type", "text/html; charset=utf-8"),),
        body=body,
        body_sha256=digest,
        fetched_at=_READ_AT,
        via="archive",
        note=note,
    )
    return _Page(snapshot, Document("sample", "1", blocks, title=title, canonical_url=url, language="en"))


def _claim(text: str, *evidence: ReportEvidence, verdict: VerdictStatus = VerdictStatus.SUPPORTED) -> ReportClaim:
    partial = verdict is VerdictStatus.PARTIAL
    return ReportClaim(
        id=claim_id(text, _QUESTION),
        text=text,
        type=ClaimType.FACT,
        confidence=0.6 if partial else 0.9,
        verdict=verdict,
        checks=(
            Check("quote", CheckOutcome.PASSED),
            Check("numbers", CheckOutcome.PARTIAL if partial else CheckOutcome.PASSED),
        ),
        evidence=evidence,
        independent_sources=len({item.url for item in evidence if item.relation is Relation.SUPPORTS}),
    )


def _pages() -> tuple[_Page, _Page, _Page]:
    register = _page(
        "https://register.example/lighthouses/halden",
        "Halden lighthouse | Register",
        ("The Halden lighthouse is 41 metres tall.", "It was first lit on 3 May 1897, after two years of building."),
        note="from Debian package example-doc version 1.2, file halden.html, not fetched",
    )
    society = _page(
        "https://society.example/history?id=7",
        "A history of the coast",
        ("The tower stands 41 metres high; its lamp came from Paris.", "Storms damaged the lamp in 1911."),
        final_url="https://www.society.example/history?id=7",
    )
    almanac = _page(
        "https://almanac.example/h", "Almanac: H", ("Halden lighthouse, 43 metres, lit in 1897 for shipping.",)
    )
    return register, society, almanac


def sample_report() -> SampleReport:
    """A report on a made-up lighthouse: summary, two sections, a partial claim, a conflict, a gap and a lead."""
    pages = register, society, almanac = _pages()
    height = _claim(
        "The Halden lighthouse is 41 metres tall.",
        register.evidence("The Halden lighthouse is 41 metres tall.", 1),
        society.evidence("The tower stands 41 metres high", 2),
        almanac.evidence("Halden lighthouse, 43 metres", 3, Relation.CONTRADICTS),
    )
    taller = _claim(
        "Halden lighthouse, 43 metres, lit in 1897 for shipping.",
        almanac.evidence("Halden lighthouse, 43 metres, lit in 1897 for shipping.", 3),
    )
    lit = _claim(
        "It was first lit on 3 May 1897, after two years of building.",
        register.evidence("It was first lit on 3 May 1897, after two years of building.", 1),
    )
    lamp = _claim(
        "The lamp came from Paris and was damaged in 1911.",
        society.evidence("its lamp came from Paris", 2),
        society.evidence("Storms damaged the lamp in 1911.", 2),
        verdict=VerdictStatus.PARTIAL,
    )
    report = Report(
        run_id="run_20261121093000_0123456789ab",
        report_id="report_0123456789abcdef",
        question=_QUESTION,
        title="The Halden lighthouse",
        created_at=datetime(2026, 11, 21, 9, 31, tzinfo=UTC),
        profile="standard",
        mode=Mode.EXTRACTIVE,
        status=ReportStatus.COMPLETE,
        summary=Summary((_stated(height, 1, 2), _stated(lit, 1))),
        sections=(
            Section("Height", (_stated(height, 1, 2), replace(_stated(taller, 3), opens=True)), (1, 2, 3)),
            Section(
                "The lamp",
                (Sentence("The lamp has a story too.", SentenceKind.CONNECTIVE), _stated(lamp, 2)),
                (2,),
                SectionKind.UNCERTAIN,
            ),
        ),
        claims=(height, lit, taller, lamp),
        references=(
            register.reference(1, "The Halden lighthouse is 41 metres tall."),
            society.reference(2, "The tower stands 41 metres high", author="Ada Berg", published=2019),
            almanac.reference(3, "Halden lighthouse, 43 metres, lit in 1897 for shipping."),
        ),
        constraints=Constraints(exclude_domains=("spam.example",), per_domain_cap=2),
        conflicts=(
            ReportConflict(
                (height.id, taller.id),
                (
                    ReportConflictSide(height.text, 2, height.evidence[:2]),
                    ReportConflictSide(taller.text, 1, taller.evidence),
                ),
                wording="2 independent sources say 41 metres, 1 says 43 metres",
            ),
        ),
        gaps=(ReportGap("Who built it?", "no source names the builder", ("halden lighthouse builder",)),),
        leads=(
            ReportLead("Halden in pictures", "https://pictures.example/halden", "Photographs of Halden", "dead link"),
        ),
        rejected_claims=(RejectedClaim("The tower is 14 metres tall.", VerdictStatus.UNSUPPORTED, "14 in no quote"),),
        metrics=_METRICS,
        outline=("Height", "The lamp"),
        coverage=Coverage(claims=4, independent=1, wanted_share=0.6, below=(lit.id, taller.id, lamp.id)),
    )
    return SampleReport(
        report=replace(report, markdown=render_markdown(report)),
        documents={page.document.document_id: page.document for page in pages},
        snapshots={page.snapshot.snapshot_id: page.snapshot for page in pages},
    )


def _stated(claim: ReportClaim, *references: int) -> Sentence:
    mark = f" {PARTIAL_MARK}" if claim.verdict is VerdictStatus.PARTIAL else ""
    return Sentence(claim.text + mark, SentenceKind.CLAIM, (claim.id,), references)
