"""A folder as people have them: what is no page is named with the reason, when it is indexed and afterwards."""

import os
from pathlib import Path

import pytest
from tests.e2e.commands import command

MAIL = """\
From ann@example.org Thu Jan  1 00:00:00 2026
From: Ann <ann@example.org>
Subject: Roof repair
Date: Thu, 1 Jan 2026 00:00:00 +0000

The roof will be repaired on 14 March by Miller Limited.

From cy@example.org Fri Jan  2 00:00:00 2026
From: Cy <cy@example.org>
Subject: Re: Roof repair
Date: Fri, 2 Jan 2026 00:00:00 +0000

The neighbours asked for a later week.
"""
MANUAL = """\
TIDY(1)                     General Commands Manual                    TIDY(1)

NAME
       tidy - put the shelves in order

OPTIONS
       -q, --quiet
              Print nothing but errors. The exit status tells whether a shelf was left as it was.

       -s, --shelves=number
              Put so many shelves in order at most. The default is 12, and 0 means all of them.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pages = tmp_path / "papers"
    (pages / "deep").mkdir(parents=True)
    for name, text in {
        "inbox.mbox": MAIL,
        "tidy.txt": MANUAL,
        "LICENCE": "Permission is granted to copy these papers for any purpose.\n",
        "boats.csv": "Name,Built,Hall\nGull,1998,North\nHeron,2011,South\n",
        "deep/notes.md": "# Notes\n\nThe boiler was serviced in November.\n",
        "empty.txt": "",
        "NOTHING": "",
        "tool.py": "print(1)\n",
        "House-Rules-2.0": "Guests leave their boots at the door of the boathouse.\n",
        "start": "#!/bin/sh\n# Opens the boathouse in the morning.\nif closed; then open; fi\n",
        "tidy.1": ".TH TIDY 1\n.SH NAME\ntidy \\- put shelves in order\n",
        "mend.8": '.\\" Nobody owns this page.\n.Dd May 1, 2026\n',
    }.items():
        (pages / name).write_text(text)
    (pages / "program").write_bytes(b"\x7fELF\0\0" + bytes(200))
    (pages / "deep" / "photo.jpg").write_bytes(os.urandom(300))
    (pages / "broken.pdf").write_bytes(b"\x00\x01" * 150)
    return pages


def test_what_is_not_read_is_named(tmp_path: Path, folder: Path) -> None:
    pincite = command(tmp_path / "home", tmp_path)
    made = pincite("index", str(folder), "--words-only", "--json")
    assert made.code == 0, made.err
    (report,) = made.json
    assert report["pages"] == 6
    assert {(one["place"], one["reason"]) for one in report["ignored_files"]} == {
        ("NOTHING", "no_text"),
        ("program", "no_text"),
        ("tool.py", "other_kind"),
        ("start", "other_kind"),
        ("tidy.1", "other_kind"),
        ("mend.8", "other_kind"),
        ("deep/photo.jpg", "other_kind"),
    }
    skipped = {one["place"].rpartition("/")[2]: one["reason"] for one in report["skipped"]}
    assert skipped == {"empty.txt": "empty_body", "broken.pdf": "binary"}
    again = pincite("index", str(folder), "--words-only")
    for name in ("NOTHING", "program", "empty.txt", "broken.pdf", "tool.py", "deep/photo.jpg", "mend.8"):
        assert name in again.err, "said again while it holds"
    (folder / "tool.py").unlink()
    (folder / "empty.txt").write_text("The gutter is clean.\n")
    assert pincite("index", str(folder), "--words-only").code == 0
    (state,) = pincite("doctor", "--json").json["Libraries"].values()
    assert state.startswith("7 pages")
    assert "program" in state
    assert "broken.pdf: the body is not text (binary)" in state
    assert "tool.py" not in state
    assert "empty.txt" not in state
    folder.rename(tmp_path / "moved")
    (state,) = pincite("doctor", "--json").json["Libraries"].values()
    assert state.startswith("NOT USABLE")


def test_mail_and_manuals_are_found(tmp_path: Path, folder: Path) -> None:
    pincite = command(tmp_path / "home", tmp_path)
    for question, said in {
        "when will the roof be repaired": "14 March",
        "how many shelves by default": "The default is 12",
        "may I copy the papers": "Permission is granted",
        "in which hall is the heron": "Heron",
        "where do guests leave boots": "at the door",
    }.items():
        found = pincite("search", question, "--source", f"local:{folder}", "--words-only", "--json")
        assert found.code == 0, found.err
        assert said in found.json["results"][0]["snippet"], question
    answer = pincite("research", "What does --shelves do?", "--source", f"local:{folder}", "--words-only")
    assert "-s, --shelves=number" in answer.out, "an option is shown under its name"
    assert "Put so many shelves in order at most." in answer.out
