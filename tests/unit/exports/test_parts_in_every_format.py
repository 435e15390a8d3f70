"""What a report says beside its sentences stands in every format that is read: labels, wordings, closing parts."""

import csv
import io
from dataclasses import replace

import pytest
from lxml import html as parser
from tests.fakes.reports import proven_report

from pincite.domain.layout import BlockForm, ReportBlock, SectionKind, Sentence, SentenceKind
from pincite.domain.markdown import render_markdown
from pincite.domain.report import Report
from pincite.domain.report_words import CONFLICTS_HEADING
from pincite.domain.signs import place_of
from pincite.exports.codec import dump_report, load_report
from pincite.exports.docx import DocxExporter
from pincite.exports.html import HtmlExporter
from pincite.exports.simple import CsvExporter
from pincite.surfaces.mcp.results import section_text
from pincite.testing.reports import sample_report


def labelled() -> Report:
    """The sample report with a version in front of its first sentence and a closing section."""
    report = sample_report().report
    first, *others = report.summary.sentences
    summary = replace(report.summary, sentences=(replace(first, label="Version 2019"), *others))
    tall, lamp = report.sections
    sections = (tall, replace(lamp, heading="What is uncertain", kind=SectionKind.UNCERTAIN))
    changed = replace(report, summary=summary, sections=sections, outline=("Height", "What is uncertain"))
    return replace(changed, markdown=render_markdown(changed))


def docx_text(report: Report) -> str:
    import docx

    document = docx.Document(io.BytesIO(DocxExporter().render(report, {})))
    return "\n".join(paragraph.text for paragraph in document.paragraphs)


@pytest.mark.parametrize("format_", ["md", "html", "docx"])
def test_labels_wordings_and_closing_parts_are_printed(format_: str) -> None:
    report = labelled()
    text = {
        "md": lambda: report.markdown,
        "html": lambda: HtmlExporter().render(report, {}).decode(),
        "docx": lambda: docx_text(report),
    }[format_]()
    assert "Version 2019: The Halden lighthouse is 41 metres tall." in text
    assert "2 independent sources say 41 metres, 1 says 43 metres" in text
    assert "What is uncertain" in text
    assert "Support: 1 of 4 statements rest on 2 or more independent sources" in text


def test_the_json_reads_back_to_the_same_report() -> None:
    report = labelled()
    assert load_report(dump_report(report), strict=True) == report


def test_a_page_long_question_is_shortened_in_print_and_whole_in_json() -> None:
    question = "how deep is the water of the lake " * 60
    report = replace(sample_report().report, question=question, title="How deep is the water?")
    text = render_markdown(report)
    assert "… (480 words)" in text
    assert len(text) < 4_000
    assert load_report(dump_report(report)).question == question


def forms(page: str) -> dict[str, int]:
    tree = parser.document_fromstring(page)
    asked = {
        "list": "//ul[@class='points'][not(ancestor::figure)]/li",
        "steps": "//ol[@class='steps'][not(ancestor::figure)]/li",
        "row names": "//table[@class='laid']//th[@scope='row']",
        "columns": "//table[@class='laid'][not(ancestor::figure)]//th[@scope='col']",
        "places": "//figure[blockquote]/figcaption",
        "code put together": "//figure[not(blockquote)][pre/code][contains(figcaption, 'composed, not run')]",
        "terms": "//figure//dfn",
        "code": "//figure//pre/code[@class='language-python']",
        "cells word for word": "//figure//table//td/a",
        "telling": "//b[@class='telling']",
    }
    return {name: len(tree.xpath(path)) for name, path in asked.items()}


def test_html_lays_out_every_form_of_block() -> None:
    page = HtmlExporter().render(proven_report(), {}).decode()
    found = forms(page)
    assert found == {
        "list": 2,
        "steps": 2,
        "row names": 2,
        "columns": 2,
        "places": 3,  # pieces of one place that follow each other stand under it once
        "terms": 1,
        "code": 1,
        "code put together": 1,
        "cells word for word": 2,
        "telling": 9,
    }
    assert "Halden lighthouse | Register › Lighthouses › Halden" in page


