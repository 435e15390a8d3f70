import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from pincite.domain.errors import StorageUnavailable
from pincite.domain.records import Entry
from pincite.storage.cache import OF_HOME, open_cache
from pincite.storage.tables import FileTables
from pincite.testing.clock import FrozenClock


def entry(clock: FrozenClock, value: bytes) -> Entry:
    now = clock.now()
    return Entry(value, now + timedelta(hours=1), now + timedelta(days=9), now, {})


async def test_it_stays_below_its_bound_and_keeps_what_is_used(tmp_path: Path, clock: FrozenClock) -> None:
    cache = await open_cache(tmp_path / "c.sqlite", "alice", clock, replace(OF_HOME, max_bytes=100_000))
    for n in range(400):
        await cache.put("page", str(n), entry(clock, bytes(1000)))
        clock.advance(120)
        await cache.get("page", "0")
    counts = await cache.counts()
    assert counts.size_bytes <= 100_000 + 64 * 1000
    assert counts.evicted > 200
    assert await cache.get("page", "0") is not None
    assert await cache.get("page", "5") is None
    await cache.put("page", "big", entry(clock, bytes(90_000)))
    assert (await cache.counts()).size_bytes <= 100_000
    await cache.close()


async def test_scopes_do_not_meet(tmp_path: Path, clock: FrozenClock) -> None:
    alice = await open_cache(tmp_path / "c.sqlite", "alice", clock)
    bob = await open_cache(tmp_path / "c.sqlite", "bob", clock)
    await alice.put("page", "k", entry(clock, b"private"))
    assert await alice.lease("page", "k", 10)
    assert await bob.get("page", "k") is None
    assert await bob.lease("page", "k", 10)
    assert await bob.delete("page") == await bob.clear() == 0
    assert (await bob.counts()).entries == 0
    assert await alice.clear() == 1
    assert b"private" not in (tmp_path / "c.sqlite").read_bytes()
    await alice.close()
    await bob.close()


async def test_a_damaged_row_is_a_miss(tmp_path: Path, clock: FrozenClock) -> None:
    cache = await open_cache(tmp_path / "c.sqlite", "alice", clock)
    for n, change in enumerate(("value = x'00'", "stale_until = 'soon'", "validators = '{'")):
        await cache.put("page", str(n), entry(clock, b"good"))
        with closing(sqlite3.connect(tmp_path / "c.sqlite")) as raw, raw:
            raw.execute(f"UPDATE cache_entries SET {change} WHERE entry_key = ?", (str(n),))
        assert await cache.get("page", str(n)) is None
        assert (await cache.counts()).entries == 0
    await cache.close()


async def test_a_damaged_file_is_begun_anew(tmp_path: Path, clock: FrozenClock) -> None:
    path = tmp_path / "c.sqlite"
    path.write_bytes(b"garbage" * 1000)
    cache = await open_cache(path, "alice", clock)
    await cache.put("page", "k", entry(clock, b"v"))
    assert await cache.get("page", "k") is not None
    await cache.close()
    assert path.with_name("c.sqlite.damaged").read_bytes().startswith(b"garbage")
    with pytest.raises(StorageUnavailable):
        await open_cache(path / "under a file", "alice", clock)


async def test_the_file_of_an_earlier_version_is_begun_anew(tmp_path: Path, clock: FrozenClock) -> None:
    path = tmp_path / "c.sqlite"
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("CREATE TABLE entries (scope TEXT, key TEXT, PRIMARY KEY (scope, key)) WITHOUT ROWID")
    for _ in range(2):  # the second time it is of this version
        cache = await open_cache(path, "alice", clock)
        await cache.put("page", "k", entry(clock, b"v"))
        assert await cache.get("page", "k") is not None
        assert (await cache.counts()).entries == 1
        await cache.close()
    with closing(sqlite3.connect(path)) as raw:
        names = {name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert names == {"cache_entries", "cache_leases"}


async def test_a_full_disk_only_means_that_nothing_is_kept(tmp_path: Path, clock: FrozenClock) -> None:
    cache = await open_cache(tmp_path / "c.sqlite", "alice", clock)
    cast("FileTables", cache.tables).opened().execute("PRAGMA max_page_count = 20")
    await cache.put("page", "small", entry(clock, b"v"))
    await cache.put("page", "big", entry(clock, bytes(500_000)))
    assert await cache.get("page", "big") is None
    await cache.put("page", "small", entry(clock, b"v"))
    assert await cache.get("page", "small") is not None
    await cache.close()


def test_neither_the_cache_nor_the_reader_imports_the_database_layer(tmp_path: Path) -> None:
    import subprocess

    code = "import sys, pincite.storage.cache, pincite.storage.evidence; sys.exit('sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
