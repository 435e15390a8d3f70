"""DOCX, XLSX and PPTX to a Document, with the `office` extra; a report in DOCX or HTML to Markdown."""

import io
import re
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from functools import reduce
from html import escape, unescape
from typing import Any

from pincite.domain.errors import EmptyContent, ExtraNotInstalled, ParseError, TooLarge
from pincite.domain.page import Block, BlockKind, Document
from pincite.domain.page_markdown import document_markdown
from pincite.fetch.extractors import MAX_HTML_BYTES, VERSIONS
from pincite.fetch.extractors.blocks import BlockWalk, blocks_of
from pincite.fetch.extractors.characters import clean_line
from pincite.fetch.extractors.dom import parse
from pincite.fetch.extractors.ebooks import BROKEN, open_archive, read_member, xml_root
from pincite.fetch.extractors.formulas import M, formula_text
from pincite.fetch.extractors.html import file_document, fragment_blocks
from pincite.fetch.extractors.preformatted import file_name
from pincite.fetch.extractors.tables import NOTHING, Cell, join_rows, with_header
from pincite.runtime.system import install_extra

VERSION = VERSIONS["office"]
# "List Bullet 5" is the deepest that Word has.
_DEEPEST_STYLE = 5
# Word's own styles that mammoth's map leaves out: titles, and lists in lists by the name of their style.
_STYLES = "\n".join(
    (
        "p[style-name='Title'] => h1:fresh",
        "p[style-name='Subtitle'] => h2:fresh",
        *(
            f"p[style-name='List {name} {depth}'] => {'ul|ol > li > ' * (depth - 1)}{tag} > li:fresh"
            for name, tag in (("Bullet", "ul"), ("Number", "ol"))
            for depth in range(2, _DEEPEST_STYLE + 1)
        ),
    )
)
# Of a sheet: a bound on time and memory; what was cut is said.
MAX_ROWS = 100_000
# A passage is cut from a block: one of a whole sheet would be found for anything.
_ROWS_IN_BLOCK = 200
# A longer first line is text, not a title.
_TITLE_CHARS = 120
_KEEPS_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_DC_TITLE = "{http://purl.org/dc/elements/1.1/}title"
# A sheet may claim 17 billion cells with two of them filled.
_MAX_SPANNED_CELLS = 20_000_000
_CELL_NAME = re.compile(rb'<c\b[^<>]{0,200}?\br="([A-Z]{1,3})(\d{1,7})"')
_ALMOST_WHITE = re.compile(r"(?:F[4-9A-F]){3}", re.IGNORECASE)


def read_docx(body: bytes, url: str) -> Document:
    """The document in a DOCX file, hidden text left out.

    Errors:
        ExtraNotInstalled, ParseError, TooLarge, EmptyContent.
    """
    try:
        import mammoth
    except ImportError as error:
        raise _missing("DOCX") from error
    body = _with_readable_runs(body)
    try:
        converted = mammoth.convert_to_html(io.BytesIO(body), style_map=_STYLES)
    except BROKEN as error:
        raise ParseError("the DOCX file can't be read", reason="docx_unreadable") from error
    if not converted.value.strip():
        raise EmptyContent("the DOCX file has no text", reason="empty_page")
    return _document("docx", [with_header(block) for block in fragment_blocks(converted.value, url)], url)


def read_xlsx(body: bytes, url: str) -> Document:
    """The visible sheets of a workbook, each a heading and its rows.

    Errors:
        ExtraNotInstalled, ParseError, TooLarge, EmptyContent.
    """
    try:
        import python_calamine
    except ImportError as error:
        raise _missing("XLSX") from error
    archive = open_archive(body)
    _refuse_wide_sheets(archive)
    blocks: list[Block] = []
    try:
        book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(body))
        for sheet in book.sheets_metadata:
            if sheet.visible != python_calamine.SheetVisibleEnum.Visible:
                continue
            rows = book.get_sheet_by_name(sheet.name).to_python(skip_empty_area=True)
            cells = [tuple(_cell(value) for value in row) for row in rows[:MAX_ROWS]]
            blocks += sheet_blocks(sheet.name, [row for row in cells if any(row)])
    except (python_calamine.CalamineError, *BROKEN) as error:
        raise ParseError("the workbook can't be read", reason="xlsx_unreadable") from error
    # What the workbook says its title is (ECMA-376 part 2, core properties), else the name of its file.
    told = ""
    if "docProps/core.xml" in archive.namelist():
        with suppress(ParseError):  # damaged properties: the sheets are there to be read
            told = xml_root(read_member(archive, "docProps/core.xml")).findtext(_DC_TITLE) or ""
    return _document("xlsx", blocks, url, clean_line(told) or file_name(url))


