"""SIGKILL in the middle of a migration: the old schema stays, and the next start makes the new one."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine, inspect

from pincite.domain.errors import SchemaMismatch
from pincite.runtime.system import SystemClock
from pincite.storage import migrations
from pincite.storage.database import opened_now
from pincite.storage.schema import metadata

# Arguments: the database, how many statements to let through, whether to be killed (else: to freeze there).
MIGRATES = """
import os, signal, sys
from pincite.runtime.system import SystemClock
from pincite.storage import migrations
from pincite.storage.database import opened_now

left, real = int(sys.argv[2]), migrations.run_script

def run_script(connection, *migration):
    execute = type(connection).exec_driver_sql

    def counted(self, *given):
        global left
        if left == 0:
            print("in the middle", flush=True)
            os.kill(os.getpid(), signal.SIGKILL if sys.argv[3] == "kill" else signal.SIGSTOP)
        left -= 1
        return execute(self, *given)

    type(connection).exec_driver_sql = counted
    try:
        real(connection, *migration)
    finally:
        type(connection).exec_driver_sql = execute

migrations.run_script = run_script
with opened_now(sys.argv[1], SystemClock()):
    print("done", flush=True)
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest) -> Iterator[str]:
    """A new database."""
    if request.param == "postgresql":
        yield request.getfixturevalue("postgresql_database")
        return
    folder = Path(tempfile.mkdtemp(prefix="pincite-home-"))
    yield str(folder / "pincite.sqlite")
    shutil.rmtree(folder)


def begun(place: str, statements: int, how: str) -> "subprocess.Popen[str]":
    """A process that is migrating, or was killed while it did."""
    process = subprocess.Popen(
        [sys.executable, "-c", MIGRATES, place, str(statements), how],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "in the middle\n"
    return process


def killed(place: str, statements: int) -> None:
    process = begun(place, statements, "kill")
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL


def tables_in(place: str) -> set[str]:
    if "://" not in place:
        with closing(sqlite3.connect(place)) as raw:
            return {name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    with psycopg.connect(place, autocommit=True) as connection:
        found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        return {name for (name,) in found}


def in_all() -> int:
    """How many statements the migrations have."""
    return sum(len(migrations.statements(script, "sqlite")) for _, _, script in migrations.known())


def assert_up_to_date(place: str) -> None:
    with opened_now(place, SystemClock()):
        pass
    engine = create_engine(
        place.replace("postgresql://", "postgresql+psycopg://") if "://" in place else f"sqlite:///{place}"
    )
    try:
        assert set(metadata.tables) <= set(inspect(engine).get_table_names())
        with engine.connect() as connection:
            assert migrations.version_of(connection) == migrations.newest()
    finally:
        engine.dispose()


@pytest.mark.parametrize(
    "share", [pytest.param(0.0, marks=pytest.mark.long), 0.3, pytest.param(0.99, marks=pytest.mark.long)]
)
def test_a_new_database_killed_while_it_is_made(place: str, share: float) -> None:
    killed(place, int(in_all() * share))
    assert tables_in(place) == set()
    assert_up_to_date(place)


def test_an_older_database_killed_while_it_is_brought_up_to_date(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = migrations.known()
    with monkeypatch.context() as earlier:
        older(earlier, everything[:3])
        with opened_now(place, SystemClock()):
            pass
    before = tables_in(place)
    assert before < set(metadata.tables)
    killed(place, 2)
    assert tables_in(place) == before
    assert_up_to_date(place)


def older(monkeypatch: pytest.MonkeyPatch, known: tuple[Any, ...]) -> None:
    """A Pincite that knows the first of the migrations only."""
    monkeypatch.setattr(migrations, "known", lambda: known)


def test_a_start_beside_a_frozen_migration_waits_and_then_does_it(place: str) -> None:
    """The one that migrates is frozen, then killed: the next was waiting, and neither fails."""
    process = begun(place, 3, "freeze")
    other = subprocess.Popen([sys.executable, "-c", MIGRATES, place, "-1", "kill"], stdout=subprocess.PIPE, text=True)
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(1.0)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
        assert other.communicate(timeout=60)[0] == "done\n"
    finally:
        for one in (process, other):
            one.kill()
            one.communicate(timeout=60)
    assert_up_to_date(place)


def test_a_newer_schema_is_refused_and_left_alone(place: str) -> None:
    assert_up_to_date(place)
    newer = "INSERT INTO schema_versions (scope, version, name, applied_at) VALUES ('public', 9000, 'later', '2030')"
    if "://" in place:
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute(newer)
    else:
        with closing(sqlite3.connect(place)) as raw, raw:
            raw.execute(newer)
    before = tables_in(place)
    with pytest.raises(SchemaMismatch) as caught, opened_now(place, SystemClock()):
        pass
    assert caught.value.reason == "newer_schema"
    assert "Install a Pincite as new" in caught.value.hint
    assert tables_in(place) == before


def test_tables_of_another_origin_are_a_typed_error_that_says_what_to_do(place: str) -> None:
    """Half a schema that no transaction of ours can have left, from a dump that was put back in part."""
    if "://" in place:
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute("CREATE TABLE runs (a TEXT)")
    else:
        with closing(sqlite3.connect(place)) as raw:
            raw.execute("CREATE TABLE runs (a TEXT)")
    with pytest.raises(SchemaMismatch) as caught, opened_now(place, SystemClock()):
        pass
    assert caught.value.reason == "schema_differs"
    assert caught.value.hint
    assert tables_in(place) == {"runs"}
