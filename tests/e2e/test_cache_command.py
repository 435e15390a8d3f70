"""`pincite cache` on a home of its own."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.e2e.commands import Pincite


def test_clearing_keeps_runs_and_reports(demo_home: Path, demo: Pincite) -> None:
    held = demo("cache", "stats", "--json").json
    assert held["captured_bytes"] > 1000
    cleared = demo("cache", "clear", "--json")
    assert cleared.code == 0, cleared.err
    assert demo("cache", "stats", "--json").json["captured_bytes"] == held["captured_bytes"]
    with closing(sqlite3.connect(demo_home / "pincite.sqlite")) as database, database:
        assert database.execute("PRAGMA auto_vacuum").fetchone() == (2,)
    assert demo("check", str(demo_home / "report.json")).code == 0
