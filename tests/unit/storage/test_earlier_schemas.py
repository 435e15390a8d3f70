"""A home and a PostgreSQL of each earlier schema, with a report, pages, an interrupted run and limits, opened today."""

import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import psycopg
import pytest
from tests.fakes.stored import keep_report

from pincite.domain.budget import Budget, Usage
from pincite.domain.events import EventType, RunStatus
from pincite.domain.records import Outcome, RunRecord
from pincite.exports.codec import dump_report
from pincite.runtime.ledger import open_ledger
from pincite.runtime.limiter import Ask
from pincite.settings import load_settings
from pincite.storage import migrations
from pincite.storage.limits import PUBLIC, TableBuckets
from pincite.storage.service import SharedTables, open_storage
from pincite.testing.clock import FrozenClock
from pincite.testing.reports import sample_report
from pincite.wiring.checking import check_stored_report

NAME = "pincite.sqlite"
HALF = "run_half"
LIMITED_FROM = 2
"""The schema that brought limits into the database."""
PAGE = Usage(pages=1, web_requests=1)
_COLUMNS = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"


class Website:
    """Counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def __call__(self) -> Outcome:
        self.asked += 1
        await anyio.lowlevel.checkpoint()
        return Outcome({"page": "text"}, PAGE)


async def fill(home: Path, clock: FrozenClock, database_url: str | None = None) -> None:
    """A finished run with its report and pages, one that died after a call, and a limit that was reached."""
    await keep_report(home, sample_report(), database_url=database_url)
    async with open_storage(database_url or home, clock) as storage:
        mine = storage.scope("local")
        await mine.runs.create(
            RunRecord(HALF, "local", "Why?", RunStatus.QUEUED, clock.now(), clock.now(), {}, Budget(pages=3))
        )
        ledger = await open_ledger(mine.calls(await mine.runs.take(HALF, "w1", 30)), clock)
        await ledger.call("fetch", {"url": "a"}, PAGE, Website())
        await TableBuckets(SharedTables(mine._database, PUBLIC)).push_back("engine", 3600.0)


def as_schema(home: Path, older: Path, number: int) -> None:
    """The same rows in a database as the release with schema `number` left it, without what it had no columns for."""
    older.mkdir()
    with closing(sqlite3.connect(older / NAME)) as raw:
        for known, name, script in migrations.known()[:number]:
            for statement in migrations.statements(script, "sqlite"):
                raw.execute(statement)
            raw.execute("INSERT INTO schema_versions VALUES ('public', ?, ?, '2026')", (known, name))
        raw.commit()
        raw.execute("ATTACH ? AS newest", (str(home / NAME),))
        tables = [row[0] for row in raw.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'")]
        for table in set(tables) - {"schema_versions"}:
            there = {row[1] for row in raw.execute(f"PRAGMA newest.table_info({table})")}
            both = [row[1] for row in raw.execute(f"PRAGMA main.table_info({table})") if row[1] in there]
            columns = ", ".join(both)
            raw.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM newest.{table}")
        raw.commit()


def as_schema_on_postgresql(newest: str, older: str, number: int) -> None:
    """As `as_schema`, from one database of a PostgreSQL into another."""
    with psycopg.connect(older) as raw, psycopg.connect(newest) as full:
        for known, name, script in migrations.known()[:number]:
            for statement in migrations.statements(script, "postgresql"):
                raw.execute(statement.encode())
            raw.execute("INSERT INTO schema_versions VALUES ('public', %s, %s, '2026')", (known, name))
        found = raw.execute(_COLUMNS).fetchall()
        there = set(full.execute(_COLUMNS).fetchall())
        for table in {table for table, _ in found} - {"schema_versions"}:
            columns = [name for of, name in found if of == table and (of, name) in there]
            names = ", ".join(columns)
            rows = full.execute(f"SELECT {names} FROM {table}".encode()).fetchall()
            marks = ", ".join("%s" for _ in columns)
            with raw.cursor() as writing:
                writing.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})".encode(), rows)


async def goes_on(place: Path | str, clock: FrozenClock, number: int) -> None:
    """What was stored under schema `number` is there, and its work goes on."""
    sample = sample_report()
    async with open_storage(place, clock) as storage:
        mine = storage.scope("local")
        # The report and what it rests on.
        assert await mine.runs.get_report(sample.report.run_id) == sample.report
        types = [event.type for event in await mine.runs.events(sample.report.run_id)]
        assert types
        assert types[0] is EventType.RUN_STARTED
        for snapshot in sample.snapshots.values():
            kept = await mine.snapshots.get(snapshot.snapshot_id)
            assert kept is not None
            assert kept.body == snapshot.body
        for document in sample.documents.values():
            assert await mine.documents.get(document.document_id) == document
        # The run that died is taken over, and what it paid for is not paid again.
        clock.advance(60)
        taken = await mine.runs.take(HALF, "w2", 30)
        website, ledger = Website(), await open_ledger(mine.calls(taken), clock)
        assert await ledger.call("fetch", {"url": "a"}, PAGE, website) == {"page": "text"}
        assert website.asked == 0
        assert (await mine.calls(taken).spent()).pages == 1
        # The limit that was reached still is.
        short = await TableBuckets(SharedTables(mine._database, PUBLIC)).take("engine", (Ask(1.0, 1.0),))
        assert (short > 3000) is (number >= LIMITED_FROM)


@pytest.mark.parametrize("number", range(1, migrations.newest()))
async def test_a_home_of_an_earlier_schema_goes_on(tmp_path: Path, number: int) -> None:
    clock = FrozenClock()
    await fill(tmp_path / "now", clock)
    home = tmp_path / "older"
    as_schema(tmp_path / "now", home, number)
    await goes_on(home, clock, number)
    # A check of the report finds there what it finds in a home of today.
    before, after = [
        await anyio.to_thread.run_sync(
            check_stored_report,
            dump_report(sample_report().report),
            load_settings({"home": place}, environ={}, files=()),
        )
        for place in (tmp_path / "now", home)
    ]
    assert after == before
    assert after.counts.quotes > 0
    assert after.counts.snapshots == len(sample_report().snapshots)


@pytest.mark.parametrize("number", range(1, migrations.newest()))
async def test_a_postgresql_of_an_earlier_schema_goes_on(
    tmp_path: Path, postgresql_databases: tuple[str, str], number: int
) -> None:
    clock = FrozenClock()
    newest, older = postgresql_databases
    await fill(tmp_path / "now", clock, newest)
    as_schema_on_postgresql(newest, older, number)
    await goes_on(older, clock, number)
    before, after = [
        await anyio.to_thread.run_sync(
            check_stored_report,
            dump_report(sample_report().report),
            load_settings({"home": tmp_path / "now", "database_url": url}, environ={}, files=()),
        )
        for url in postgresql_databases
    ]
    assert after == before
    assert after.counts.quotes > 0
