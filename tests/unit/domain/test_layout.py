"""Blocks of a report: each sentence once and in order, and Markdown that says what they say and nothing else."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.fakes.reports import HOSTILE, laid_out_report

from pincite.domain.codec import from_json, to_json
from pincite.domain.errors import Internal
from pincite.domain.evidence import JudgementLabel, Proof, RecordedJudgement, VerdictStatus
from pincite.domain.layout import BlockForm, Listing, ReportBlock, laid_out
from pincite.domain.markdown import render_markdown, restyle
from pincite.domain.report import PartStatus, RejectedClaim, Report, ReportGap, ReportPart, ReportStatus
from pincite.domain.report_words import MAYBE_PARTIAL, NOT_SURELY_ALL, PARTIAL_ANSWER, PARTLY_ANSWERED, balance_text
from pincite.domain.statements import in_cell, stated, statements_of
from pincite.exports.html import HtmlExporter
from pincite.testing.reports import sample_report

REPORT = laid_out_report()
FIRST = REPORT.sections[0]
PARSER = MarkdownIt("gfm-like", {"linkify": False})


def with_blocks(*blocks: ReportBlock) -> Report:
    return replace(REPORT, sections=(replace(FIRST, blocks=blocks), *REPORT.sections[1:]))


def stating(text: str) -> Report:
    """The laid out report with `text` in each of its sentences, headers, paths and terms."""
    blocks = tuple(
        replace(
            block,
            header=tuple(text for _ in block.header),
            rows=tuple(text for _ in block.rows),
            excerpt=block.excerpt and replace(block.excerpt, path=(text,), term=text, language=text),
        )
        for block in FIRST.blocks
    )
    section = replace(FIRST, sentences=tuple(replace(s, text=text) for s in FIRST.sentences), blocks=blocks)
    return replace(REPORT, sections=(section, *REPORT.sections[1:]))


def test_the_markdown_of_every_form() -> None:
    text = REPORT.markdown
    assert "- The tower stands 41 metres high [1][2]\n- The tower" in text
    assert "1. The tower stands 41 metres high [1][2]\n2. The tower" in text
    assert "| Tower | Height |\n| --- | --- |\n| Halden | The tower stands 41 metres high [1][2] |\n| Other |" in text
    assert "> **Lighthouses › Halden** [1][2]\n>\n> The tower stands 41 metres high The tower" in text
    assert "> **Lighthouses › Halden › tower** [1][2]" in text
    assert "> - The tower stands 41 metres high\n> - The tower" in text
    assert "> | Tower | Height |\n> | --- | --- |\n> | Halden | 41 m |" in text
    assert "```\nif lamp.is_lit:\n    lamp.dark()\n```\n\n[1][2] *composed, not run*" in text
    assert "> ```python\n> lamp = [1]  # a[1] is no citation\n> lamp.light()\n> ```" in text


def test_code_keeps_its_brackets_in_both_styles() -> None:
    linked = render_markdown(REPORT, "[n](citation:n)")
    assert "> lamp = [1]  # a[1] is no citation" in linked
    assert "metres high [1](citation:1)[2](citation:2)" in linked
    assert restyle(linked, "[n]") == REPORT.markdown


def test_the_forms_come_out_as_such() -> None:
    forms = ("table_open", "bullet_list_open", "ordered_list_open", "fence")
    plain, laid_out = ([t.type for t in PARSER.parse(r.markdown)] for r in (sample_report().report, REPORT))
    # One list fewer: without blocks the paragraphs of a section are printed as a list.
    assert [laid_out.count(form) - plain.count(form) for form in forms] == [2, 2 - 1, 2, 2]


@given(st.lists(st.sampled_from(HOSTILE) | st.text(max_size=5), max_size=6).map("".join))
def test_no_text_breaks_out_of_its_block(text: str) -> None:
    markdown = render_markdown(stating(text))
    tokens = PARSER.parse(markdown)
    kinds = [token.type for token in tokens]
    inline = [child.type for token in tokens for child in token.children or ()]
    assert kinds.count("table_open") == 2
    assert kinds.count("fence") == 2
    assert not {"html_block", "html_inline", "image"} & {*kinds, *inline}
    assert restyle(render_markdown(stating(text), "[n](citation:n)"), "[n]") == markdown


def test_it_reads_back_as_it_was_written() -> None:
    assert from_json(Report, to_json(REPORT)) == REPORT


@pytest.mark.parametrize(
    "blocks",
    [
        FIRST.blocks[1:],
        (*FIRST.blocks, ReportBlock(BlockForm.PARAGRAPH, ((0,),))),
        tuple(reversed(FIRST.blocks)),
        (*FIRST.blocks[:-1], replace(FIRST.blocks[-1], excerpt=None)),
        (*FIRST.blocks[:-1], replace(FIRST.blocks[-1], form=BlockForm.PARAGRAPH)),
        tuple(replace(b, header=("A", "B", "C")) if b.form is BlockForm.TABLE else b for b in FIRST.blocks),
        tuple(replace(b, rows=("A",)) if b.form is BlockForm.TABLE else b for b in FIRST.blocks),
    ],
    ids=["left out", "twice", "out of order", "excerpt of nothing", "no excerpt", "ragged table", "row without name"],
)
def test_blocks_that_do_not_fit_can_not_be_built(blocks: tuple[ReportBlock, ...]) -> None:
    with pytest.raises(Internal, match="breaks a rule"):
        with_blocks(*blocks)


def test_an_excerpt_of_an_unknown_page_can_not_be_built() -> None:
    last = FIRST.blocks[-1]
    assert last.excerpt is not None
    with pytest.raises(Internal, match="unknown reference"):
        with_blocks(*FIRST.blocks[:-1], replace(last, excerpt=replace(last.excerpt, reference_n=99)))


def test_the_balance_says_how_sentences_were_proven() -> None:
    judgement = RecordedJudgement("j1", "acme:judge", JudgementLabel.STATES, "a", "b", REPORT.created_at)
    sentences = (
        *FIRST.sentences[:-2],
        replace(FIRST.sentences[-2], proof=Proof.ENTAILED, judgement="j1"),
        replace(FIRST.sentences[-1], proof=Proof.DERIVED),
    )
    report = replace(
        REPORT, sections=(replace(FIRST, sentences=sentences), *REPORT.sections[1:]), judgements=(judgement,)
    )
    assert balance_text(report) == "7 sentences in their sources' words; 1 paraphrase, judged by acme:judge; 2 derived."
    assert balance_text(sample_report().report) == ""
    assert "Proof: 7 sentences in their sources' words;" in render_markdown(report)


def test_a_judge_that_let_everything_pass_is_told() -> None:
    first = RecordedJudgement("j0", "acme:judge", JudgementLabel.STATES, "a", "b", REPORT.created_at)
    judgements = tuple(replace(first, id=f"j{n}") for n in range(12))
    sentences = tuple(replace(FIRST.sentences[0], proof=Proof.ENTAILED, judgement=j.id) for j in judgements)
    section = replace(FIRST, sentences=(*FIRST.sentences, *sentences), blocks=())
    passed = replace(REPORT, sections=(section, *REPORT.sections[1:]), judgements=judgements, rejected_claims=())
    warning = "; nothing was left out, the judge let all 12 pass in the end."
    assert balance_text(passed).endswith(warning)
    refused = RejectedClaim("It is 50 metres tall.", VerdictStatus.CONTRADICTED, "the page says 41")
    assert "judge let" not in balance_text(replace(passed, rejected_claims=(refused,)))
    fewer = replace(passed, sections=(replace(section, sentences=section.sentences[:-1]), *REPORT.sections[1:]))
    assert "judge let" not in balance_text(fewer)


def test_parts_that_are_open_are_listed() -> None:
    answered = ReportPart("How high is it?", PartStatus.ANSWERED)
    partly = ReportPart("Who built it and when?", PartStatus.PARTLY, missing="when")
    missing = ReportPart("Who painted it?", PartStatus.NOT_HERE)
    text = render_markdown(replace(REPORT, parts=(answered, partly, missing)))
    assert "## What is missing\n\n- Who built it and when? – answered in part: when" in text
    assert "\n- Who painted it? – no sure answer found" in text
    assert "What is missing" not in render_markdown(replace(REPORT, parts=(answered,), gaps=()))


def test_a_part_of_which_nothing_is_known_to_be_missing_is_said_above_the_answer_and_not_listed() -> None:
    unsure = ReportPart("Who built it?", PartStatus.PARTLY)
    gap = ReportGap(unsure.text, NOT_SURELY_ALL, ("built",))
    report = replace(REPORT, parts=(unsure,), gaps=(gap,), status=ReportStatus.PARTIAL)
    text = render_markdown(report)
    assert MAYBE_PARTIAL in text
    assert "What is missing" not in text
    assert "searched for" not in text
    other = ReportPart("Who painted it?", PartStatus.NOT_HERE)
    text = render_markdown(replace(report, parts=(unsure, other), gaps=(gap, ReportGap(other.text, "no page"))))
    assert PARTIAL_ANSWER in text
    assert "- Who painted it? – no sure answer found: no page\n" in text
    assert "Who built it? –" not in text
    lacking = ReportGap(unsure.text, "when", ())
    partly = replace(report, parts=(replace(unsure, missing="when"),), gaps=(lacking,))
    assert PARTLY_ANSWERED in render_markdown(partly)
    assert PARTIAL_ANSWER in render_markdown(replace(partly, parts=())), "nobody said of any part that it is answered"


def test_a_cell_states_what_its_row_and_column_say() -> None:
    said = [
        (text, statement)
        for section in REPORT.sections
        for sentence, statement in zip(section.sentences, statements_of(section), strict=True)
        if (text := stated(sentence)) != statement
    ]
    tables = [block for section in REPORT.sections for block in section.blocks if block.form is BlockForm.TABLE]
    cells = sum(len(item) for block in tables for item in block.items)
    assert len(said) == cells > 0
    assert all(statement.endswith(f": {text}") for text, statement in said)
    assert in_cell("work_mem", "default", "4MB") == "work_mem: default: 4MB"
    assert in_cell("", "default", "4MB") == "default: 4MB"


def test_steps_that_are_parted_are_counted_on() -> None:
    said, size = FIRST.sentences[0], len(FIRST.sentences)
    forms = (
        *FIRST.blocks,
        ReportBlock(BlockForm.PARAGRAPH, ((size,),)),
        ReportBlock(BlockForm.STEPS, ((size + 1,), (size + 2,))),
        ReportBlock(BlockForm.CODE, ((size + 3,),)),
        ReportBlock(BlockForm.STEPS, ((size + 4,),), continued=True),
        ReportBlock(BlockForm.PARAGRAPH, ((size + 5,),)),
        ReportBlock(BlockForm.STEPS, ((size + 6,),)),
    )
    section = replace(FIRST, sentences=(*FIRST.sentences, *(said,) * 7), blocks=forms)
    assert [one.start for one in laid_out(section) if isinstance(one, Listing) and one.numbered][-3:] == [1, 3, 1]
    report = replace(REPORT, sections=(section, *REPORT.sections[1:]))
    assert re.findall(rf"^(\d)\. {said.text[:4]}", render_markdown(report), re.MULTILINE)[-4:] == ["1", "2", "3", "1"]
    assert HtmlExporter().render(report, {}).decode().count('<ol class="steps" start="3">') == 1
