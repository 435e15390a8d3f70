"""A report in which each sentence says how it was proven, with the stored pages behind it: quoted, judged, derived."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from pincite.domain.budget import Coverage
from pincite.domain.evidence import (
    ClaimType,
    EvidencePassage,
    JudgementLabel,
    Proof,
    RecordedJudgement,
    VerdictStatus,
    evidence_sha256,
)
from pincite.domain.ids import claim_id, judgement_id, sha256_hex, snapshot_id, statement_sha256
from pincite.domain.layout import (
    BlockForm,
    Excerpt,
    ExcerptKind,
    ReportBlock,
    Section,
    SectionKind,
    Sentence,
    SentenceKind,
)
from pincite.domain.markdown import render_markdown
from pincite.domain.page import Block, BlockKind, Document, Snapshot
from pincite.domain.report import (
    Mode,
    PartStatus,
    Reference,
    Report,
    ReportClaim,
    ReportConflict,
    ReportConflictSide,
    ReportEvidence,
    ReportPart,
    ReportStatus,
    Summary,
    evidence_of,
)
from pincite.domain.statements import PARTIAL_MARK
from pincite.testing.reports import SampleReport
from pincite.text.context import context_of

JUDGE = "label-judge"
READ_AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
JUDGED_AT = READ_AT + timedelta(seconds=30)
_QUESTION = "How does the vacuum of the Halden store work, and how much memory does it take?"
_MANUAL = (
    Block(BlockKind.HEADING, "Halden store manual", level=1),
    Block(BlockKind.HEADING, "2.1. Vacuum", level=2),
    Block(BlockKind.PARAGRAPH, "The vacuum removes dead rows. It takes 64 MB of memory and runs every 30 minutes."),
    Block(BlockKind.PARAGRAPH, "The lighthouse keeper can stop it with halden_stop. Stopping it loses no data."),
    Block(BlockKind.HEADING, "Settings", level=2),
    Block(
        BlockKind.TABLE,
        "Name | Default\nvacuum_memory | 64 MB\nvacuum_pause | 30 minutes",
        rows=(("Name", "Default"), ("vacuum_memory", "64 MB"), ("vacuum_pause", "30 minutes")),
        has_header=True,
    ),
    Block(BlockKind.CODE, "halden_stop --now\nhalden_start", language="sh"),
)
_NOTES = (
    Block(BlockKind.HEADING, "Notes of an operator", level=1),
    Block(BlockKind.PARAGRAPH, "On our machines the vacuum takes 96 MB of memory. We never stop it by hand."),
)


class _Pages:
    """A captured page with what was read out of it."""

    def __init__(self, n: int, url: str, title: str, blocks: tuple[Block, ...]) -> None:
        body = "".join(f"<p>{block.text}</p>" for block in blocks).encode()
        digest = sha256_hex(body)
        self.n = n
        self.document = Document("sample", "1", blocks, title=title, canonical_url=url, language="en")
        self.snapshot = Snapshot(
            snapshot_id=snapshot_id(url, READ_AT, digest), url=url, final_url=url, canonical_url=url, status=200,
            content_type="text/html; charset=utf-8", headers=(("content-type", "text/html; charset=utf-8"),),
            body=body, body_sha256=digest, fetched_at=READ_AT, via="direct",
        )  # fmt: skip  # a page of facts, not a column of them

    def evidence(self, passage: str) -> ReportEvidence:
        start = self.document.text.index(passage)
        quote = self.document.quote(start, start + len(passage))
        return ReportEvidence(
            quote.document_id, self.snapshot.snapshot_id, self.snapshot.body_sha256, self.snapshot.url, quote.text,
            quote.start, quote.end, quote.prefix, quote.suffix, reference_n=self.n,
            context=context_of(self.document, quote.start, quote.end),
        )  # fmt: skip  # a page of facts, not a column of them

    def reference(self, excerpt: str) -> Reference:
        snapshot = self.snapshot
        return Reference(self.n, snapshot.url, self.document.title, READ_AT, snapshot.snapshot_id, excerpt)


def judged(
    text: str,
    passages: tuple[EvidencePassage, ...],
    label: JudgementLabel = JudgementLabel.STATES,
    *,
    beyond: str = "",
    premises: tuple[str, ...] = (),
    judge: str = JUDGE,
) -> RecordedJudgement:
    """The record of a judgement on the text and the passages, as a run writes it."""
    statement, shown = statement_sha256(text), evidence_sha256(passages, premises)
    name = judgement_id(judge, statement, shown, label, beyond)
    return RecordedJudgement(name, judge, label, statement, shown, JUDGED_AT, None, beyond)


def proven_report() -> SampleReport:
    """A report of two pages: quoted, entailed, derived and partial sentences, a table, an excerpt, a conflict."""
    manual = _Pages(1, "https://halden.example/manual", "Halden store manual", _MANUAL)
    notes = _Pages(2, "https://operator.example/notes", "Notes of an operator", _NOTES)
    removes = _quoted("The vacuum removes dead rows.", manual.evidence("The vacuum removes dead rows."))
    memory = manual.evidence("It takes 64 MB of memory and runs every 30 minutes.")
    takes, said_takes = _entailed("The vacuum of the Halden store needs 64 megabytes of memory.", memory)
    often, said_often = _entailed("It is run every half an hour.", memory)
    stop = manual.evidence("The lighthouse keeper can stop it with halden_stop.")
    keeper, said_keeper = _entailed(
        "The keeper can stop the vacuum with halden_stop at any time.", stop,
        label=JudgementLabel.PARTLY, beyond="at any time",
    )  # fmt: skip  # a page of facts, not a column of them
    other = _quoted(
        "On our machines the vacuum takes 96 MB of memory.",
        notes.evidence("On our machines the vacuum takes 96 MB of memory."),
    )
    code = _quoted("halden_stop --now\nhalden_start", manual.evidence("halden_stop --now\nhalden_start"))
    row = _quoted("vacuum_memory | 64 MB", manual.evidence("vacuum_memory | 64 MB"))
    more = "The operator's machines give the vacuum 32 MB more than the manual says."
    said_more = judged(more, evidence_of((takes, other)), premises=(takes.text, other.text))
    cell = judged("vacuum_memory: default: 64 MB", evidence_of((row,)))
    opening = "The following is about memory."
    said_opening = judged(opening, (), JudgementLabel.NOTHING_TO_CHECK)
    sentences = (
        Sentence("In short:", SentenceKind.CONNECTIVE),
        _of(removes, 1),
        Sentence(opening, SentenceKind.CONNECTIVE, judgement=said_opening.id),
        _of(takes, 1),
        _of(other, 2),
        Sentence(more, SentenceKind.CLAIM, (takes.id, other.id), (1, 2), proof=Proof.DERIVED, judgement=said_more.id),
        Sentence("64 MB", SentenceKind.CLAIM, (row.id,), (1,), proof=Proof.ENTAILED, judgement=cell.id),
        _of(code, 1),
    )
    place = Excerpt(ExcerptKind.CODE, 1, ("Halden store manual", "Settings"), language="sh")
    blocks = (
        ReportBlock(BlockForm.PARAGRAPH, ((0, 1),)),
        ReportBlock(BlockForm.LIST, ((2,), (3,), (4,), (5,))),
        ReportBlock(BlockForm.TABLE, ((6,),), header=("Setting", "default"), rows=("vacuum_memory",)),
        ReportBlock(BlockForm.EXCERPT, ((7,),), excerpt=place),
    )
    uncertain = replace(_of(keeper, 1), text=f"{keeper.text} {PARTIAL_MARK}")
    claims = (takes, often, removes, other, row, code, keeper)
    conflict = ReportConflict(
        (takes.id, other.id),
        (ReportConflictSide(takes.text, 1, takes.evidence), ReportConflictSide(other.text, 1, other.evidence)),
        wording="1 source says 64 MB, 1 says 96 MB",
    )
    report = Report(
        run_id="run_20261121093000_0123456789ad",
        report_id="report_0123456789abcdf1",
        question=_QUESTION,
        title="The vacuum of the Halden store",
        created_at=JUDGED_AT + timedelta(seconds=30),
        profile="standard",
        mode=Mode.MODEL,
        status=ReportStatus.COMPLETE,
        summary=Summary((_of(takes, 1), _of(often, 1))),
        sections=(
            Section("How it works", sentences, (1, 2), blocks=blocks),
            Section("What is uncertain", (uncertain,), (1,), SectionKind.UNCERTAIN),
        ),
        claims=claims,
        references=(
            manual.reference("It takes 64 MB of memory and runs every 30 minutes."),
            notes.reference("On our machines the vacuum takes 96 MB of memory."),
        ),
        conflicts=(conflict,),
        outline=("How it works", "What is uncertain"),
        coverage=Coverage(claims=len(claims), independent=0),
        parts=(ReportPart("How does the vacuum work?", PartStatus.ANSWERED),),
        judgements=(said_takes, said_often, said_opening, said_more, cell, said_keeper),
        written_by="openai:writer",
    )
    pages = (manual, notes)
    return SampleReport(
        replace(report, markdown=render_markdown(report)),
        {page.document.document_id: page.document for page in pages},
        {page.snapshot.snapshot_id: page.snapshot for page in pages},
    )


def _quoted(text: str, *evidence: ReportEvidence) -> ReportClaim:
    name = claim_id(text, _QUESTION)
    return ReportClaim(name, text, ClaimType.FACT, 0.9, VerdictStatus.SUPPORTED, evidence=evidence, proof=Proof.QUOTED)


def _entailed(
    text: str, *evidence: ReportEvidence, label: JudgementLabel = JudgementLabel.STATES, beyond: str = ""
) -> tuple[ReportClaim, RecordedJudgement]:
    bare = _quoted(text, *evidence)
    entry = judged(text, evidence_of((bare,)), label, beyond=beyond)
    verdict = VerdictStatus.PARTIAL if label is JudgementLabel.PARTLY else VerdictStatus.SUPPORTED
    claim = replace(bare, verdict=verdict, proof=Proof.ENTAILED, judge=entry.judge, beyond=beyond, judgement=entry.id)
    return claim, entry


def _of(claim: ReportClaim, *references: int) -> Sentence:
    """The sentence that prints a claim."""
    return Sentence(
        claim.text, SentenceKind.CLAIM, (claim.id,), references, proof=claim.proof, judgement=claim.judgement
    )
