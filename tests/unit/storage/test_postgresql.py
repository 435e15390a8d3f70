from inspect import unwrap
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, inspect

from pincite.domain.budget import Budget
from pincite.domain.errors import StorageUnavailable
from pincite.domain.events import RunStatus
from pincite.domain.records import RunRecord
from pincite.runtime.system import SystemClock, default_options
from pincite.storage import runs
from pincite.storage.schema import metadata
from pincite.storage.service import open_storage


async def test_the_migrations_make_the_schema_of_the_code(postgresql_url: str) -> None:
    async with open_storage(postgresql_url, SystemClock()) as storage:
        assert storage.database.is_shared
    engine = create_engine(postgresql_url.replace("postgresql://", "postgresql+psycopg://"))
    found = inspect(engine)
    assert set(metadata.tables) <= set(found.get_table_names())
    for name, table in metadata.tables.items():
        columns = {column["name"]: column for column in found.get_columns(name)}
        assert set(columns) == {column.name for column in table.columns}
        # The tables are made by SQL of ours: what a kind of column is sent as has to be what it is there.
        for column in table.columns:
            assert str(columns[column.name]["type"]).split("(")[0] == str(column.type.compile(engine.dialect)), column
    engine.dispose()


async def test_a_server_that_takes_no_changes_is_a_typed_error_and_stays_readable(postgresql_url: str) -> None:
    """A standby, or a primary that was set to read only after a failover."""
    scope, now = f"standby {uuid4()}", SystemClock().now()
    kept = RunRecord("run_1", scope, "Why?", RunStatus.QUEUED, now, now, {}, Budget())
    async with open_storage(postgresql_url, SystemClock()) as storage:
        await storage.scope(scope).runs.create(kept)
    joined = "&" if "?" in postgresql_url else "?"
    url = f"{postgresql_url}{joined}options=-c%20default_transaction_read_only%3Don"
    async with open_storage(url, SystemClock()) as storage:
        runs = storage.scope(scope).runs
        with pytest.raises(StorageUnavailable) as caught:
            await runs.delete("run_1")
        assert caught.value.reason == "read_only"
        assert "primary" in caught.value.hint
        assert (await runs.get("run_1")).question == "Why?"
    async with open_storage(postgresql_url, SystemClock()) as storage:
        await storage.scope(scope).runs.delete("run_1")


async def test_connections_notice_a_server_that_vanished_and_obey_the_url(postgresql_url: str) -> None:
    joined = "&" if "?" in postgresql_url else "?"
    async with open_storage(f"{postgresql_url}{joined}keepalives_idle=77", SystemClock()) as storage:
        with storage.database._writer.connect() as connection:
            psycopg: Any = connection.connection.dbapi_connection
            found = psycopg.info.get_parameters()
    wanted = {"keepalives_idle": "77", "keepalives_count": "3", "tcp_user_timeout": "60000", "connect_timeout": "10"}
    assert {name: found.get(name) for name in wanted} == wanted
    beside = default_options("postgresql://h/db?sslmode=require&connect_timeout=3")
    assert "connect_timeout" not in beside
    assert beside["tcp_user_timeout"] == 60_000


async def test_a_run_taken_while_it_is_being_queued_stays_taken(
    postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope, now = f"race {uuid4()}", SystemClock().now()
    async with open_storage(postgresql_url, SystemClock()) as storage:
        store = storage.scope(scope).runs
        await store.create(RunRecord("run_1", scope, "Why?", RunStatus.QUEUED, now, now, {}, Budget()))
        real = runs._is_live
        taken: list[object] = []

        def taken_meanwhile(row: Any, now_s: float) -> bool:
            free = not real(row, now_s)
            if not taken:
                taken.append("now")
                take: Any = unwrap(runs.SqlRunStore.take)
                taken[0] = storage.database.write_now(scope, lambda tx: take(store, tx, "run_1", "elsewhere/x/1/1", 30))
            return not free

        monkeypatch.setattr(runs, "_is_live", taken_meanwhile)
        assert not await store.queue("run_1", 5)
        monkeypatch.undo()
        found = await store.get("run_1")
        assert (found.status, found.epoch) == (RunStatus.RUNNING, 1)
        await store.finish("run_1", found.epoch, RunStatus.CANCELLED)
        await store.delete("run_1")


async def test_a_server_that_is_not_there_is_a_typed_error_without_the_password(tmp_path: Path) -> None:
    with pytest.raises(StorageUnavailable) as caught:
        async with open_storage(f"postgresql://me:s3cret@/db?host={tmp_path}", SystemClock(), wait_s=0):
            pass
    assert caught.value.retryable
    assert "s3cret" not in str(caught.value) + caught.value.hint + repr(caught.value.__cause__)
