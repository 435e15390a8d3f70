"""The API keys of one home: the file `keys.json` beside the database, standard library only. Hashes, never keys.

Processes on several machines share `storage.keys` instead.
"""

import json
import secrets
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from pincite.domain.errors import StorageUnavailable
from pincite.domain.records import ApiKey
from pincite.storage.home_files import one_at_a_time

FILE_NAME: Final = "keys.json"


class FileKeys:
    """Implements `ports.KeyStore`. A change counts at once, also in a server that is running.

    Processes change the file one after the other, so that no key is lost; readers see it before or after a change.
    """

    is_near = True

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

    def put_away(self) -> None:
        """Rename the file: its keys live elsewhere now. Errors: StorageUnavailable (`keys_unwritable`)."""
        try:
            self.path.replace(self.path.with_suffix(".json.moved"))
        except FileNotFoundError:
            return  # another process was faster
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def _write(self, keys: Sequence[ApiKey]) -> None:
        partial = self.path.with_suffix(f".{secrets.token_hex(4)}.partial")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            partial.touch(mode=0o600)
            partial.write_text(json.dumps([asdict(key) for key in keys], indent=1) + "\n", encoding="utf-8")
            partial.replace(self.path)
        except OSError as error:
            raise _unwritable(self.path, error) from error


def _unwritable(path: Path, error: OSError) -> StorageUnavailable:
    return StorageUnavailable(f"{path} can't be written: {error}", reason="keys_unwritable")
