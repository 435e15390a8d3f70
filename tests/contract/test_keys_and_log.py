"""Where API keys and the log of calls are kept: the files of one home, and the tables of a database."""

import json
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from pincite.domain.records import ApiKey, LoggedCall
from pincite.ports import KeyStore
from pincite.storage.database import Database, opened_now
from pincite.storage.home_files import FileKeys
from pincite.storage.server import SqlKeys
from pincite.storage.service import SharedTables
from pincite.storage.tool_log import FILE_NAME, TableToolLog, add_calls, file_log, move_log
from pincite.testing.clock import FrozenClock

PLACES = ["file", "sqlite", "postgresql"]
KEEP = timedelta(days=5)


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def database(request: pytest.FixtureRequest, tmp_path: Path, clock: FrozenClock) -> Iterator[Database | None]:
    if request.param == "file":
        yield None
        return
    place = tmp_path / "a.sqlite" if request.param == "sqlite" else request.getfixturevalue("postgresql_url")
    with opened_now(place, clock) as opened:
        yield opened


def a_key(**changes: Any) -> ApiKey:
    some = uuid4().hex
    return replace(
        ApiKey(f"key {some}", f"user {some}", f"hash {some}", "2026-11-22T06:00:00+00:00", None, 5, "1.50"), **changes
    )


@pytest.mark.parametrize("database", PLACES, indirect=True)
def test_keys_are_stored_once_by_name_and_revoked_once(database: Database | None, tmp_path: Path) -> None:
    keys: KeyStore = FileKeys(tmp_path) if database is None else SqlKeys(database)
    one, two = a_key(), a_key()
    before = keys.state()
    assert keys.add(one)
    assert keys.add(two)
    made = keys.state()
    assert before != made
    assert not keys.add(a_key(name=one.name)), "the name is taken, whoever asks"
    assert [key for key in keys.read() if key.name in (one.name, two.name)] == sorted(
        (one, two), key=lambda key: keys.read().index(key)
    )
    assert keys.state() == made
    assert keys.revoke(one.name, "2026-11-22T07:00:00+00:00")
    assert not keys.revoke(one.name, "2026-11-22T08:00:00+00:00")
    assert not keys.revoke("nobody's", "2026-11-22T08:00:00+00:00")
    assert keys.state() != made
    assert replace(one, revoked_at="2026-11-22T07:00:00+00:00") in keys.read()
    assert two in keys.read()


@pytest.mark.parametrize("database", PLACES[1:], indirect=True)
def test_keys_of_several_homes_come_together(database: Database) -> None:
    keys = SqlKeys(database)
    here, there, other = a_key(), a_key(), a_key()
    same_name = replace(there, name=here.name)
    revoked = replace(other, revoked_at="2026-11-22T07:00:00+00:00")
    assert keys.take_over((here, revoked)) == 2
    assert keys.take_over((same_name, here)) == 1
    assert keys.take_over((same_name, here, other)) == 0, "interrupted and done again"
    found = {key.sha256: key for key in keys.read()}
    assert found[here.sha256] == here
    assert found[there.sha256] == replace(there, name=f"{here.name} (2)")
    assert found[other.sha256] == revoked, "what was revoked stays so"


def calls_of(clock: FrozenClock, number: int) -> list[LoggedCall]:
    made = []
    for n in range(number):
        at = clock.now() + timedelta(seconds=n // 2)  # two at a time: the id decides
        made.append(
            LoggedCall(
                f"call_{n:04d}",
                at,
                "mcp",
                ("search", "fetch")[n % 2],
                {"n": n, "q": "a\0\ud800ü"},
                "ok",
                1.5,
                run_id=f"run_{n % 3}",
            )
        )
    return made


def database_log(database: Database, scope: str, clock: FrozenClock, keep: timedelta = KEEP) -> TableToolLog:
    return TableToolLog(lambda: nullcontext(SharedTables(database, scope)), clock, keep)


@pytest.mark.parametrize("database", PLACES, indirect=True)
def test_the_log_is_read_page_by_page_within_its_scope(
    database: Database | None, tmp_path: Path, clock: FrozenClock
) -> None:
    def log(scope: str, keep: timedelta = KEEP) -> TableToolLog:
        if database is None:
            return file_log(tmp_path / FILE_NAME, scope, clock, keep)
        return database_log(database, scope, clock, keep)

    mine, theirs = f"alice {uuid4()}", f"bob {uuid4()}"
    calls = calls_of(clock, 1_200)
    log(mine).write(calls)
    log(mine).write(calls[:10])  # once more, after an interruption
    log(theirs).write([replace(calls[0], tool="audit")])
    newest_first = sorted(calls, key=lambda call: (call.at, call.id), reverse=True)
    found: list[LoggedCall] = []
    before = None
    while page := log(mine).read(500, before=before):
        found += page
        before = (page[-1].at, page[-1].id)
    assert found == newest_first
    assert {call.tool for call in log(mine).read(2_000, tool="fetch")} == {"fetch"}
    assert len(log(mine).read(2_000, tool="fetch")) == 600
    assert len(log(mine).read(2_000, run_id="run_1", tool="search")) == 200
    assert log(mine).read(5, session_id="nobody's") == ()
    assert [call.tool for call in log(theirs).read(10)] == ["audit"]
    assert log(mine).forget("run_1") == 400
    assert log(mine).forget() == 800
    assert len(log(theirs).read(10)) == 1
    clock.advance(timedelta(days=6).total_seconds())
    log(theirs).write([replace(calls[1], at=clock.now())])
    assert [call.id for call in log(theirs).read(10)] == ["call_0001"], "what is too old has gone"


@pytest.mark.parametrize("database", PLACES[1:], indirect=True)
def test_the_log_of_a_home_moves_into_the_database(database: Database, tmp_path: Path, clock: FrozenClock) -> None:
    scopes = [f"{name} {uuid4()}" for name in ("alice", "bob")]
    calls, path = calls_of(clock, 700), tmp_path / FILE_NAME
    for scope in scopes:
        file_log(path, scope, clock, KEEP).write(calls)
    handed = 0

    class PowerCut(Exception):
        pass

    def interrupted(scope: str, batch: Sequence[LoggedCall]) -> None:
        nonlocal handed
        handed += 1
        if handed == 3:
            raise PowerCut
        add_calls(SharedTables(database, scope), batch)

    with pytest.raises(PowerCut):
        move_log(path, interrupted)
    assert path.exists(), "nothing goes before all has come"
    move_log(path, lambda scope, batch: add_calls(SharedTables(database, scope), batch))
    assert not list(tmp_path.glob(f"{FILE_NAME}*"))
    for scope in scopes:
        kept = database_log(database, scope, clock).read(2_000)
        assert sorted(call.id for call in kept) == [call.id for call in calls]
        assert kept[-1].request == json.loads(json.dumps(calls[0].request))
    move_log(path, interrupted)  # nothing is left to move
