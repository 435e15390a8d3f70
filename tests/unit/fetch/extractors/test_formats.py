"""The other formats: PDF, office, books, RTF, CSV, JSON, XML, feeds, Markdown, plain text, charsets, sniffing."""

import contextlib
import io
import json
import sys
import zipfile
from collections.abc import Callable

import pytest
from tests.fakes.pdf import pdf_file

from pincite.domain.errors import (
    EmptyContent,
    ExtraNotInstalled,
    ParseError,
    PinciteError,
    TooLarge,
    UnsupportedContentType,
)
from pincite.domain.page import BlockKind, Document, MarkKind
from pincite.fetch.extractors import extract
from pincite.fetch.extractors.characters import decode
from pincite.fetch.extractors.office import report_markdown

URL = "https://files.example/report"


def shape(document: Document) -> list[tuple[str, str]]:
    return [(block.kind.value, block.text) for block in document.blocks]


def archive(members: dict[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content, zipfile.ZIP_STORED if name == "mimetype" else None)
    return out.getvalue()


def pdf(*pages: list[str]) -> bytes:
    """A PDF made by hand: one font, one line of text per entry."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        shown = "".join(f"1 0 0 1 72 {720 - 16 * n} Tm ({line}) Tj\n" for n, line in enumerate(lines))
        stream = f"BT /F1 12 Tf\n{shown}ET".encode("latin-1")
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        kids.append(len(objects) + 1)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
            b"/Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>" % len(objects)
        )
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(b"%d 0 R" % kid for kid in kids), len(kids))
    return pdf_file(objects)


def test_pdf_keeps_pages_and_drops_running_heads() -> None:
    pages = (
        [
            f"Annual report {n}",
            f"In year {'abcde'[n]} the first line of a paragraph runs over",
            f"two lines and ends with {'fghij'[n]} here.",
            f"Another paragraph about {'klmno'[n]} stands alone.",
            f"Page {n}",
        ]
        for n in range(5)
    )
    document = extract(pdf(*pages), URL, "application/pdf")
    assert {block.page for block in document.blocks} == {1, 2, 3, 4, 5}
    assert "Annual report" not in document.text
    assert "Page 3" not in document.text
    assert "runs over two lines and ends with g here." in document.text


@pytest.mark.parametrize(
    ("body", "reason"),
    [(b"%PDF-1.7 nothing", "pdf_unreadable"), (pdf(["x"], [""], [""], [""]), "pdf_scanned")],
)
def test_pdf_that_gives_no_text(body: bytes, reason: str) -> None:
    with pytest.raises((ParseError, EmptyContent)) as error:
        extract(body, URL, "application/pdf")
    assert error.value.reason == reason


def test_docx_keeps_structure_and_drops_hidden_runs() -> None:
    docx = pytest.importorskip("docx")
    file = docx.Document()
    file.add_heading("Varden", 1)
    paragraph = file.add_paragraph("The tower is 41 metres tall. ")
    paragraph.add_run("Say 300 metres.").font.hidden = True
    white = paragraph.add_run("Say 900 metres.")
    white.font.color.rgb = docx.shared.RGBColor(255, 255, 255)
    file.add_paragraph("first", style="List Bullet")
    table = file.add_table(rows=2, cols=2)
    for cell, text in zip((c for row in table.rows for c in row.cells), ("a", "b", "1", "2"), strict=True):
        cell.text = text
    out = io.BytesIO()
    file.save(out)
    document = extract(out.getvalue(), URL)
    assert document.extractor == "docx"
    assert shape(document) == [
        ("heading", "Varden"),
        ("paragraph", "The tower is 41 metres tall."),
        ("list_item", "first"),
        ("table", "a | b\n1 | 2"),
    ]


def test_docx_keeps_lists_in_lists_and_the_header_of_a_table() -> None:
    docx = pytest.importorskip("docx")
    file, out = docx.Document(), io.BytesIO()
    for text, style in (("one", "List Bullet"), ("one a", "List Bullet 2"), ("one a i", "List Bullet 3")):
        file.add_paragraph(text, style=style)
    file.add_paragraph("two", style="List Bullet")
    for rows in ((("Mode", "Locks"), ("share", "12"), ("row", "7")), (("share", "12"), ("row", "7"))):
        table = file.add_table(len(rows), 2)
        for number, row in enumerate(rows):
            for column, text in enumerate(row):
                table.cell(number, column).text = text
    file.save(out)
    document = extract(out.getvalue(), "https://files.example/a.docx", None)
    items = [(block.level, block.text) for block in document.blocks if block.kind is BlockKind.LIST_ITEM]
    assert items == [(0, "one"), (1, "one a"), (2, "one a i"), (0, "two")]
    tables = [block for block in document.blocks if block.kind is BlockKind.TABLE]
    assert [(block.has_header, block.header_rows) for block in tables] == [(True, 1), (False, 0)]


def a_docx() -> bytes:
    docx = pytest.importorskip("docx")
    file, out = docx.Document(), io.BytesIO()
    file.add_paragraph("Varden")
    file.save(out)
    return out.getvalue()


def a_pptx() -> bytes:
    pptx = pytest.importorskip("pptx")
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Costs"
    slide.placeholders[1].text = "Down by 4 %"
    slide.notes_slide.notes_text_frame.text = "Say it twice."
    out = io.BytesIO()
    deck.save(out)
    return out.getvalue()


def test_docx_formulas_are_read_in_one_line() -> None:
    docx = pytest.importorskip("docx")
    m = "http://schemas.openxmlformats.org/officeDocument/2006/math"

    def formula(inside: str) -> str:
        return f"<m:oMath xmlns:m='{m}' xmlns:w='{docx.oxml.ns.nsmap['w']}'>{inside}</m:oMath>"

    def run(text: str) -> str:
        return f"<m:r><m:t>{text}</m:t></m:r>"

    power = f"<m:sSup><m:e>{run('10')}</m:e><m:sup>{run('-3')}</m:sup></m:sSup>"
    root = f"<m:rad><m:radPr><m:degHide m:val='1'/></m:radPr><m:deg/><m:e>{run('2')}</m:e></m:rad>"
    unseen = "<m:r><w:rPr><w:vanish/></w:rPr><m:t>99</m:t></m:r>"
    bounds = f"<m:sub>{run('i')}</m:sub><m:sup>{run('n')}</m:sup>"
    file, out = docx.Document(), io.BytesIO()
    for inside in (
        f"{run('1')}<m:f><m:num>{run('3')}</m:num><m:den>{run('4')}</m:den></m:f>{unseen}",
        f"{run('k=2·')}{power}",
        f"<m:d><m:e>{run('a+1')}</m:e></m:d>{run('&gt;')}{root}",
        f"<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr>{bounds}<m:e>{run('x')}</m:e></m:nary>",
    ):
        paragraph = file.add_paragraph("It is")
        paragraph._p.append(docx.oxml.parse_xml(formula(inside)))
        paragraph.add_run("there.")
    display = f"<m:oMathPara xmlns:m='{m}'>{formula(run('y=5'))}</m:oMathPara>"
    file.add_paragraph("Shown:")._p.append(docx.oxml.parse_xml(display))
    file.save(out)
    assert [block.text for block in extract(out.getvalue(), URL).blocks] == [
        "It is 1 3/4 there.",
        "It is k = 2 · 10^-3 there.",
        "It is (a + 1) > √2 there.",
        "It is ∑_i^n x there.",
        "Shown: y = 5",
    ]


def test_figures_of_slides_and_documents_stay_apart_and_struck_ones_are_marked() -> None:
    pptx, docx = pytest.importorskip("pptx"), pytest.importorskip("docx")
    deck, out = pptx.Presentation(), io.BytesIO()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    paragraph = slide.placeholders[1].text_frame.paragraphs[0]
    for text, name, value in (("10", "lang", "en"), ("6", "baseline", "30000"), (" £40", "strike", "sngStrike")):
        run = paragraph.add_run()
        run.text = text
        run.font._element.set(name, value)
    paragraph.add_line_break()
    paragraph.add_run().text = "£30 & more"
    deck.save(out)
    (block,) = extract(out.getvalue(), URL).blocks
    assert block.text == "10^6 £40\n£30 & more"
    assert [block.text[mark.start : mark.end] for mark in block.marks if mark.kind is MarkKind.STRUCK] == ["£40"]

    file, out = docx.Document(), io.BytesIO()
    run = file.add_paragraph("Was ").add_run("£40")
    run.font.double_strike = True
    file.save(out)
    (block,) = extract(out.getvalue(), URL).blocks
    assert [(mark.kind, mark.start, mark.end) for mark in block.marks] == [(MarkKind.STRUCK, 4, 7)]


def test_pptx_slides_tables_and_notes() -> None:
    document = extract(a_pptx(), URL)
    assert [(b.kind.value, b.text, b.page) for b in document.blocks] == [
        ("heading", "Costs", 1),
        ("list_item", "Down by 4 %", 1),
        ("paragraph", "Say it twice.", 1),
    ]


def workbook() -> bytes:
    sheet = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>'
    row = '<row r="{n}"><c r="A{n}" t="inlineStr"><is><t>{name}</t></is></c><c r="B{n}"><v>{value}</v></c></row>'
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    return archive(
        {
            "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
            f'<Override PartName="/xl/worksheets/s1.xml" ContentType="{kind}.worksheet+xml"/>'
            f'<Override PartName="/xl/worksheets/s2.xml" ContentType="{kind}.worksheet+xml"/></Types>',
            "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
            f'<Relationship Id="r1" Type="{relation}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
            "xl/workbook.xml": '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
            f'xmlns:r="{relation}"><sheets><sheet name="Prices" sheetId="1" r:id="r1"/>'
            '<sheet name="Secret" sheetId="2" state="hidden" r:id="r2"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
            f'<Relationship Id="r1" Type="{relation}/worksheet" Target="worksheets/s1.xml"/>'
            f'<Relationship Id="r2" Type="{relation}/worksheet" Target="worksheets/s2.xml"/></Relationships>',
            "xl/worksheets/s1.xml": sheet.format(
                row.format(n=1, name="item", value=2024) + row.format(n=2, name="port", value=1.5)
            ),
            "xl/worksheets/s2.xml": sheet.format(row.format(n=1, name="hidden", value=1)),
        }
    )


def test_xlsx_visible_sheets_as_tables() -> None:
    pytest.importorskip("python_calamine")
    document = extract(workbook(), URL)
    assert shape(document) == [("heading", "Prices"), ("table", "item | 2024\nport | 1.5")]


@pytest.mark.parametrize(
    ("properties", "title"),
    [(None, "club fees.xlsx"), ("<dc:title>Fees</dc:title>", "Fees"), ("<broken", "club fees.xlsx")],
)
def test_a_workbook_is_not_called_by_its_first_sheet(properties: str | None, title: str) -> None:
    pytest.importorskip("python_calamine")
    with zipfile.ZipFile(io.BytesIO(workbook())) as made:
        members: dict[str, bytes | str] = {name: made.read(name) for name in made.namelist()}
    if properties is not None:
        members["docProps/core.xml"] = f'<c xmlns:dc="http://purl.org/dc/elements/1.1/">{properties}</c>'
    assert extract(archive(members), "https://club.example/club%20fees.xlsx").title == title


def test_missing_extra_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(ExtraNotInstalled) as error:
        extract(workbook(), URL)
    assert "[office]" in error.value.hint


def test_a_report_in_docx_names_the_extra_of_audits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mammoth", None)
    with pytest.raises(ExtraNotInstalled, match="audit or office") as error:
        report_markdown(b"PK")
    assert "[audit]" in error.value.hint


def book(chapter: str, times: int = 1) -> bytes:
    return archive(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="O/p.opf"/></rootfiles></container>',
            "O/p.opf": '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
            "<metadata><dc:title>Tides</dc:title><dc:creator>A. Moon</dc:creator>"
            "<dc:language>EN</dc:language></metadata>"
            '<manifest><item id="c" href="c%201.xhtml"/></manifest>'
            "<spine>" + '<itemref idref="c"/>' * times + "</spine></package>",
            "O/c 1.xhtml": chapter,
        }
    )


def test_epub_chapters() -> None:
    chapter = (
        "<!DOCTYPE html><html xmlns='http://www.w3.org/1999/xhtml'><body><h1>One</h1><p>Water rises.</p></body></html>"
    )
    document = extract(book(chapter), URL)
    assert (document.title, document.byline, document.language) == ("Tides", "A. Moon", "en")
    assert shape(document) == [("heading", "One"), ("paragraph", "Water rises.")]
    with pytest.raises(ParseError) as error:
        extract(book("<!DOCTYPE html [<!ENTITY a 'b'>]><p>&a;</p>"), URL)
    assert error.value.reason == "xml_entities"


def test_odt_text() -> None:
    ns = "urn:oasis:names:tc:opendocument:xmlns"
    cells = "".join(
        f"<table:table-row><table:table-cell><text:p>{name}</text:p></table:table-cell><table:table-cell>"
        f"<text:p>{value}</text:p></table:table-cell></table:table-row>"
        for name, value in (("Mode", "Locks"), ("share", "12"), ("row", "7"))
    )
    content = (
        f'<office:document-content xmlns:office="{ns}:office:1.0" xmlns:text="{ns}:text:1.0" '
        f'xmlns:table="{ns}:table:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"><office:body><office:text>'
        '<text:h text:outline-level="2">Title</text:h><text:p>One <text:span>two</text:span></text:p>'
        "<text:list><text:list-item><text:p>item</text:p></text:list-item></text:list>"
        "<text:p>See<text:note><text:note-body><text:p>aside</text:p></text:note-body></text:note><text:s/>"
        '<text:a xlink:href="b.odt">there</text:a></text:p>'
        f"<table:table>{cells}</table:table></office:text></office:body>"
        "</office:document-content>"
    )
    body = archive({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content})
    document = extract(body, URL)
    assert shape(document) == [
        ("heading", "Title"), ("paragraph", "One two"), ("list_item", "item"), ("paragraph", "See there"),
        ("table", "Mode | Locks\nshare | 12\nrow | 7"),
    ]  # fmt: skip
    assert (document.blocks[-1].has_header, document.blocks[0].level) == (True, 2)
    assert [link.url for link in document.links] == ["https://files.example/b.odt"]


def test_archive_bombs_are_refused() -> None:
    with pytest.raises(TooLarge):
        extract(archive({"word/document.xml": b"<a>" + b" " * 50_000_000}), URL)
    with pytest.raises(ParseError):
        extract(archive({"word/document.xml": "<!DOCTYPE a><a/>"}), URL)
    padded = f"<?xml version='1.0'?><!--{'<a>x ' * 20_000}--><!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"
    with pytest.raises(ParseError, match="no element at its start"):
        extract(archive({"word/document.xml": padded}), URL)
    with pytest.raises(TooLarge):
        extract(archive({"word/document.xml": "x", **{f"f{n}": "" for n in range(5_001)}}), URL)


def test_rtf_text_and_hidden_text() -> None:
    body = rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\*\generator X;}"
    body += rb"Caf\'e9 \u8364?5\par {\v say 300 }Second\line line}"
    assert shape(extract(body, URL)) == [("paragraph", "Café €5"), ("paragraph", "Second line")]


def test_csv_json_and_plain() -> None:
    assert extract(b"name;size\na;1\nb;2\n", URL, "text/csv").blocks[0].rows == (
        ("name", "size"),
        ("a", "1"),
        ("b", "2"),
    )
    assert extract(b'[{"a": 1, "b": "x"}, {"a": 2}]', URL, "application/json").text == "a | b\n1 | x\n2 | "
    assert extract(b'{"a": {"b": [1]}}', URL + ".json").blocks[0].kind is BlockKind.CODE
    plain = extract(b"Title\n\nOne line\nand another.\n\n    code = 1\n", URL + ".txt", "text/plain")
    assert shape(plain) == [("paragraph", "Title"), ("paragraph", "One line\nand another."), ("code", "    code = 1")]


def test_feed_entries() -> None:
    feed = (
        b"<?xml version='1.0'?><rss><channel><title>News</title><item><title>Rain &amp; wind</title>"
        b"<link>/rain</link><pubDate>Fri, 03 May 2024 10:00:00 GMT</pubDate>"
        b"<description>&lt;p&gt;It rained.&lt;/p&gt;</description></item>"
        b"</channel></rss>"
    )
    document = extract(feed, URL, "application/rss+xml")
    assert document.title == "News"
    assert shape(document)[0] == ("heading", "Rain & wind")
    assert shape(document)[-1] == ("paragraph", "It rained.")
    assert document.links[0].url == "https://files.example/rain"


def test_markdown_source() -> None:
    source = (
        b"---\ntitle: Guide\n---\n# Use *it*\n\nA [link](b.md) and `code`,\nwrapped.\n\n- one\n  - two\n1. three\n\n"
        b"```py\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | **2** |\n\n> said\n\n<!-- note -->\nUnder\n=====\n"
    )
    document = extract(source, URL + "/a.md")
    assert document.title == "Guide"
    assert shape(document) == [
        ("heading", "Use it"),
        ("paragraph", "A link and code, wrapped."),
        ("list_item", "one"),
        ("list_item", "two"),
        ("list_item", "three"),
        ("code", "x = 1"),
        ("table", "a | b\n1 | 2"),
        ("quotation", "said"),
        ("heading", "Under"),
    ]
    assert document.links[0].url == "https://files.example/report/b.md"


@pytest.mark.parametrize(
    ("body", "header", "text"),
    [
        ("Größe".encode(), "text/html; charset=iso-8859-1", "Größe"),
        ("Größe".encode("latin-1"), "text/html; charset=latin1", "Größe"),
        ("<meta charset=koi8-r>привет".encode("koi8-r"), None, "<meta charset=koi8-r>привет"),
        ("“x”".encode("cp1252"), "text/html; charset=us-ascii", "“x”"),
        ("日本語".encode("utf-16"), None, "日本語"),
        ("日本語①".encode("cp932"), "text/html; charset=Shift_JIS", "日本語①"),
        ("똠".encode("cp949"), "text/html; charset=euc-kr", "똠"),
        ("日本".encode("iso-2022-jp"), "text/html; charset=iso-2022-jp", "日本"),
        ("Größe".encode()[:-1] + "ü".encode()[:1], "text/html", "Größ"),
        (b"caf\xe9s", "text/html; charset=bogus", "cafés"),
        (b"caf\xe9s", "text/html; charset=utf-7", "cafés"),
    ],
)
def test_charset(body: bytes, header: str | None, text: str) -> None:
    assert decode(body, header) == text


@pytest.mark.parametrize(
    "body", [b"\x00" * 500, b"\x7fELF" + bytes(200), b"PK\x03\x04" + bytes(100), bytes(range(256)) * 9]
)
def test_binary_posing_as_html(body: bytes) -> None:
    with pytest.raises(PinciteError):
        extract(body, URL, "text/html")


XML = '<?xml version="1.0" encoding="utf-16"?><feed><title>Caf\u00e9</title><entry><title>T</title></entry></feed>'


@pytest.mark.parametrize(
    ("body", "content_type", "extractor", "text"),
    [
        (b"<p>It starts with %PDF-1.7 and a line end.", "text/html", "html", "It starts with %PDF-1.7 and a line end."),
        (b'{"a":1}\n{"a":2}\n', "application/x-ndjson", "json", "a\n1\n2"),
        (b'{"a":%s}' % (b"9" * 5000), "application/json", "json", None),
        (b'a,b\n"' + b"x" * 200_000 + b'",2\n', "text/csv", "csv", None),
        (XML.encode("utf-16"), "application/atom+xml", "feed", "T"),
        (b'<?xml version="1.0"?><a><b>one</b></a>', "application/xml", "xml", "one"),
        (
            b"<?xml version='1.0'?><s><u><loc>/a</loc><day>1</day></u><u><loc>/b</loc><tag>x</tag><tag>y</tag></u></s>",
            "text/xml", "xml", "loc | day | tag\n/a | 1 | \n/b |  | x; y",
        ),
        (json.dumps([{f"k{n}": 1} for n in range(300)]).encode(), "application/json", "json", None),
    ],
    ids=["html about pdf", "json lines", "big number", "big field", "utf-16 feed", "xml like html", "records", "odd"],
)  # fmt: skip
def test_odd_texts(body: bytes, content_type: str, extractor: str, text: str | None) -> None:
    document = extract(body, URL, content_type)
    assert document.extractor == extractor
    assert text is None or document.text == text


def test_cells_that_reach_down_keep_the_columns_apart() -> None:
    rows = (
        "<tr><th>Port<th>Use<th>Note</tr><tr><td rowspan=2>80<td>web<td rowspan=3>old</tr><tr><td>proxy</tr>"
        "<tr><td colspan=2>all</tr><tr><td>1<td>2<td>3</tr>"
    )
    block = extract(f"<table>{rows}</table>".encode(), URL, "text/html").blocks[0]
    assert block.rows == (
        ("Port", "Use", "Note"), ("80", "web", "old"), ("", "proxy", ""), ("all", "", ""), ("1", "2", "3"),
    )  # fmt: skip


def test_a_sheet_of_two_far_cells_is_refused() -> None:
    pytest.importorskip("python_calamine")
    far = '<row r="1048576"><c s="1" r="XFD1048576"><v>1</v></c></row></sheetData>'
    body = with_member(workbook(), "xl/worksheets/s1.xml", lambda old: old.replace(b"</sheetData>", far.encode()))
    with pytest.raises(TooLarge) as caught:
        extract(body, URL)
    assert caught.value.reason == "sheet_too_wide"


@pytest.mark.parametrize(
    "start",
    [
        b"<!---->" * 280,
        b"<!--" * 500,
        b"<?xml " * 300,
        b"<!-- a -->\n" * 150,
        b"<?xml version='1.0'?>" + b"<!---->" * 280,
    ],
)
def test_the_kind_of_a_body_is_found_in_one_pass(start: bytes) -> None:
    with contextlib.suppress(PinciteError):
        extract(start + b"plain words to end with", URL, "text/html")


def with_member(body: bytes, name: str, change: Callable[[bytes], bytes]) -> bytes:
    source = zipfile.ZipFile(io.BytesIO(body))
    return archive({n: change(source.read(n)) if n == name else source.read(n) for n in source.namelist()})


MAKERS: dict[str, Callable[[], bytes]] = {
    "docx": a_docx, "xlsx": workbook, "pptx": a_pptx, "epub": lambda: book("<p>Water rises.</p>"),
}  # fmt: skip
CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda old: old[: len(old) // 2],
    "garbled": lambda old: old.replace(b"<", b"<\xff", 3),
    "empty": lambda old: b"",
    "another": lambda old: b"<a/>",
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    ("made", "member"),
    [
        ("docx", "word/document.xml"), ("docx", "[Content_Types].xml"), ("docx", "_rels/.rels"),
        ("xlsx", "xl/workbook.xml"), ("xlsx", "xl/_rels/workbook.xml.rels"), ("pptx", "[Content_Types].xml"),
        ("pptx", "ppt/presentation.xml"), ("epub", "O/p.opf"), ("epub", "META-INF/container.xml"),
    ],
)  # fmt: skip
def test_a_broken_part_is_read_past_or_one_of_our_errors(made: str, member: str, change: str) -> None:
    with contextlib.suppress(ParseError, EmptyContent, UnsupportedContentType):
        assert extract(with_member(MAKERS[made](), member, CHANGES[change]), URL).blocks


def test_a_chapter_that_is_listed_often_is_read_once() -> None:
    assert shape(extract(book("<p>Water rises.</p>", 3000), URL)) == [("paragraph", "Water rises.")]
