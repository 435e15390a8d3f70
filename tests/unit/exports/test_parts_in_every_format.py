"""What a report says beside its sentences stands in every format that is read: labels, wordings, closing parts."""

import io
from dataclasses import replace

import pytest

from pincite.domain.layout import SectionKind
from pincite.domain.markdown import render_markdown
from pincite.domain.report import Report
from pincite.exports.codec import dump_report, load_report
from pincite.exports.docx import DocxExporter
from pincite.exports.html import HtmlExporter
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