def test_a_heading_that_repeats_the_title_is_left_out() -> None:
    assert place_of("13.2. Isolation", ("13.2. Isolation", "Read Committed")) == "13.2. Isolation › Read Committed"
    assert place_of("Manual", ("13.2. Isolation",)) == "Manual › 13.2. Isolation"
    # The reference has the name of the site; the part of the title that names the page stands above the excerpt.
    assert place_of("Isolation | Finch 2.1", ("Isolation", "Read Committed")) == "Isolation › Read Committed"


def test_html_leads_from_every_sentence_cell_and_item_to_a_passage() -> None:
    tree = parser.document_fromstring(HtmlExporter().render(proven_report(), {}).decode())
    laid_out = "//main//p[@dir and not(@class)] | //main//td[parent::tr/parent::tbody/parent::table[@class]]"
    places = tree.xpath(f"{laid_out} | //main//ol[@class='steps']/li | //main//ul[@class='points']/li")
    stated = [place for place in places if place.xpath(".//a[starts-with(@class, 'sentence ')]")]
    assert len(stated) >= 15
    for link in tree.xpath("//a[starts-with(@class, 'sentence ')]"):
        assert tree.xpath(f"//section[@id='{link.get('href')[1:]}']//mark"), link.text_content()


def test_html_tells_proofs_apart_by_shape_and_word() -> None:
    tree = parser.document_fromstring(HtmlExporter().render(proven_report(), {}).decode())
    for proof, shape in (("quoted", "“”"), ("entailed", "≈"), ("derived", "∴")):
        marks = tree.xpath(f"//main//span[@class='proof {proof}']")
        assert {m.text_content().strip() for m in marks} == {f"{shape} {proof}"}
    panels = tree.xpath("string(//aside)")
    assert "judged by nli:sample on 2026-11-21, likelihood 0.93" in panels
    assert "no passage carries: “by storms of that winter”" in panels


@pytest.mark.parametrize("format_", ["md", "html", "docx"])
def test_parts_balance_and_refusals_are_printed(format_: str) -> None:
    report = proven_report()
    text = {
        "md": lambda: report.markdown,
        "html": lambda: HtmlExporter().render(report, {}).decode(),
        "docx": lambda: docx_text(report),
    }[format_]()
    assert "When was it lit? – answered in part: the hour" in text
    assert "Who built it? – no sure answer found" in text
    assert "judged by nli:sample (not the model that wrote them)" in text
    if format_ != "md":
        assert "14 in no quote; no passage carries: “14 metres”" in text


def test_word_lays_out_every_form_of_block() -> None:
    import docx

    document = docx.Document(io.BytesIO(DocxExporter().render(proven_report(), {})))
    tables = [[[cell.text for cell in row.cells] for row in table.rows] for table in document.tables]
    assert [row[0] for row in tables[0]] == ["Tower", "Halden", "Other"]
    assert [cell.split()[0] for cell in tables[1][1]] == ["Halden", "41"]
    lines = [paragraph.text for paragraph in document.paragraphs]
    assert [line[:2] for line in lines if line.startswith(("1.", "2."))] == ["1.", "2."] * 2
    assert any(line.startswith("Halden lighthouse | Register › Lighthouses › Halden › tower") for line in lines)
    code = next(p for p in document.paragraphs if p.text.startswith("lamp = [1]"))
    assert "\nlamp.light()" in code.text
    linked = {link.fragment for paragraph in document.paragraphs for link in paragraph.hyperlinks}
    xml = document.element.xml
    assert linked
    assert all(f'w:name="{anchor}"' in xml for anchor in linked if anchor.startswith("_Claim"))


def test_the_table_of_claims_says_how_they_were_proven_and_what_was_refused() -> None:
    data = CsvExporter().render(proven_report(), {}).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(data, newline="")))
    tall, *_, refused = rows
    assert (tall["proof"], tall["judge"], tall["likelihood"]) == ("entailed", "nli:sample", "0.93")
    assert (refused["verdict"], refused["why"], refused["beyond"]) == ("unsupported", "14 in no quote", "14 metres")
    assert refused["url"] == ""


def test_proofs_and_parts_come_back_from_json() -> None:
    assert load_report(dump_report(proven_report()), strict=True) == proven_report()