def _refuse_wide_sheets(archive: zipfile.ZipFile) -> None:
    """Return when no sheet spans more cells than are read: the reader makes room for all between the outermost.

    Errors:
        TooLarge: `sheet_too_wide`.
    """
    for name in archive.namelist():
        if not name.startswith("xl/worksheets/") or not name.endswith(".xml"):
            continue
        rows, widest = 0, (0, b"")
        for cell in _CELL_NAME.finditer(read_member(archive, name)):
            rows, widest = max(rows, int(cell[2])), max(widest, (len(cell[1]), cell[1]))
        columns = reduce(lambda number, letter: 26 * number + letter - ord("@"), widest[1], 0)  # "AB" is the 28th
        if columns * rows > _MAX_SPANNED_CELLS:
            raise TooLarge(f"a sheet spans {columns * rows:,} cells", reason="sheet_too_wide")


def read_pptx(body: bytes, url: str) -> Document:
    """The slides of a presentation with their tables and speaker notes; `page` is the slide number.

    Errors:
        ExtraNotInstalled, ParseError, TooLarge, EmptyContent.
    """
    try:
        import pptx
        from pptx.exc import PythonPptxError
    except ImportError as error:
        raise _missing("PPTX") from error
    open_archive(body).close()
    blocks: list[Block] = []
    try:
        presentation = pptx.Presentation(io.BytesIO(body))
        for number, slide in enumerate(presentation.slides, start=1):
            if slide._element.get("show") != "0":  # noqa: SLF001  # the library has no name for hidden slides
                blocks += _slide(slide, number)
    except (PythonPptxError, *BROKEN) as error:
        raise ParseError("the presentation can't be read", reason="pptx_unreadable") from error
    return _document("pptx", blocks, url)


def sheet_blocks(name: str, rows: list[tuple[str, ...]]) -> list[Block]:
    """A heading and tables of rows; long sheets are split and each part begins with the first row."""
    if not rows:
        return []
    width = max(max(index for index, cell in enumerate(row) if cell) + 1 for row in rows)
    rows = [(row + ("",) * width)[:width] for row in rows]
    blocks = [Block(BlockKind.HEADING, name, level=2)] if name else []
    head = rows[0]
    for start in range(0, len(rows), _ROWS_IN_BLOCK):
        part = rows[start : start + _ROWS_IN_BLOCK]
        part = [head, *part] if start else part
        text = "\n".join(" | ".join(row) for row in part)
        blocks.append(Block(BlockKind.TABLE, text, rows=tuple(part), has_header=len(rows) > 1))
    return blocks


def _slide(slide: Any, number: int) -> Iterator[Block]:
    title = slide.shapes.title
    if title is not None and (named := clean_line(title.text_frame.text)):
        yield Block(BlockKind.HEADING, named, level=2, page=number)
    for shape in _shapes(slide.shapes):
        if title is not None and shape.shape_id == title.shape_id:
            continue
        if getattr(shape, "has_table", False):
            said_in = [
                [_rich("<br>".join(map(_markup, cell.text_frame.paragraphs))) for cell in row.cells]
                for row in shape.table.rows
            ]
            cells = [[Cell(said.text.replace("\n", " "), said.marks) for said in row] for row in said_in]
            text, marks = join_rows(cells)
            rows = tuple(tuple(cell.text for cell in row) for row in cells)
            yield Block(BlockKind.TABLE, text, rows=rows, has_header=True, marks=marks, page=number)
        elif shape.has_text_frame:
            for paragraph in shape.text_frame.paragraphs:
                said = _rich(_markup(paragraph))
                if said.text:
                    yield Block(BlockKind.LIST_ITEM, said.text, level=paragraph.level, marks=said.marks, page=number)
    if slide.has_notes_slide:
        for part in slide.notes_slide.notes_text_frame.text.split("\n"):
            if text := clean_line(part):
                yield Block(BlockKind.PARAGRAPH, text, page=number)


def _markup(paragraph: Any) -> str:
    """A paragraph of a slide as HTML: what is raised, lowered or struck out, and where its lines break."""
    parts: list[str] = []
    for part in paragraph._p:  # noqa: SLF001  # the library has no name for line breaks among runs
        if part.tag == f"{_DRAWING}br":
            parts.append("<br>")
        elif part.tag == f"{_DRAWING}r":
            text = escape("".join(piece.text or "" for piece in part.iter(f"{_DRAWING}t")))
            style = part.find(f"{_DRAWING}rPr")
            moved = style.get("baseline", "0").rstrip("%") if style is not None else "0"
            tag = "" if not moved.strip("-0") else "sub" if moved.startswith("-") else "sup"
            text = f"<{tag}>{text}</{tag}>" if tag else text
            is_struck = style is not None and style.get("strike", "noStrike") != "noStrike"
            parts.append(f"<s>{text}</s>" if is_struck else text)
    return "".join(parts)


