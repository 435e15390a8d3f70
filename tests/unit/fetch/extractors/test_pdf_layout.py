"""What stands in a PDF file keeps its kind: tables, code, headings by size, contents; running heads are no text."""

import pytest
from tests.fakes.pdf import pdf_file

from pincite.domain.errors import PinciteError
from pincite.domain.page import BlockKind, Document
from pincite.fetch.extractors import extract

URL = "https://files.example/manual.pdf"
FONTS = {"F1": b"Helvetica", "F2": b"Courier", "F3": b"Helvetica-Bold"}

Drawn = tuple[float, float, float, str, str]  # x, y, size, font, text


def pdf(*pages: list[Drawn], strokes: str = "") -> bytes:
    """A PDF made by hand: each text at its place, in its font and size; `strokes` are drawn on each page."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    objects += [b"<< /Type /Font /Subtype /Type1 /BaseFont /%s >>" % name for name in FONTS.values()]
    fonts = b" ".join(b"/%s %d 0 R" % (key.encode(), place) for place, key in enumerate(FONTS, start=3))
    kids = []
    for page in pages:
        shown = "".join(f"/{font} {size} Tf 1 0 0 1 {x} {y} Tm ({text}) Tj\n" for x, y, size, font, text in page)
        stream = f"BT\n{shown}ET\n{strokes}".encode("latin-1")
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        kids.append(len(objects) + 1)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << %s >> >> /Contents %d 0 R >>"
            % (fonts, len(objects))
        )
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(b"%d 0 R" % kid for kid in kids), len(kids))
    return pdf_file(objects)


def lines(*texts: str, y: float = 700, x: float = 72, size: float = 10, font: str = "F1") -> list[Drawn]:
    return [(x, y - 13 * place, size, font, text) for place, text in enumerate(texts)]


def rows(*cells: tuple[str, ...], y: float, lefts: tuple[float, ...] = (72, 220, 360)) -> list[Drawn]:
    return [
        (left, y - 14 * place, 10, "F1", text)
        for place, row in enumerate(cells)
        for left, text in zip(lefts, row, strict=False)
    ]


def read(*pages: list[Drawn]) -> Document:
    return extract(pdf(*pages), URL, "application/pdf")


PROSE = lines(
    "The lock manager keeps one row for each lock that a transaction holds or waits",
    "for, and it gives them back when the transaction ends in one way or another.",
)


def of_kind(document: Document, kind: BlockKind) -> list[str]:
    return [block.text for block in document.blocks if block.kind is kind]


def test_a_table_by_its_columns_with_a_cell_of_two_lines() -> None:
    table = rows(("Mode", "Locks", "Cost"), ("share", "12", "1.5"), ("row exclusive", "7", "2.25"), y=640)
    table += [(72, 640 - 14 * 3, 10, "F1", "and more"), *rows(("exclusive", "3", "10"), y=640 - 14 * 4)]
    document = read(PROSE + table + lines("After the table another sentence follows, which is no row of it.", y=560))
    block = next(block for block in document.blocks if block.kind is BlockKind.TABLE)
    assert block.rows == (
        ("Mode", "Locks", "Cost"), ("share", "12", "1.5"), ("row exclusive and more", "7", "2.25"),
        ("exclusive", "3", "10"),
    )  # fmt: skip
    assert (block.has_header, block.header_rows, block.page) == (True, 1, 1)
    assert of_kind(document, BlockKind.PARAGRAPH)[-1] == (
        "After the table another sentence follows, which is no row of it."
    )


def test_two_columns_of_prose_are_no_table() -> None:
    left = "each line of this column holds words"
    columns: list[Drawn] = [(x, 640 - 13 * n, 10, "F1", f"{left} {n}") for n in range(6) for x in (72, 320)]
    document = read(PROSE + columns)
    assert not of_kind(document, BlockKind.TABLE)
    assert document.text.count("each line of this column") == 12


def test_numbered_items_are_no_table() -> None:
    items: list[Drawn] = [
        drawn
        for n in range(4)
        for drawn in ((72, 640 - 13 * n, 10, "F1", f"{n + 1}."), (100, 640 - 13 * n, 10, "F1", f"Step {n} is done."))
    ]
    assert not of_kind(read(PROSE + items), BlockKind.TABLE)


def test_code_stays_line_by_line_with_its_indents() -> None:
    code: list[Drawn] = [
        (90, 640, 9, "F2", "def locks\\(self\\):"),
        (90 + 4 * 5.4, 627, 9, "F2", "return 12"),
        (90, 601, 9, "F2", "print\\(locks\\)"),
    ]
    document = read(PROSE + code + lines("A sentence after the code.", y=570))
    assert of_kind(document, BlockKind.CODE) == ["def locks(self):\n    return 12\n\nprint(locks)"]
    assert of_kind(document, BlockKind.PARAGRAPH)[-1] == "A sentence after the code."


def test_headings_by_size() -> None:
    heads: list[Drawn] = [(72, 760, 20, "F3", "The manual"), (72, 730, 14, "F3", "1 Locks of tables")]
    document = read(heads + PROSE + [(72, 640, 14, "F3", "2 Locks of rows")] + lines("They cost more.", y=620))
    found = [(block.level, block.text) for block in document.blocks if block.kind is BlockKind.HEADING]
    assert found == [(1, "The manual"), (2, "1 Locks of tables"), (2, "2 Locks of rows")]


def test_a_page_of_contents_stands_apart() -> None:
    contents = lines("1 Locks of tables . . . . . . . . . . . 12", "2 Locks of rows . . . . . . . . . . . . 17", y=640)
    document = read(PROSE + contents)
    assert [(block.text, block.note) for block in document.blocks if block.kind is BlockKind.LIST_ITEM] == [
        ("1 Locks of tables … 12", "contents"),
        ("2 Locks of rows … 17", "contents"),
    ]
    assert "12" not in " ".join(of_kind(document, BlockKind.PARAGRAPH))


def test_heads_that_count_with_the_pages_are_no_text_wherever_they_are_drawn() -> None:
    chapters = ("Locks", "Rows", "Costs", "Ends")
    pages = [
        [*PROSE, (72, 760, 10, "F1", f"Chapter: {chapter}"), (520, 760, 10, "F1", str(n + 41)),
         *lines(f"And {chapter.lower()} are told of here.", y=640)]
        for n, chapter in enumerate(chapters)
    ]  # fmt: skip
    document = read(*pages)
    assert "Chapter" not in document.text
    assert "42" not in document.text
    assert "And rows are told of here." in document.text


def test_pages_of_pictures_alone_are_said_to_be() -> None:
    with pytest.raises(PinciteError) as caught:
        read([], [], [])
    assert caught.value.reason == "pdf_scanned"
    assert "3 pages" in str(caught.value)


def test_a_file_of_too_many_pages_is_refused() -> None:
    with pytest.raises(PinciteError) as caught:
        read(*[lines("x") for _ in range(5_000)])
    assert caught.value.reason == "too_many_pages"
    assert "5,000 pages" in str(caught.value)


BODY = lines(
    "Every file is kept in a folder of its own, which is made when the program starts for",
    "the first time and is never removed afterwards, whatever else happens to the files.",
)


def test_a_bold_line_of_the_text_s_own_size_is_the_title_of_what_follows() -> None:
    page = (
        BODY + lines("Removal of old files", y=660, font="F3") + lines("They go after 30 days. The rest stays.", y=647)
    )
    document = read(page)
    assert [(block.kind, block.text) for block in document.blocks[-2:]] == [
        (BlockKind.HEADING, "Removal of old files"),
        (BlockKind.PARAGRAPH, "They go after 30 days. The rest stays."),
    ]
    assert document.blocks[-2].level == 2


@pytest.mark.parametrize("text", ["Nothing is lost.", "Warning: it goes on and on", "14"])
def test_a_bold_sentence_is_no_title(text: str) -> None:
    bold = [(72.0, 674.0, 10.0, "F3", text)]
    after = lines("that follows it directly in the same paragraph.", y=661)
    running = [*BODY[:1], (72.0, 687.0, 10.0, "F1", "and it goes on without an end to the"), *bold, *after]
    assert not of_kind(read(running), BlockKind.HEADING)
    assert not of_kind(read([*BODY, *lines(*[text] * 12, y=640, font="F3")]), BlockKind.HEADING)  # all is bold


def test_underscores_drawn_as_strokes() -> None:
    words: list[Drawn] = [(72, 640, 10, "F2", "mpfr"), (101, 640, 10, "F2", "t"), (113, 640, 10, "F2", "x")]
    underscore, underline, rule = "96.4 639.5 4.2 0.9 re f\n", "72 638 24 0.5 re f\n", "60 639.5 200 0.9 re f\n"
    for strokes, text in ((underscore, "mpfr_t x"), (underscore + underline, "mpfr_t x"), (rule, "mpfr t x")):
        document = extract(pdf(BODY + words, strokes=strokes), URL, "application/pdf")
        assert document.blocks[-1].text == text


def test_a_sentence_that_begins_and_ends_in_code_is_none() -> None:
    mixed: list[Drawn] = [(72, 640, 10, "F2", "work_mem"), (125, 640, 10, "F1", "limits what a sort of")]
    mixed += [(240, 640, 10, "F2", "rows"), *lines("may use.", y=627)]
    document = read(BODY + mixed)
    assert document.blocks[-1].kind is BlockKind.PARAGRAPH
    assert document.blocks[-1].text == "work_mem limits what a sort of rows may use."


def test_a_line_of_names_goes_on_with_its_sentence() -> None:
    page = [
        (
            72.0,
            700.0,
            10.0,
            "F1",
            "The size of what a sort may use before it goes to the disk is set by one of the names",
        )
    ]
    page += [(72, 687, 10, "F2", "work_mem, hash_mem_multiplier"), (72, 674, 10, "F1", "in the file of the server.")]
    document = read(page)
    assert [block.kind for block in document.blocks] == [BlockKind.PARAGRAPH]
    assert "names work_mem, hash_mem_multiplier in the file" in document.text
