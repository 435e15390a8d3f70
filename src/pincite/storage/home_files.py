"""Small files of a home: opened for one process at a time, as SQLite beside the database, or only to be read."""

import json
import os
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from pincite.domain.errors import Locked, StorageUnavailable
from pincite.domain.records import ApiKey
from pincite.runtime.system import make_private, replace_file
from pincite.sqlite import open_sqlite
from pincite.storage import failures

# The file of the database in a home folder.
DATABASE_NAME: Final = "pincite.sqlite"

# One process at a time at a small file: the lock is the system's, so it ends with whoever holds it.

# Another process at the same home may be starting up or migrating.
WAIT_S: Final = 20.0
# Between two looks at a lock that another process has: the file system tells nobody when it is free.
_PAUSE_S: Final = 0.02


@contextmanager
def one_at_a_time(path: Path, *, wait_s: float = WAIT_S) -> Iterator[None]:
    """A block that no other process or thread is in for the same file. The lock is `PATH.lock` beside it. Blocking.

    Errors: Locked (`file_locked`: another one did not let go in time), StorageUnavailable, StorageFull.
    """
    with failures.translated():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        until_s = time.monotonic() + wait_s
        while not _try_lock(handle):
            if time.monotonic() > until_s:
                raise Locked(f"another process is changing {path}", reason="file_locked")
            time.sleep(_PAUSE_S)
        yield
    finally:
        os.close(handle)  # lets go of the lock


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


# A SQLite file on a read-only mount, or of somebody else: it can be listed, shown and checked, and nothing changes.


def can_only_be_read(path: Path) -> bool:
    """Whether the file is there, and neither it nor its folder takes changes from this process."""
    return path.is_file() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def open_read_only(path: Path) -> sqlite3.Connection:
    """A connection that reads. Errors: sqlite3.Error.

    A home that can't be written has no write-ahead log beside the file, or one that can't be shared: then the file
    itself is all there is.
    """
    for options in ("mode=ro", "mode=ro&immutable=1"):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{options}", uri=True, timeout=5, check_same_thread=False
        )
        try:
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
        except sqlite3.Error as error:
            connection.close()
            if "immutable" in options or not isinstance(error, sqlite3.OperationalError):
                raise
        else:
            return connection
    raise sqlite3.OperationalError("unable to open database file")


# Small SQLite files beside the database, standard library only: each may be deleted, a damaged one is begun anew.

# As `WAIT_S`, for SQLite's own locks.
_WAIT_S = 20


def open_side_file(path: Path, schema: str, version: int = 0) -> sqlite3.Connection:
    """A connection to the file at `path` with its tables; a damaged file is moved to `PATH.damaged` first.

    With a version, the tables of a file of another version are thrown away.

    Errors: StorageUnavailable, StorageFull, Locked.
    """
    with failures.translated():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            return _open(path, schema, version)
        except sqlite3.DatabaseError as error:
            if failures.of_sqlite(error).reason != "corrupt":
                raise
        # The log first: a new file with the old one's log beside it would be damaged at once.
        for ending in ("-wal", "-shm"):
            Path(f"{path}{ending}").unlink(missing_ok=True)
        path.replace(f"{path}.damaged")
        return _open(path, schema, version)


def _open(path: Path, schema: str, version: int) -> sqlite3.Connection:
    make_private(path)
    connection = open_sqlite(path, _WAIT_S)
    try:
        if version and connection.execute("PRAGMA user_version").fetchone()[0] != version:
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute("PRAGMA user_version").fetchone()[0] != version:  # no other process was faster
                for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                    connection.execute(f'DROP TABLE "{name}"')
                connection.execute(f"PRAGMA user_version = {version}")
            connection.execute("COMMIT")
        connection.executescript(schema)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


FILE_NAME: Final = "keys.json"


class FileKeys:
    """Implements `ports.KeyStore`. A change counts at once, also in a server that is running.

    Processes change the file one after the other, so that no key is lost; readers see it before or after a change.
    """

    is_local = True

    def __init__(self, home: Path) -> None:
        self.path = home / FILE_NAME

    def state(self) -> str:
        """Changes whenever the file does; empty where there is none. Errors: StorageUnavailable (`keys_unreadable`)."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise StorageUnavailable(f"{self.path} can't be read: {error}", reason="keys_unreadable") from error
        return f"{found.st_ino}/{found.st_mtime_ns}/{found.st_size}"

    def read(self) -> tuple[ApiKey, ...]:
        """Every key. Errors: StorageUnavailable (`keys_unreadable`)."""
        try:
            return tuple(ApiKey(**item) for item in json.loads(self.path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, TypeError) as error:
            raise StorageUnavailable(f"{self.path} can't be read: {error}", reason="keys_unreadable") from error

    def add(self, key: ApiKey) -> bool:
        """Store a key unless its name is taken.

        Errors: StorageUnavailable (`keys_unwritable`, `keys_unreadable`, `no_permission`, ...), StorageFull, Locked.
        """
        with one_at_a_time(self.path):
            keys = self.read()
            if any(known.name == key.name for known in keys):
                return False
            self._write((*keys, key))
        return True

    def revoke(self, name: str, at: str) -> bool:
        """Note when an active key was revoked. Errors: as `add`."""
        with one_at_a_time(self.path):
            keys = self.read()
            found = any(key.name == name and key.revoked_at is None for key in keys)
            if found:
                revoked = (replace(key, revoked_at=key.revoked_at or at) if key.name == name else key for key in keys)
                self._write(tuple(revoked))
        return found

    def mark_moved(self) -> None:
        """Rename the file: its keys live elsewhere now. Errors: StorageUnavailable (`keys_unwritable`)."""
        try:
            self.path.replace(self.path.with_suffix(".json.moved"))
        except FileNotFoundError:
            return  # another process was faster
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def _write(self, keys: Sequence[ApiKey]) -> None:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self.path, json.dumps([asdict(key) for key in keys], indent=1) + "\n", private=True)
        except OSError as error:
            raise _unwritable(self.path, error) from error


def _unwritable(path: Path, error: OSError) -> StorageUnavailable:
    return StorageUnavailable(f"{path} can't be written: {error}", reason="keys_unwritable")
