"""The tables of the queue are made by one process at a time, and a frozen one does not freeze the others."""

import anyio
import psycopg
import pytest

from pincite import dispatch
from pincite.dispatch import open_procrastinate
from pincite.domain.errors import Locked, StorageUnavailable


async def test_many_processes_that_start_at_once_make_them_once(postgresql_database: str) -> None:
    async def start() -> None:
        async with open_procrastinate(postgresql_database, listen=False):
            pass

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(start)
    with psycopg.connect(postgresql_database, autocommit=True) as connection:
        assert connection.execute("SELECT to_regclass('procrastinate_jobs')").fetchone() != (None,)


async def test_one_that_is_frozen_while_it_makes_them_is_not_waited_for_without_end(
    postgresql_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "_LOCK_WAIT_S", 0.2)
    with psycopg.connect(postgresql_database) as frozen:
        frozen.execute(f"SELECT pg_advisory_xact_lock({dispatch._SCHEMA_LOCK})".encode())
        with pytest.raises(Locked) as caught:
            async with open_procrastinate(postgresql_database, listen=False):
                pass
    assert caught.value.retryable
    async with open_procrastinate(postgresql_database, listen=False):
        pass


async def test_a_database_that_is_away_is_named_and_not_the_home_folder() -> None:
    with pytest.raises(StorageUnavailable, match="port 1") as caught:
        async with open_procrastinate("postgresql://me:secret@127.0.0.1:1/runs", listen=False):
            pass
    assert "PINCITE_DATABASE_URL" in caught.value.hint
    assert "secret" not in f"{caught.value.message} {caught.value.hint}"
    assert caught.value.retryable
