"""What webhooks are signed with: one key for a home, one for all servers of a database, or the setting."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from pincite.settings import load_settings
from pincite.storage.service import open_storage
from pincite.testing.clock import FrozenClock
from pincite.wiring.server import KEY_NAME, master_key

FIRST_USE = """
import sys, anyio
from pathlib import Path
from pincite.runtime.system import SystemClock
from pincite.settings import load_settings
from pincite.storage.service import open_storage
from pincite.wiring.server import master_key

async def go():
    given = {"home": Path(sys.argv[1])}
    async with open_storage(Path(sys.argv[1]), SystemClock()) as storage:
        print("ready", flush=True)
        sys.stdin.readline()
        key = await master_key(load_settings(given, environ={}, files=()), SystemClock(), storage.database)
        print(key.decode())

anyio.run(go)
"""


async def key_of(home: Path, url: str | None = None, **more: Any) -> bytes:
    """The key that a server with this home signs with."""
    given: dict[str, Any] = {"home": home, **({} if url is None else {"database_url": url}), **more}
    clock = FrozenClock()
    async with open_storage(home if url is None else url, clock) as storage:
        return await master_key(load_settings(given, environ={}, files=()), clock, storage.database)


async def test_a_home_keeps_its_key(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    assert await key_of(one) == await key_of(one)
    assert await key_of(one) != await key_of(other)
    assert (one / KEY_NAME).stat().st_mode & 0o077 == 0
    assert await key_of(one, webhook_secret="given") == b"given"


def test_two_servers_that_start_on_one_new_home_sign_alike(tmp_path: Path) -> None:
    both = [
        subprocess.Popen(
            [sys.executable, "-c", FIRST_USE, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for process in both:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in both:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=120)[0] for process in both]
    assert said[0] == said[1] != ""


async def test_servers_on_several_machines_sign_alike(tmp_path: Path, postgresql_database: str) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    common = await key_of(here, postgresql_database)
    assert await key_of(there, postgresql_database) == common
    assert not (here / KEY_NAME).exists()
    assert not (there / KEY_NAME).exists()
    assert await key_of(there, postgresql_database, webhook_secret="given") == b"given"
    assert await key_of(here, postgresql_database) == common, "the setting of one machine is not kept"


async def test_the_key_of_a_home_goes_on_in_its_database(tmp_path: Path, postgresql_database: str) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    before, other = await key_of(here), await key_of(there)
    assert await key_of(here, postgresql_database) == before, "receivers need no new secret"
    assert await key_of(there, postgresql_database) == before
    assert other != before
