"""Reports as people and programs write them: every form of citation leads to its page."""

import io
import zipfile

import anyio
import pytest
from tests.fakes.small_web import SmallWeb

from pincite.audit.findings import Audit, AuditVerdict, ReferenceState
from pincite.audit.pages import PageReading
from pincite.audit.parse import parse_report
from pincite.audit.render import annotated_markdown
from pincite.audit.service import AuditService
from pincite.domain.errors import DeadLink, InvalidInput
from pincite.domain.fetch import FetchRequest, FetchResult
from pincite.exports.docx import DocxExporter
from pincite.exports.html import HtmlExporter
from pincite.fetch.extractors.office import report_markdown
from pincite.ports import Exporter
from pincite.testing.judges import PageReader
from pincite.testing.reports import sample_report

WIND, BRIDGE, TRIAL = (
    "https://www.sarvik.org/wind",
    "https://www.kessel.net/bridge",
    "https://doi.org/10.1234/abcd.5678",
)
PAGES = {
    WIND: "The Sarvik wind farm has 58 turbines with a combined capacity of 464 MW. The project cost €1.3 billion.",
    BRIDGE: "The Kessel Bridge, completed in 1937, spans 1,280 metres between its two towers.",
    TRIAL: "In the trial, 1,204 adults with type 2 diabetes received either velatide or placebo for 26 weeks.",
}
A = "Sarvik's 58 turbines have a capacity of 464 MW"
B = "The Kessel Bridge was completed in 1937"
C = "The trial had 1,204 adults with type 2 diabetes"
LIE = "The project cost €2.3 billion"

TELLS = {
    f"{A}.": "58 turbines with a combined capacity",
    f"{A} x.": "58 turbines with a combined capacity",
    f"Wind: {A}.": "58 turbines with a combined capacity",
    f"{B}.": "completed in 1937",
    f"{C}.": "1,204 adults",
}

FORMS = {
    "round numbers": f"{A} (1). {B} (2). {C} (1,3). {LIE} (1).\n\nReferences\n\n"
    "1. Norr A. Wind. Energy. 2021;3(2):1-9. "
    f"Available from: {WIND}\n2. Strand J. Bridge. {BRIDGE}\n3. Smith B. Velatide. doi:10.1234/abcd.5678\n",
    "raised list": f"{A}.¹ {B}.² {C}.¹˒³ {LIE}.¹\n\n¹ Sarvik {WIND}\n² Kessel {BRIDGE}\n³ {TRIAL}\n",
    "wiki pages": f"{A}.[1][3] {B}.[2]:14 {C}.[3] {LIE}.[1]\n\n"
    f"References\n1. ^ Sarvik. {WIND}\n2. ^ a b Kessel. {BRIDGE}\n"
    f"3. {TRIAL}\n",
    "label behind the full stop": f"- **Wind**: {A}. [Sarvik]({WIND})\n"
    f"- {B}. ([Kessel]({BRIDGE}))\n- {C}. [Trial]({TRIAL})\n"
    f"- {LIE}. [Sarvik site]({WIND})\n\nSources: [Sarvik]({WIND}), [Kessel]({BRIDGE}), [Trial]({TRIAL})\n",
    "spelled out": f"{A} (Source 1). {B} (see source 2). {C} [Source: 3]. {LIE} (ref 1).\n\nSource 1: {WIND}\n"
    f"Source 2: {BRIDGE}\nSource 3: {TRIAL}\n",
    "notes without a heading": f"{A}.1 {B}.2 {C}.3 {LIE}.1\n\n---\n"
    f"1. A. Norr, \"Wind,\" Energy, March 3, 2021, {WIND}.\n"
    f"2. Strand, Bridge, {BRIDGE}.\n3. {TRIAL}\n",
    "author and page": f"{A} (Norr 3). {B} (Strand). {C} (Smith et al. 12-14). {LIE} (Norr).\n\nWorks Cited\n\n"
    f"Norr, Anna. \"Wind.\" Energy, {WIND}.\nStrand, Josef. Bridges. {BRIDGE}.\nSmith, Bea. Trial. {TRIAL}.\n",
    "raised in HTML": f"<html><body><p>{A}.<sup><a href='#r1'>1</a></sup> {B}<sup>[2]</sup>. {C}.<sup>3</sup> {LIE}."
    f"<sup>[1]</sup></p><h2>References</h2>"
    f"<ol><li>{WIND}</li><li><a href='{BRIDGE}'>Bridge</a></li><li>{TRIAL}</li></ol>"
    "</body></html>",
}  # fmt: skip


