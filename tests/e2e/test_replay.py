"""A run is made again from its record alone; the record does not depend on hash seeds or the order of completion."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.e2e.commands import EXAMPLES, QUESTION, Pincite, command, with_library


def keys(home: Path) -> set[tuple[str, str, str]]:
    with closing(sqlite3.connect(home / "pincite.sqlite")) as database:
        return set(database.execute("SELECT kind, call_key, request FROM calls"))


def test_the_keys_of_the_calls_do_not_drift_with_the_hash_seed(demo_home: Path, tmp_path: Path) -> None:
    environ = {"PYTHONHASHSEED": "4711", "PINCITE_EMBEDDINGS": "auto"}  # ranked as the demo was
    ended = command(with_library(tmp_path, demo_home), tmp_path)(
        "research", QUESTION, "--source", f"local:{EXAMPLES}", "--json", environ=environ
    )
    assert ended.code == 0, ended.err
    assert keys(tmp_path) == keys(demo_home)


def test_a_run_is_replayed_from_its_record(demo: Pincite) -> None:
    ended = demo("runs", "replay", "last", "--json")
    assert ended.code == 0, ended.err
    assert ended.json["same"] is True


def test_a_run_whose_record_lacks_a_call_is_not_made_up(demo_home: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with (
        closing(sqlite3.connect(demo_home / "pincite.sqlite")) as source,
        closing(sqlite3.connect(home / "pincite.sqlite")) as copy,
    ):
        source.backup(copy)
        copy.execute("DELETE FROM calls WHERE rowid = (SELECT min(rowid) FROM calls WHERE kind = 'search')")
        copy.commit()
    ended = command(home, home)("runs", "replay", "last", "--json")
    assert ended.code == 2
    assert ended.json["error"]["reason"] == "replay_miss"
