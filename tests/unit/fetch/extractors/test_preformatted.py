"""Prose set in fixed width is prose: RFCs, man pages, manuals in `<pre>`; code beside it stays code."""

from collections.abc import Callable

import pytest
from tests.cpu_time import cpu_at_most

from pincite.domain.items import item_at
from pincite.domain.page import BlockKind, Document, MarkKind
from pincite.fetch.extractors import extract
from pincite.fetch.extractors.preformatted import blocks_of_lines, read_plain

RFC = """
Network Working Group                                          A. Writer
Request for Comments: 9999                                 Example Inc.
Category: Standards Track                                   October 2025


                       The Lamp Transfer Protocol

1.  Introduction

   A lamp is lit by its keeper at dusk.  The keeper writes down when the
   lamp was lit, and the record is kept for ten years after that.

   This document says how the record is sent.  It replaces an older
   document that nobody could follow.

Writer                       Standards Track                    [Page 1]
\f
RFC 9999                The Lamp Transfer Protocol          October 2025


   The record holds at most 512 octets, and keepers send it every night
   even when the lamp was not lit.

2.1.  Requests

   o  A keeper sends the time at which the lamp was lit, in seconds, as
      a number without a sign.

   o  A keeper sends the name of the tower.

   The request looks like this:

      LAMP /tower HTTP/1.1
      Host: light.example;  q=1.0

Writer                       Standards Track                    [Page 2]
\f
RFC 9999                The Lamp Transfer Protocol          October 2025

2.2.  Answers

   An answer holds one line and nothing else.

Writer                       Standards Track                    [Page 3]
"""
MAN = """LAMP(1)                     User Commands                     LAMP(1)

N\x08NA\x08AM\x08ME\x08E
       lamp - light the lamp of a tower and keep a record of it

DESCRIPTION
       Light the lamp at dusk.  The record is written to the file that was
       named last, or to standard output when no file was named.

       -a, --all
              Light all lamps of the tower, those of the boats in the har-
              bour too.

       -n COUNT
              Light at most COUNT lamps.  The default is 12.

       The port is never dark.

EXAMPLES
       lamp -a --tower=3 | tee /var/log/lamp
"""
MANUAL = """4.2. Alphabetically sorted keywords reference
---------------------------------------------

This section gives the meaning of each keyword and how it is used in a section.
The keywords are sorted by their names, and the older ones stand at the end.

balance <algorithm> [ <arguments> ]
balance url_param <param> [check_post]
  Define the load balancing algorithm to be used in a backend. It is taken from
  the section above when none is set here.
  May be used in sections :   defaults | frontend | listen | backend
                                 yes   |    no    |   yes  |   yes

    roundrobin  Each server is used in turns, according to their weights. This
                is the smoothest and fairest algorithm.
"""


def shape(document: Document) -> list[tuple[str, str]]:
    return [(block.kind.value, block.text) for block in document.blocks]


def plain(text: str) -> Document:
    return extract(text.encode(), "https://docs.example/a.txt", "text/plain")


def in_pre(text: str) -> Document:
    return extract(f"<title>x</title><body><pre>{text.replace('<', '&lt;')}</pre>".encode(), "https://docs.example/a")


@pytest.mark.parametrize("read", [plain, in_pre])
def test_an_rfc_reads_as_sections_without_feet_and_heads_of_pages(read: Callable[[str], Document]) -> None:
    document = read(RFC)
    assert [(entry.level, entry.title) for entry in document.outline] == [
        (1, "1. Introduction"), (2, "2.1. Requests"), (2, "2.2. Answers"),
    ]  # fmt: skip
    assert "[Page" not in document.text
    assert document.text.count("The Lamp Transfer Protocol") == 1
    parts = shape(document)
    assert ("list_item", "A keeper sends the name of the tower.") in parts
    prose = "A lamp is lit by its keeper at dusk. The keeper writes down when the lamp was lit, and the record is kept"
    assert prose in document.text
    assert any(kind == "code" and "Host: light.example;  q=1.0" in text for kind, text in parts)