def _rich(markup: str) -> Cell:
    """The text of some markup with its marks."""
    if "<" not in markup:
        return Cell(clean_line(unescape(markup)), ())
    block = next((item.block for item in BlockWalk("").run(parse(f"<p>{markup}</p>").root)), None)
    return NOTHING if block is None else Cell(block.text, block.marks)


def _shapes(shapes: Any, depth: int = 0) -> Iterator[Any]:
    for shape in shapes:
        if hasattr(shape, "shapes") and depth < 8:
            yield from _shapes(shape.shapes, depth + 1)
        else:
            yield shape


def _with_readable_runs(body: bytes) -> bytes:
    """The DOCX without hidden, white or tiny runs in its main part.

    Formulas become text, and what is struck out twice is struck out: mammoth passes over both.
    """
    from lxml import etree

    archive = open_archive(body)
    name = "word/document.xml"
    if name not in archive.namelist():
        raise ParseError("the DOCX file has no main part", reason="docx_unreadable")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(archive.read(name), parser)
    except BROKEN as error:
        raise ParseError("the DOCX file can't be read", reason="docx_unreadable") from error
    w = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
    hidden = [run for run in root.iter(f"{w}r", f"{M}r") if _is_hidden(run.find(f"{w}rPr"), w)]
    formulas = list(root.iter(f"{M}oMath"))
    struck = list(root.iter(f"{w}dstrike"))
    if not hidden and not formulas and not struck:
        return body
    for run in hidden:
        run.getparent().remove(run)
    for formula in formulas:
        run = etree.Element(f"{w}r")
        text = etree.SubElement(run, f"{w}t", {_KEEPS_SPACE: "preserve"})
        text.text = f" {formula_text(formula)} "
        holder = formula.getparent()
        if holder.tag == f"{M}oMathPara":  # a line of its own
            holder.addprevious(run)
        else:
            holder.replace(formula, run)
    for twice in struck:
        twice.tag = f"{w}strike"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as copy:
        for entry in archive.infolist():
            copy.writestr(entry, etree.tostring(root) if entry.filename == name else archive.read(entry))
    return out.getvalue()


def _is_hidden(properties: Any, w: str) -> bool:
    if properties is None:
        return False
    vanish = properties.find(f"{w}vanish")
    if vanish is not None and vanish.get(f"{w}val", "true") not in {"0", "false"}:
        return True
    colour, size = properties.find(f"{w}color"), properties.find(f"{w}sz")
    shaded = properties.find(f"{w}shd") is not None or properties.find(f"{w}highlight") is not None
    if colour is not None and _ALMOST_WHITE.fullmatch(colour.get(f"{w}val", "")) and not shaded:
        return True
    return size is not None and size.get(f"{w}val", "24") in {"0", "1", "2", "3", "4"}


def _cell(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return clean_line(str(value)) if value is not None else ""


def _document(kind: str, blocks: list[Block], url: str, title: str = "") -> Document:
    first = blocks[0].text.split("\n")[0] if blocks and blocks[0].kind is BlockKind.PARAGRAPH else ""
    title = title or next((block.text for block in blocks if block.kind is BlockKind.HEADING), first)
    return file_document(kind, VERSION, blocks, url, title=title if len(title) <= _TITLE_CHARS else "")


def _missing(what: str) -> ExtraNotInstalled:
    return ExtraNotInstalled(f"{what} files need the office extra", hint=f"Run: {install_extra('office')}")


def report_markdown(report: bytes | str) -> str:
    """The text of a DOCX file (bytes) or of HTML, with its links, lists, tables and notes; links inside stay such.

    Errors: ExtraNotInstalled (a DOCX without the extra), ParseError, TooLarge, EmptyContent.
    """
    if isinstance(report, bytes):
        try:
            return document_markdown(read_docx(report, ""))
        except ExtraNotInstalled as error:  # for a report alone the smaller of the two extras is enough
            what = "a report in DOCX needs the extra audit or office"
            raise ExtraNotInstalled(what, hint=f"Run: {install_extra('audit')}") from error
    if len(report) > MAX_HTML_BYTES:
        raise TooLarge(f"HTML of {len(report):,} characters is more than is read")
    return document_markdown(Document("html", "", blocks_of(BlockWalk("").run(parse(report).root))))
