"""Word and PDF: read back by other tools, loading nothing, and never marked up by text from outside."""

import builtins
import io
import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import docx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree
from tests.fakes.reports import HOSTILE, empty_report, report_stating

from pincite.domain.errors import ExtraNotInstalled, NotFound, PinciteError, PolicyRefusal
from pincite.domain.report import Report
from pincite.domain.report_words import one_line
from pincite.exports.docx import DocxExporter
from pincite.exports.pdf import PdfExporter, refuse
from pincite.exports.simple import BibtexExporter, CslJsonExporter, MarkdownExporter, RisExporter, keys
from pincite.testing.reports import sample_report

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
    anchors = [link.get(f"{WORD}anchor") for link in body.iter(f"{WORD}hyperlink")]
    links = [anchor for anchor in anchors if not anchor.startswith("_Claim")]
    assert len(anchors) - len(links) == sum(bool(s.claim_ids) for s in SAMPLE.report.sentences())
    assert len(links) == 7
    assert set(links) <= bookmarks


def test_what_a_section_of_word_has_stands_in_the_order_of_the_standard() -> None:
    """ISO/IEC 29500-1 §17.6.17: the references to headers and footers come first."""
    (section,) = word_parts(SAMPLE.report)["word/document.xml"].iter(f"{WORD}sectPr")
    names = [child.tag.removeprefix(WORD) for child in section]
    assert names[:3] == ["footerReference", "endnotePr", "pgSz"]


def test_word_takes_a_report_that_found_nothing() -> None:
    parts = word_parts(empty_report())
    assert "Not enough evidence." in "".join(parts["word/document.xml"].itertext())
    assert "word/endnotes.xml" not in parts


TEXT = {f"{WORD}{name}" for name in ("t", "br", "tab")}
"""What a text with line breaks and tabs is made of."""


@settings(max_examples=15)
@given(PIECES)
@example("\n\n# Head\tline")
def test_outside_text_makes_no_word_markup(text: str) -> None:
    wanted, found = word_parts(report_stating("word")), word_parts(report_stating(f"word {text} word"))
    for name in ("word/document.xml", "word/endnotes.xml"):
        assert [e.tag for e in found[name].iter() if e.tag not in TEXT] == [
            e.tag for e in wanted[name].iter() if e.tag not in TEXT
        ]


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


def by_pandoc(data: bytes, kind: str) -> Any:
    read = subprocess.run(
        ["pandoc", "--sandbox", "-f", kind, "-t", "csljson"], input=data, capture_output=True, check=True
    )
    return {entry["URL"]: entry for entry in json.loads(read.stdout)}


@pytest.mark.skipif(shutil.which("pandoc") is None, reason="NOT TESTED: pandoc is not installed")
@pytest.mark.parametrize(("exporter", "kind"), [(BibtexExporter(), "biblatex"), (CslJsonExporter(), "csljson")])
@pytest.mark.parametrize("text", ["word", 'A {brace}, 50 % & "quotes" \\ back_slash $x$ #1'])
def test_pandoc_reads_the_references_as_they_are(exporter: Any, kind: str, text: str) -> None:
    report = SAMPLE.report if text == "word" else report_stating(text)
    found = by_pandoc(exporter.render(report, SAMPLE.documents), kind)
    assert set(found) == {reference.url for reference in report.references}
    for reference in report.references:
        entry = found[reference.url]
        plain = entry["title"].replace("“", '"').replace("”", '"')
        assert re.sub(r"<[^>]+>|\\", "", plain) == re.sub(r"\\", "", reference.title)
        assert entry["accessed"]["date-parts"] == [[2026, 11, 21]]


def test_another_parser_reads_ris() -> None:
    rispy = pytest.importorskip("rispy", reason="NOT TESTED: rispy is not installed")
    found = rispy.loads(RisExporter().render(SAMPLE.report, SAMPLE.documents).decode())
    assert [entry["urls"] for entry in found] == [[reference.url] for reference in SAMPLE.report.references]
    assert found[1]["title"] == "A history of the coast"
    assert found[1]["authors"] == ["Ada Berg"]
    assert found[1]["access_date"] == "2026/11/21"


@pytest.mark.long
@pytest.mark.skipif(shutil.which("soffice") is None, reason="NOT TESTED: LibreOffice is not installed")
@pytest.mark.parametrize("report", [SAMPLE.report, empty_report(), report_stating("".join(HOSTILE[:-1]))])
def test_libreoffice_opens_word(report: Report, tmp_path: Any) -> None:
    (tmp_path / "report.docx").write_bytes(DocxExporter().render(report, SAMPLE.documents))
    profile = f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}"
    convert = ["soffice", "--headless", profile, "--convert-to", "txt:Text", "--outdir", str(tmp_path)]
    subprocess.run([*convert, str(tmp_path / "report.docx")], capture_output=True, check=True, timeout=300)
    text = (tmp_path / "report.txt").read_text(encoding="utf-8-sig")
    for section in report.sections:
        assert one_line(section.heading) in text
    for reference in report.references:
        assert reference.url in text, "the notes came along"


def test_every_number_of_a_report_has_its_reference() -> None:
    """No exporter ever sees another report: it can't be built, and a look-up of an unknown number is an error."""
    report = SAMPLE.report
    with pytest.raises(PinciteError, match="cites"):
        replace(report, references=report.references[:-1])
    with pytest.raises(NotFound, match=r"no reference \[9\]"):
        report.reference(9)
    claimed = replace(report, title="[9](citation:9) and [9]")
    for exporter in (MarkdownExporter(), MarkdownExporter("[n](citation:n)")):
        read = exporter.render(claimed, SAMPLE.documents).decode()
        assert not re.search(r"(?<!\\)\[9\]", read), "what only looks like a mark is text"


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
        "https://society.example/history?id=7",
    ):
        assert expected in read
    assert re.search(r"\b1 ?/ ?4\b", read), "pages are numbered"
    assert "Open the live page" not in read, "paper has no links"


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