def test_a_man_page_reads_as_entries() -> None:
    document = plain(MAN)
    assert [entry.title for entry in document.outline] == ["NAME", "DESCRIPTION", "EXAMPLES"]
    terms = {b.text: i for i, b in enumerate(document.blocks) if b.kind is BlockKind.TERM}
    said = {b.parent: b.text for b in document.blocks if b.kind is BlockKind.DEFINITION}
    assert said[terms["-n COUNT"]] == "Light at most COUNT lamps. The default is 12."
    assert "in the har-bour too." in said[terms["-a, --all"]]  # nothing tells that the hyphen goes
    after = next(b for b in document.blocks if b.text == "The port is never dark.")
    assert after.parent is None
    assert document.blocks[-1].kind is BlockKind.CODE


def test_a_hyphen_at_the_end_of_a_line_goes_where_the_text_knows_the_word() -> None:
    document = plain(MAN.replace("The port", "The harbour"))
    assert "in the harbour too." in document.text


MARKED_UP = """\
Every lamp has a switch (like ``lamp -n``); see :lamp:`help lit` and
:ref:`the harbour <harbour>` for what it does in ``tower's`` light.

.. note::

   The port is never dark while one of its lamps is lit.

.. container:: verbose

``x % y``
  Lamps that are lit in x, but not in y. Short for ``only(x, y)``.

.. a comment that nobody reads

Light them as follows::

    lamp --all ``now``

"""


def test_marks_of_restructured_text_are_not_words_of_the_page() -> None:
    document = plain(MARKED_UP)
    told = [(block.kind, block.text) for block in document.blocks]
    assert told == [
        (
            BlockKind.PARAGRAPH,
            "Every lamp has a switch (like lamp -n); see help lit and the harbour for what it does in tower's light.",
        ),
        (BlockKind.PARAGRAPH, "The port is never dark while one of its lamps is lit."),
        (BlockKind.TERM, "x % y"),
        (BlockKind.DEFINITION, "Lamps that are lit in x, but not in y. Short for only(x, y)."),
        (BlockKind.PARAGRAPH, "Light them as follows:"),
        (BlockKind.CODE, "    lamp --all ``now``"),
    ]
    first = document.blocks[0]
    coded = [first.text[mark.start : mark.end] for mark in first.marks if mark.kind is MarkKind.CODE]
    assert coded == ["lamp -n", "help lit", "the harbour", "tower's"]


def test_quotation_marks_of_tex_and_windows_paths_stay() -> None:
    text = "He said ``leave the harbour'' twice, and C::name is a name of code, as is :x: alone."
    assert plain(text).blocks[0].text == text


@pytest.mark.parametrize("read", [plain, in_pre])
def test_a_manual_in_one_file_reads_as_entries(read: Callable[[str], Document]) -> None:
    document = read(MANUAL)
    assert document.outline[0].title == "4.2. Alphabetically sorted keywords reference"
    at = document.text.index("smoothest")
    names = [document.blocks[i].text for i in document.ancestors(document.block_at(at))]
    assert names == ["balance url_param <param> [check_post]", "roundrobin"]
    assert any(b.kind is BlockKind.CODE and "yes   |    no" in b.text for b in document.blocks)


@pytest.mark.parametrize(
    "code",
    [
        "def lamp(tower):\n    # Light the lamp of this tower. It is lit at dusk.\n    return tower.light()\n" * 5,
        "/*\n * This program is free software. You can use it and change it as you like.\n */\nint main() {\n}\n" * 3,
        "$ lamp --all\nLamp 1 is lit.\nLamp 2 is lit.\n$ lamp -n 3\n" * 6,
        "+-----+     +-----+\n| one |---->| two |\n+-----+     +-----+\n" * 8,
        "name      size   date\nlamp.txt    12   Monday\ntower.txt   13   Tuesday\n" * 8,
        "Disallow: /private\nUser-agent: lamp\nCrawl-delay: 10\n" * 8,
    ],
)
def test_code_and_columns_stay_as_they_are(code: str) -> None:
    document = in_pre(code)
    assert [block.kind for block in document.blocks] == [BlockKind.CODE]
    assert document.blocks[0].text == code.rstrip()


