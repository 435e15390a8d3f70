"""All that is kept of a user: handed out whole, removed whole, let go in time."""

import json
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pincite.engine import Engine
from pincite.settings import Settings, load_settings
from pincite.storage.retention import tables
from pincite.storage.schema import metadata
from pincite.testing.web import html, write_warc
from pincite.wiring.scopes import delete_scope, expire, expire_every_scope, export_scope
from pincite.wiring.stores import open_shared

QUESTION = "When was the bridge of Ostrow opened?"


@pytest.fixture(params=["sqlite", "postgresql"])
def alice(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    text = "The bridge of Ostrow was opened in 1931. It carries two railway tracks over the river Warta."
    write_warc(tmp_path / "pages.warc.gz", {"https://bridges.example/ostrow": html("Bridge of Ostrow", text)})
    source = f"local:{tmp_path / 'pages.warc.gz'}"
    given: dict[str, Any] = {"home": tmp_path / "home", "source": source, "scope": f"alice {tmp_path}"}
    if request.param == "postgresql":
        given["database_url"] = request.getfixturevalue("postgresql_url")
    return load_settings(given, environ={}, files=())


def of(settings: Settings, **changes: Any) -> Settings:
    return settings.model_copy(update=changes)


async def exported(settings: Settings) -> list[dict[str, Any]]:
    return [json.loads(line) async for line in export_scope(settings)]


async def test_an_export_holds_every_row_of_the_user_and_of_nobody_else(alice: Settings) -> None:
    bob = of(alice, scope=f"bob {alice.scope}")
    for settings, question in ((alice, QUESTION), (bob, "How many tracks does the bridge of Ostrow carry?")):
        async with Engine(settings) as engine:
            await engine.research(question)
    rows = await exported(alice)
    names = {row["table"] for row in rows}
    assert {"runs", "calls", "events", "snapshots", "documents", "blobs", "reports", "claims", "citations"} <= names
    assert {row["scope"] for row in rows if "scope" in row} == {alice.scope}
    (report,) = [row["content"] for row in rows if row["table"] == "reports"]
    assert "1931" in report["markdown"]
    assert "How many tracks" not in json.dumps(rows)


async def test_deleting_a_user_leaves_nothing_of_them_and_all_of_the_others(alice: Settings) -> None:
    bob = of(alice, scope=f"bob {alice.scope}")
    for settings in (alice, bob):
        async with Engine(settings) as engine:
            await engine.research(QUESTION)
            await engine.start("Never asked?")
    removed = await delete_scope(alice)
    assert removed.rows > 10
    assert await exported(alice) == []
    assert {row["table"] for row in await exported(bob)} >= {"runs", "reports", "blobs"}
    if alice.database_url is None:
        for name in ("pincite.sqlite", "cache.sqlite", "log.sqlite"):
            with closing(sqlite3.connect(alice.home / name)) as raw, raw:
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            raw.close()
            assert alice.scope.encode() not in (alice.home / name).read_bytes().replace(bob.scope.encode(), b"")


async def test_what_is_past_its_time_goes_from_every_scope(alice: Settings) -> None:
    bob = of(alice, scope=f"bob {alice.scope}")
    for settings in (alice, bob):
        async with Engine(settings) as engine:
            await engine.research(QUESTION)
    async with open_shared(alice) as shared:
        assert (await expire(of(alice, runs_keep_days=1), shared)).runs == 0, "it is fresh"
        shared.clock = Later(shared.clock)  # type: ignore[assignment]  # the same clock, a month ahead
        events = await expire(of(alice, events_keep_days=1), shared)
        assert events.events > 5
        assert events.runs == 0
        assert (await expire_every_scope(of(alice, runs_keep_days=1), shared)).runs >= 2
        assert await expire_every_scope(alice, shared) == type(events)(0, 0, 0)
    for settings in (alice, bob):
        assert not {row["table"] for row in await exported(settings)} & {"runs", "calls", "reports", "snapshots"}


class Later:
    """The real clock, two days ahead."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock

    def now(self) -> Any:
        return self._clock.now() + timedelta(days=2)


def test_every_table_is_exported_and_deleted() -> None:
    assert {table.name for table in tables()} == set(metadata.tables) - {
        "schema_versions",
        "server_secrets",
        "tool_log",
    }
    assert all("scope" in table.columns for table in metadata.tables.values())
