"""A new file is switched to a write-ahead log also while another connection is at it."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from pincite.sqlite import switch_to_wal


class _Impatient(sqlite3.Connection):
    """A connection that never waits by itself; `at_third` happens before its third statement."""

    said = 0
    at_third: Any = None

    def execute(self, *args: Any) -> sqlite3.Cursor:
        self.said += 1
        if self.said == 3 and self.at_third is not None:
            self.at_third()
        return super().execute(*args)


def held(path: Path) -> sqlite3.Connection:
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("CREATE TABLE t (a)")
    holder.execute("BEGIN EXCLUSIVE")
    return holder


def test_a_file_that_is_busy_is_tried_again(tmp_path: Path) -> None:
    holder = held(tmp_path / "new.sqlite")
    connection = sqlite3.connect(tmp_path / "new.sqlite", timeout=0, isolation_level=None, factory=_Impatient)
    connection.at_third = lambda: holder.execute("COMMIT")
    switch_to_wal(connection, 60)
    assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    connection.close()
    holder.close()


def test_a_file_that_stays_busy_is_told_as_busy(tmp_path: Path) -> None:
    holder = held(tmp_path / "new.sqlite")
    connection = sqlite3.connect(tmp_path / "new.sqlite", timeout=0, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        switch_to_wal(connection, 0)
    connection.close()
    holder.close()
