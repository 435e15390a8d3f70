"""The sample report with hostile texts in it and with every kind of proof, and a report that found nothing."""

from dataclasses import replace
from datetime import UTC, datetime

from pincite.domain.evidence import JudgementLabel, Proof, RecordedJudgement
from pincite.domain.ids import judgement_id
from pincite.domain.layout import BlockForm, Excerpt, ExcerptKind, ReportBlock, Section, Sentence, SentenceKind
from pincite.domain.markdown import render_markdown
from pincite.domain.report import Mode, PartStatus, Report, ReportGap, ReportLead, ReportPart, ReportStatus, Summary
from pincite.testing.reports import sample_report

_READ_AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)

# Pieces of text that mean something to Markdown, HTML, a spreadsheet or a terminal, and a few that don't.
HOSTILE = (
    *("http://evil.example", "www.evil.example", "ftp://e.example", "a@evil.example", "mailto:a@b.example"),
    *("[1]", "[1](citation:1)", "](http://e.example)", "![x](y)", "[a]: http://e.example"),
    *("<script>", "<b>", "</p>", "&lt;", "&#60;", "```", "---", "| a | b |", "\n\n# Head", "=1+1"),
    *("\x1b[31m", "\u202e", "\ud800", "\0", "word", "2016", "é", "日本"),
)


def report_stating(text: str) -> Report:
    """The sample report with `text` wherever something from outside is printed."""
    report = sample_report().report
    first, *rest = report.sections
    stated = tuple(claim_id for s in report.summary.sentences for claim_id in s.claim_ids)
    sentences = (Sentence(text, SentenceKind.CLAIM, stated, (1, 2)), *first.sentences[1:])
    return replace(
        report,
        title=text,
        question=text + "?",
        summary=Summary(sentences[:1]),
        sections=(Section(text, sentences, first.citations), *rest),
        outline=(text, *(section.heading for section in rest)),
        references=tuple(replace(r, title=text, author=text, note=text) for r in report.references),
        gaps=(ReportGap(text, text, (text,)),),
        leads=(ReportLead(text, "javascript:alert(1)", text, text),),
        conflicts=tuple(
            replace(c, sides=tuple(replace(side, statement=text) for side in c.sides)) for c in report.conflicts
        ),
    )


def laid_out_report() -> Report:
    """The sample report with the sentences of its first section in every form a block can have."""
    report = sample_report().report
    first, *rest = report.sections
    said = Sentence("The tower stands 41 metres high", SentenceKind.CLAIM, (report.claims[0].id,), (1, 2))
    quoted = replace(said, proof=Proof.QUOTED, marked=((4, 9),))
    code = replace(quoted, text="lamp = [1]  # a[1] is no citation\nlamp.light()")
    row = replace(quoted, text="Halden | 41 m")
    made_code = replace(said, text="if lamp.is_lit:\n    lamp.dark()", proof=Proof.DERIVED)
    excerpt = Excerpt(ExcerptKind.PROSE, 1, ("Lighthouses", "Halden"))
    forms = (
        ReportBlock(BlockForm.PARAGRAPH, ((0, 1),)),
        ReportBlock(BlockForm.LIST, ((2,), (3,))),
        ReportBlock(BlockForm.STEPS, ((4,), (5,))),
        ReportBlock(BlockForm.TABLE, ((6,), (7,)), header=("Tower", "Height"), rows=("Halden", "Other")),
        ReportBlock(BlockForm.CODE, ((8,),)),
        ReportBlock(BlockForm.EXCERPT, ((9, 10),), excerpt=excerpt),
        ReportBlock(BlockForm.EXCERPT, ((11,),), excerpt=replace(excerpt, kind=ExcerptKind.DEFINITION, term="tower")),
        ReportBlock(BlockForm.EXCERPT, ((12,), (13,)), excerpt=replace(excerpt, kind=ExcerptKind.LIST)),
        ReportBlock(BlockForm.EXCERPT, ((14,), (15,)), excerpt=replace(excerpt, kind=ExcerptKind.STEPS)),
        ReportBlock(BlockForm.EXCERPT, ((16,),), ("Tower", "Height"), excerpt=replace(excerpt, kind=ExcerptKind.TABLE)),
        ReportBlock(BlockForm.EXCERPT, ((17,),), excerpt=replace(excerpt, kind=ExcerptKind.CODE, language="python")),
    )
    start = len(first.sentences)
    shifted = tuple(replace(b, items=tuple(tuple(i + start for i in item) for item in b.items)) for b in forms)
    blocks = (*(ReportBlock(BlockForm.PARAGRAPH, ((index,),)) for index in range(start)), *shifted)
    sentences = (*first.sentences, *(said,) * 8, made_code, *(quoted,) * 7, row, code)
    citations = tuple(dict.fromkeys(n for sentence in sentences for n in sentence.references))
    laid_out = replace(first, sentences=sentences, citations=citations, blocks=blocks)
    made = replace(report, sections=(laid_out, *rest))
    return replace(made, markdown=render_markdown(made))


def proven_report() -> Report:
    """The laid-out report with every kind of proof, a named judge, parts of its question, and words beyond."""
    report = laid_out_report()
    section, *rest = report.sections
    judge = "nli:sample"
    judgement = RecordedJudgement(
        judgement_id(judge, "0" * 64, "1" * 64, JudgementLabel.STATES, ""),
        *(judge, JudgementLabel.STATES, "0" * 64, "1" * 64, _READ_AT),
        likelihood=0.93,
    )
    proofs = (Proof.ENTAILED, Proof.DERIVED)
    sentences = tuple(
        replace(s, proof=s.proof or proofs[index % 2], judgement=s.judgement or judgement.id * (s.proof is None))
        for index, s in enumerate(section.sentences)
    )
    height, lit, taller, lamp = report.claims
    made = replace(
        report,
        sections=(replace(section, sentences=sentences), *rest),
        claims=(
            replace(height, proof=Proof.ENTAILED, judge=judge, likelihood=0.93, judgement=judgement.id),
            replace(lit, proof=Proof.QUOTED),
            taller,
            replace(lamp, beyond="by storms of that winter"),
        ),
        rejected_claims=tuple(replace(claim, beyond="14 metres") for claim in report.rejected_claims),
        judgements=(judgement,),
        written_by="sample:writer",
        parts=(
            ReportPart("How tall is it?", PartStatus.ANSWERED),
            ReportPart("When was it lit?", PartStatus.PARTLY, missing="the hour"),
            ReportPart("Who built it?", PartStatus.NOT_HERE),
        ),
    )
    return replace(made, markdown=render_markdown(made))


def empty_report() -> Report:
    """A report that found nothing: insufficient evidence, with what was searched."""
    report = Report(
        run_id="run_20261121093000_0123456789ac",
        report_id="report_0123456789abcdf0",
        question="Who painted the Halden lighthouse?",
        title="Who painted the Halden lighthouse?",
        created_at=datetime(2026, 11, 21, 9, 31, tzinfo=UTC),
        profile="quick",
        mode=Mode.EXTRACTIVE,
        status=ReportStatus.INSUFFICIENT_EVIDENCE,
        summary=Summary(),
        sections=(),
        claims=(),
        references=(),
        gaps=(
            ReportGap(
                "Who painted the Halden lighthouse?",
                "no page that was read answers this",
                ("halden lighthouse painter", "who painted halden lighthouse"),
            ),
        ),
        leads=(
            ReportLead("Halden in pictures", "https://pictures.example/halden", "Photographs of Halden", "dead link"),
        ),
    )
    return replace(report, markdown=render_markdown(report))