def test_agents_read_proofs_and_refusals() -> None:
    text = section_text(proven_report(), "claims")
    assert "(supported; entailed, judged by nli:sample, likelihood 0.93)" in text
    assert (
        "- refused: The tower is 14 metres tall. (unsupported; 14 in no quote; no passage carries: “14 metres”)" in text
    )


def styled_report() -> Report:
    """A section with names set as code, items that say first what they are about, and a table of two sources."""
    report = sample_report().report
    first, *rest = report.sections
    one = Sentence("Busy: *set* work_mem for git rebase", SentenceKind.CLAIM, (report.claims[0].id,), (1, 2), lead=5)
    one = replace(one, code=((12, 20), (25, 35)), marked=((29, 35),))
    other = replace(one, text="a|b", code=((0, 3),), lead=0)
    third = Sentence("third", SentenceKind.CLAIM, first.sentences[-1].claim_ids, first.sentences[-1].references)
    blocks = (
        ReportBlock(BlockForm.LIST, ((0,),)),
        ReportBlock(
            BlockForm.TABLE,
            ((1,), (2,), (3,)),
            ("Setting", "of git rebase", "b", "c"),
            ("work_mem",),
            code=("work_mem", "git rebase"),
            marks_by_row=True,
        ),
    )
    cells = (other, replace(other, text="c|d", code=()), third)
    section = replace(first, sentences=(one, *cells), blocks=blocks, citations=cited([one, *cells]))
    changed = replace(report, sections=(section, *rest))
    return replace(changed, markdown=render_markdown(changed))


def cited(sentences: list[Sentence]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(n for sentence in sentences for n in sentence.references))


def test_names_are_code_what_an_item_is_about_is_bold_and_a_row_names_its_sources_once() -> None:
    report = styled_report()
    marks = "".join(f"[{n}]" for n in (1, 2, *report.sections[0].sentences[3].references))
    assert r"- **Busy:** \*set\* `work_mem` for `git rebase` [1][2]" in report.markdown
    assert "| Setting | of `git rebase` | b | c |" in report.markdown
    assert rf"| `work_mem` {marks} | `a\|b` | c\|d | third |" in report.markdown
    page = parser.document_fromstring(HtmlExporter().render(report, {}).decode())
    [item] = page.xpath("//ul[@class='points'][not(ancestor::figure)]/li")
    assert item.xpath(".//strong")[0].text_content() == "Busy:"
    assert [code.text_content() for code in item.xpath(".//code")] == ["work_mem", "git ", "rebase"]
    [row] = page.xpath("//table[@class='laid'][not(ancestor::figure)]/tbody/tr")
    assert row.xpath("./th/code")[0].text_content() == "work_mem"
    assert not row.xpath("./td//sup")
    assert [a.text for a in row.xpath("./th/sup/a")] == [f"[{n}]" for n in (1, 2, 3)]
    assert all(cell.xpath(".//a[starts-with(@class, 'sentence')]") for cell in row.xpath("./td")), "each opens its own"


def test_names_are_code_in_word() -> None:
    import docx

    document = docx.Document(io.BytesIO(DocxExporter().render(styled_report(), {})))
    item = next(p for p in document.paragraphs if "Busy" in p.text)
    runs = [*item.runs, *(run for link in item.hyperlinks for run in link.runs)]
    assert [run.text for run in runs if run.font.name] == ["work_mem", "git ", "rebase"]
    assert [run.text for run in runs if run.bold] == ["Busy:", "rebase"]
    first = document.tables[0].rows[1].cells[0].paragraphs[0]
    assert (first.runs[0].text, bool(first.runs[0].font.name)) == ("work_mem", True)


def test_a_conflict_that_a_sentence_tells_is_not_listed_again() -> None:
    report = sample_report().report
    told = replace(report, conflicts=tuple(replace(conflict, told=True) for conflict in report.conflicts))
    for render in (render_markdown, lambda r: HtmlExporter().render(r, {}).decode(), docx_text):
        assert CONFLICTS_HEADING in render(report)
        assert CONFLICTS_HEADING not in render(told)
    assert load_report(dump_report(told), strict=True) == told
