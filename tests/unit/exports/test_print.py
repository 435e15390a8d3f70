"""Word and PDF: read back by other tools, loading nothing, and never marked up by text from outside."""

import builtins
import io
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from typing import Any

import docx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from pincite.domain.errors import ExtraNotInstalled, PolicyRefusal
from pincite.domain.report import Report
from pincite.exports.bibliography import keys
from pincite.exports.bibtex import BibtexExporter
from pincite.exports.csl_json import CslJsonExporter
from pincite.exports.docx import DocxExporter
from pincite.exports.pdf import PdfExporter, refuse
from pincite.testing.reports import HOSTILE, empty_report, report_stating, sample_report

SAMPLE = sample_report()
WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
PIECES = st.lists(st.sampled_from((*HOSTILE, "\ufffe", "]]>", "&amp;")) | st.text(max_size=5), max_size=6).map("".join)


def word_parts(report: Report) -> Mapping[str, Any]:
    data = DocxExporter().render(report, SAMPLE.documents)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: etree.fromstring(archive.read(name)) for name in archive.namelist() if name.endswith(".xml")}


def test_word_shows_every_sentence_under_its_heading() -> None:
    data = DocxExporter().render(SAMPLE.report, SAMPLE.documents)
    word = docx.Document(io.BytesIO(data))
    text = "\n".join(paragraph.text for paragraph in word.paragraphs)
    for sentence in SAMPLE.report.sentences():
        assert sentence.text in text
    headings = [p.text for p in word.paragraphs if p.style and p.style.name == "Heading 1"]
    assert headings[:3] == ["Answer", "Height", "The lamp"]
    assert word.core_properties.title == SAMPLE.report.title


def test_each_reference_is_one_endnote_and_later_marks_link_to_it() -> None:
    parts = word_parts(SAMPLE.report)
    notes = parts["word/endnotes.xml"].findall(f"{WORD}endnote")
    assert [note.get(f"{WORD}id") for note in notes] == ["-1", "0", "1", "2", "3"]
    assert "A history of the coast, Ada Berg, published 2019-03-14." in "".join(notes[3].itertext())
    body = parts["word/document.xml"]
    first = [mark.get(f"{WORD}id") for mark in body.iter(f"{WORD}endnoteReference")]
    assert first == ["1", "2", "3"]
    bookmarks = {mark.get(f"{WORD}name") for mark in body.iter(f"{WORD}bookmarkStart")}
    links = [link.get(f"{WORD}anchor") for link in body.iter(f"{WORD}hyperlink")]
    assert len(links) == 7
    assert set(links) <= bookmarks


def test_word_takes_a_report_that_found_nothing() -> None:
    parts = word_parts(empty_report())
    assert "Not enough evidence." in "".join(parts["word/document.xml"].itertext())
    assert "word/endnotes.xml" not in parts


@settings(max_examples=15)
@given(PIECES)
def test_outside_text_makes_no_word_markup(text: str) -> None:
    wanted, found = word_parts(report_stating("word")), word_parts(report_stating(f"word {text} word"))
    for name in ("word/document.xml", "word/endnotes.xml"):
        assert [e.tag for e in found[name].iter()] == [e.tag for e in wanted[name].iter()]


@pytest.mark.skipif(shutil.which("pandoc") is None, reason="NOT TESTED: pandoc is not installed")
@pytest.mark.parametrize("exporter", [CslJsonExporter(), BibtexExporter()], ids=["csl.json", "bib"])
def test_citeproc_makes_a_list_of_references(exporter: Any, tmp_path: Any) -> None:
    report = SAMPLE.report
    file = tmp_path / f"references.{'json' if isinstance(exporter, CslJsonExporter) else 'bib'}"
    file.write_bytes(exporter.render(report, SAMPLE.documents))
    cited = " ".join(f"[@{key}]" for key in keys(report.references).values())
    read = subprocess.run(
        ["pandoc", "--citeproc", "--bibliography", str(file), "-f", "markdown", "-t", "plain", "--wrap=none"],
        input=cited.encode(),
        capture_output=True,
        check=True,
    )
    assert b"not found" not in read.stderr, read.stderr
    text = read.stdout.decode()
    for expected in ("Ada Berg", "2019", "A history of the coast", "almanac.example/h", "register.example"):
        assert expected.lower() in text.lower()


@pytest.mark.skipif(shutil.which("pandoc") is None, reason="NOT TESTED: pandoc is not installed")
def test_pandoc_reads_word_and_bibliographies() -> None:
    data = DocxExporter().render(SAMPLE.report, SAMPLE.documents)
    read = subprocess.run(
        ["pandoc", "--sandbox", "-f", "docx", "-t", "markdown", "--wrap=none"],
        input=data,
        capture_output=True,
        check=True,
    ).stdout.decode()
    assert "41 metres tall." in read
    assert "[^3]: Almanac: H." in read


def pdf() -> PdfExporter:
    try:
        return PdfExporter()
    except ExtraNotInstalled as error:
        pytest.skip(f"{error.message}: {error.hint}")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_pdf_holds_the_text_and_the_evidence(tmp_path: Any) -> None:
    data = pdf().render(SAMPLE.report, SAMPLE.documents)
    assert data.startswith(b"%PDF-")
    if shutil.which("pdftotext") is None:
        pytest.skip("NOT TESTED: pdftotext is not installed")
    file = tmp_path / "report.pdf"
    file.write_bytes(data)
    read = subprocess.run(["pdftotext", "-layout", str(file), "-"], capture_output=True, check=True).stdout.decode()
    for expected in (
        "The Halden lighthouse is 41 metres tall. [1] [2]",
        "Evidence",
        "Storms damaged the lamp in 1911.",
    ):
        assert expected in read


def test_pdf_may_load_nothing() -> None:
    with pytest.raises(PolicyRefusal, match="loads nothing"):
        refuse("https://evil.example/x.png", timeout=5)


@pytest.mark.parametrize(
    ("exporter", "library", "error"),
    [
        (DocxExporter, "docx", ImportError()),
        (PdfExporter, "weasyprint", ImportError()),
        (PdfExporter, "weasyprint", OSError("cannot load library 'libpango'")),
    ],
)
def test_a_missing_extra_names_the_command(
    exporter: Any, library: str, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name == library:
            raise error
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ExtraNotInstalled) as caught:
        exporter()
    assert "install" in caught.value.hint