def test_code_that_says_its_language_is_never_unfolded() -> None:
    page = f"<body><p>See.</p><pre><code class=language-text-x>{MANUAL.replace('<', '&lt;')}</code></pre>"
    assert extract(page.encode(), "https://docs.example/a").blocks[-1].kind is BlockKind.CODE


def test_five_megabytes_of_preformatted_text_take_bounded_time() -> None:
    text = RFC * (4_500_000 // len(RFC))
    with cpu_at_most(20):
        assert "A lamp is lit" in plain(text).text
    with cpu_at_most(20):
        plain("a" * 2_000_000 + "\n" + " x" * 500_000 + "\n\n" + "-" * 1_000_000)


MESSAGE = (
    "Received: from light.example\r\nFrom: Ada Keeper <ada@light.example>\r\nTo: harbour@light.example\r\n"
    "Subject: =?utf-8?q?The_lamp_=C3=BCber_all?=\r\nDate: Mon, 3 Mar 2025 10:00:00 +0000\r\nMIME-Version: 1.0\r\n"
    'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n'
    "The lamp was lit at 18:04 and burned for eleven hours.\r\n\r\n"
    "> Was it lit at all?\r\n> It was 300 metres away.\r\n\r\n"
    "It was.\r\n-- \r\nAda, keeper\r\n--b\r\nContent-Type: application/pdf\r\n"
    'Content-Disposition: attachment; filename="log.pdf"\r\n\r\nJVBERi0=\r\n--b--\r\n'
)


def test_a_message_is_read_with_its_quotations_apart() -> None:
    document = extract(MESSAGE.encode(), "https://list.example/17", "text/plain")
    assert (document.title, document.byline) == ("The lamp über all", "Ada Keeper <ada@light.example>")
    assert document.published_at is not None
    assert document.published_at.isoformat() == "2025-03-03T10:00:00+00:00"
    assert shape(document)[1:] == [
        ("list_item", "From: Ada Keeper <ada@light.example>"),
        ("list_item", "To: harbour@light.example"),
        ("list_item", "Date: Mon, 03 Mar 2025 10:00:00 +0000"),
        ("paragraph", "The lamp was lit at 18:04 and burned for eleven hours."),
        ("quotation", "Was it lit at all?\nIt was 300 metres away."),
        ("paragraph", "It was."),
    ]
    assert document.warnings == ("not read: attachment log.pdf",)


def test_a_mailbox_is_read_message_by_message() -> None:
    box = "".join(
        f"From ada@light.example Mon Mar  3 10:00:0{n} 2025\nFrom: ada@light.example\nSubject: Night {n}\n"
        f"Date: Mon, 3 Mar 2025 10:00:0{n} +0000\n\nThe lamp burned {n} hours.\n\nFrom now on it burns longer.\n\n"
        for n in range(3)
    )
    document = extract(box.encode(), "https://list.example/2025-March", "application/octet-stream")
    assert [entry.title for entry in document.outline] == ["Night 0", "Night 1", "Night 2"]
    assert document.text.count("From now on") == 3
    assert (document.title, document.byline) == ("2025-March", "")
    dates = (document.published_at, document.modified_at)
    assert [date and date.isoformat() for date in dates] == ["2025-03-03T10:00:00+00:00", "2025-03-03T10:00:02+00:00"]
    signed = [item_at(document.structure, at, at + 8) for at in map(document.text.index, ("burned 0", "burned 2"))]
    assert [item and (item.name, item.author) for item in signed] == [
        ("Night 0", "ada@light.example"), ("Night 2", "ada@light.example"),
    ]  # fmt: skip


def test_what_a_message_repeats_is_marked_as_quoted() -> None:
    document = extract(MESSAGE.encode(), "https://list.example/17", "text/plain")
    assert [block.note for block in document.blocks if block.kind is BlockKind.QUOTATION] == ["quoted"]
    page = extract(b"<p>The lamp was lit.</p><blockquote><p>Was it lit at all?</p></blockquote>", "https://a.test/")
    assert not any(block.note for block in page.blocks), "what an article quotes it chose itself"


@pytest.mark.parametrize(
    "body", [b"From: \xff\xfe\nDate: x\nSubject: =?utf-8?b?!!!?=\n\ntext\n", b"From: a\nTo: b\nDate: 0\n" + b"X: " * 9]
)
def test_messages_made_wrongly_are_read_as_far_as_they_go(body: bytes) -> None:
    assert extract(body, "https://list.example/m.eml").text


def test_notes_that_begin_like_a_message_are_notes() -> None:
    assert extract(b"From: the harbour\n\nThe lamp is lit.", "https://list.example/n").extractor == "plain"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Rerere\n======\n\nThis document describes rerere.", "Rerere"),
        ("--continue::\n\tContinue the operation in progress.", "how to.txt"),
        ("Table of contents:\n\n  * Terminology\n", "how to.txt"),
        ("--\n\nThe targets are files.", "how to.txt"),
        ("Ancestor\n    A changeset that can be reached from another.\n\nBookmark\n    A name of it.", "how to.txt"),
    ],
)
def test_a_text_without_a_title_is_called_by_the_name_of_its_file(text: str, title: str) -> None:
    assert read_plain(text, "https://a.example/docs/how%20to.txt").title == title


