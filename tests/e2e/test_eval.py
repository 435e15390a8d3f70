"""`pincite eval`: questions of one's own over a library of one's own, two settings compared."""

import json
from pathlib import Path

from tests.e2e.commands import command

PAGE = "# Halden\n\nThe Halden lighthouse is 31 metres tall. It was first lit in 1888.\n"


def test_own_questions_are_asked_scored_and_compared(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "halden.md").write_text(PAGE)
    rows = [
        {"id": "tall", "question": "How tall is the Halden lighthouse?", "facts": ["31 metres"]},
        {"id": "sea", "question": "Which whale sank the ferry to Newport?", "facts": []},
    ]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    pincite = command(tmp_path / "home", tmp_path)
    ended = pincite("eval", "mine.jsonl", "--library", "pages", "--against", "profile=quick", "--json")
    assert ended.code == 0, ended.err
    here, other = ended.json.values()
    assert here["questions"] == other["questions"] == 2
    assert (here["facts_told"], here["unanswerable_seen"], here["cost_usd"]) == (1.0, 1.0, "0")
    assert "tall: 1 of 1 facts" in ended.err
    table = pincite("eval", "mine.jsonl", "--library", "pages", "--limit", "1")
    assert "facts told" in table.out
    assert "100%" in table.out


def test_what_is_no_question_file_says_which_line(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text('{"question": "fine?", "facts": []}\n{"query": "what?", "facts": []}\n')
    ended = command(tmp_path / "home", tmp_path)("eval", "mine.jsonl")
    assert ended.code == 2
    assert "line 2" in ended.err
    wrong = command(tmp_path / "home", tmp_path)("eval", "--against", "judge")
    assert "--against" in wrong.err


def test_the_questions_that_ship_are_asked_over_the_pages_that_ship(tmp_path: Path) -> None:
    ended = command(tmp_path / "home", tmp_path)("eval", "--limit", "1", "--json")
    assert ended.code == 0, ended.err
    (figures,) = ended.json.values()
    assert figures["errors"] == {}
    assert figures["facts_told"] == 1.0