def audit(text: str) -> Audit:
    return anyio.run(lambda: AuditService(PageReader(TELLS), to_markdown=report_markdown).audit(text, sources=PAGES))


@pytest.mark.parametrize("form", list(FORMS))
def test_every_form_leads_to_its_page(form: str) -> None:
    found = audit(FORMS[form])
    outcomes = [sentence.outcome for sentence in found.claims]
    assert outcomes == [AuditVerdict.SUPPORTED] * 3 + [AuditVerdict.CONTRADICTED], [
        (s.text, s.outcome.value, s.detail) for s in found.claims
    ]
    assert not found.never_cited


def test_a_number_in_brackets_without_an_entry_is_no_marker() -> None:
    found = audit(f"{A} (3).\n\nReferences\n\n1. {WIND}\n")
    assert [sentence.outcome for sentence in found.claims] == [AuditVerdict.UNCITED]


def test_a_sentence_that_is_a_link_is_a_sentence() -> None:
    found = audit(f"{A} [x]({WIND}). [{B}]({BRIDGE}).\n")
    assert [sentence.outcome for sentence in found.claims] == [AuditVerdict.SUPPORTED] * 2


W = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)


def test_a_document_keeps_its_endnotes_and_the_rows_of_its_tables() -> None:
    rows = "".join(
        "<w:tr>" + "".join(f"<w:tc><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>" for text in row) + "</w:tr>"
        for row in (("Wind", "58 turbines"), ("Bridge", "2 towers"))
    )
    document = (
        f'<w:document {W}><w:body><w:p><w:r><w:t>It opened.</w:t></w:r><w:r><w:endnoteReference w:id="2"/></w:r>'
        f'<w:r><w:footnoteReference w:id="2"/></w:r></w:p><w:tbl>{rows}</w:tbl></w:body></w:document>'
    )
    notes = '<w:{0}s {1}><w:{0} w:id="2"><w:p><w:r><w:t>Of the {0}</w:t></w:r></w:p></w:{0}></w:{0}s>'
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("word/document.xml", document)
        for kind in ("endnote", "footnote"):
            archive.writestr(f"word/{kind}s.xml", notes.format(kind, W))
    text = report_markdown(packed.getvalue())
    assert "| Wind | 58 turbines |" in text
    parsed = parse_report(text)
    assert [(entry.key, entry.text) for entry in parsed.references] == [
        ("1", "Of the endnote"),
        ("2", "Of the footnote"),
    ]
    assert next((one.claim, one.references) for one in parsed.sentences) == ("It opened.", (0, 1))


def test_an_address_that_the_given_pages_do_not_have_is_not_called_dead() -> None:
    class Given(SmallWeb):
        async def fetch(self, request: FetchRequest) -> FetchResult:
            if request.url == TRIAL:
                raise DeadLink("no source has this page", reason="unknown_page")
            return await super().fetch(request)

    service = AuditService(None, PageReading(Given(PAGES)))
    found = anyio.run(service.audit, f"{A} [1]. {C} [2].\n\nReferences\n[1] {WIND}\n[2] {TRIAL}\n")
    assert [reference.state for reference in found.references] == [ReferenceState.READ, ReferenceState.NOT_GIVEN]
    assert "could not check: could not check" not in annotated_markdown(found)


@pytest.mark.parametrize("exporter", [HtmlExporter(), DocxExporter()], ids=["html", "docx"])
def test_a_layout_of_ours_is_no_text_to_audit(exporter: Exporter) -> None:
    """Its passages were taken for sentences that cite nothing."""
    sample = sample_report()
    exported = exporter.render(sample.report, sample.documents)
    with pytest.raises(InvalidInput, match="laid out with its passages") as found:
        anyio.run(AuditService(to_markdown=report_markdown).audit, exported)
    assert "pincite check" in found.value.hint


def test_html_is_read_whole_and_only_where_somebody_can() -> None:
    page = f"<html><p>{A}.[1]</p><h2>Sources</h2><ol><li><a href='{WIND}'>Wind</a></li></ol></html>"
    assert f"1. [Wind]({WIND})" in report_markdown(page), "the list of sources is no frame"
    with pytest.raises(InvalidInput, match="nobody is here"):
        anyio.run(AuditService().audit, page)
    with pytest.raises(InvalidInput, match="can't be read"):
        anyio.run(AuditService(to_markdown=report_markdown).audit, f"<html>{'<p>' * 3_000_000}</html>")