def test_markup_that_holds_sentences_is_code() -> None:
    fields = "".join(
        f"  <job:Part{number}>\n    A system that lets people restore their files. It works on tape, too.\n"
        f"  </job:Part{number}>\n\n"
        for number in range(6)
    )
    document = in_pre(f"<job:Help>\n\n{fields}</job:Help>\n")
    assert [block.kind for block in document.blocks] == [BlockKind.CODE]


def test_a_block_of_a_program_and_a_hanging_first_line_are_no_entries() -> None:
    program = "update_hosts() {\n    local all known new\n    read the list of hosts\n}\n"
    hanging = (
        "The halyard is led through the mast. It ends at the second\n  winch from aft, where one person can haul it.\n"
    )
    assert [block.kind for block in blocks_of_lines(program)] == [BlockKind.CODE]
    assert [block.kind for block in blocks_of_lines(hanging)] == [BlockKind.PARAGRAPH]
    usage = "hoist [SAIL]... MAST\n    Hoist each of the sails on that mast, from aft.\n"
    assert [block.kind for block in blocks_of_lines(usage)] == [BlockKind.TERM, BlockKind.DEFINITION]


def test_lines_that_are_each_for_themselves_stay_lines() -> None:
    record = "Boat: Gull of the north\nBuilt in: Vlissingen\nOwner: Harbour museum\nLicence: free to copy\n"
    (block,) = read_plain(record, "local:x/boat").blocks
    assert (block.kind, block.text) == (BlockKind.CODE, record.strip())
    verse = "The gull flies out,\nthe gull comes home,\nand all are well.\n"
    assert [block.kind for block in blocks_of_lines(verse)] == [BlockKind.PARAGRAPH]


def test_a_title_in_the_middle_of_the_page_is_no_code() -> None:
    text = f"{'Preamble':>40}\n\nThe harbour is open to all boats that pay their dues.\n\n        hoist --red\n"
    kinds = [block.kind for block in blocks_of_lines(text)]
    assert kinds == [BlockKind.PARAGRAPH, BlockKind.PARAGRAPH, BlockKind.CODE]


@pytest.mark.parametrize("text", ["#!/bin/sh\nhoist the flag\n", "import http.server, gzip, time\nP={}\nx = f(P)\n"])
def test_code_is_no_title(text: str) -> None:
    assert read_plain(text, "local:boats/hoist").title == "hoist"
