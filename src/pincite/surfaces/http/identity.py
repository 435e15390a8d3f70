"""Who asks: API keys, hashed at rest, each with the scope it owns.

The file `keys.json` of the home holds names, scopes and SHA-256 hashes; a key itself is shown once, when it is made.
"""

import hashlib
import hmac
import json
import secrets
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from pincite.domain.errors import Conflict, NotFound, StorageUnavailable, Unauthorized

FILE_NAME = "keys.json"
PREFIX = "pc_"
LOCAL_SCOPE = "local"


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key as it is stored. `scope` owns the runs and private pages made with it."""

    name: str
    scope: str
    sha256: str
    created_at: str
    revoked_at: str | None = None


class KeyRing:
    """The keys of a home. Read once; `create` and `revoke` write the file anew."""

    def __init__(self, home: Path) -> None:
        self._file = home / FILE_NAME
        self._keys = self._read()

    def all(self) -> tuple[ApiKey, ...]:
        """Every key, revoked ones too."""
        return self._keys

    @property
    def active(self) -> tuple[ApiKey, ...]:
        """The keys that open something."""
        return tuple(key for key in self._keys if key.revoked_at is None)

    def create(self, name: str, scope: str | None = None) -> str:
        """A new key for `scope` (by default the key's own name); it can't be shown again.

        Errors:
            Conflict: the name is taken. StorageUnavailable.
        """
        if any(key.name == name for key in self._keys):
            raise Conflict(f"there is a key named {name!r} already")
        secret = PREFIX + secrets.token_urlsafe(32)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._write((*self._keys, ApiKey(name, scope or name, _hash(secret), now)))
        return secret

    def revoke(self, name: str) -> None:
        """Make a key open nothing any more. Errors: NotFound, StorageUnavailable."""
        if not any(key.name == name and key.revoked_at is None for key in self._keys):
            raise NotFound(f"there is no active key named {name!r}")
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._write(
            tuple(ApiKey(k.name, k.scope, k.sha256, k.created_at, now) if k.name == name else k for k in self._keys)
        )

    def scope_of(self, secret: str | None) -> str:
        """The scope that `secret` opens; without any key in the home everybody is the local user.

        Errors:
            Unauthorized: no key given, or not one of these.
        """
        if not self._keys:
            return LOCAL_SCOPE
        wanted = _hash(secret or "")
        # Every key is compared, whatever the first ones said, so that time tells nothing.
        found = [key.scope for key in self.active if hmac.compare_digest(key.sha256, wanted)]
        if not found:
            raise Unauthorized(
                "missing or unknown API key", hint="Send it as Authorization: Bearer KEY, or as X-API-Key."
            )
        return found[0]

    def _read(self) -> tuple[ApiKey, ...]:
        try:
            return tuple(ApiKey(**item) for item in json.loads(self._file.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, TypeError) as error:
            raise StorageUnavailable(f"{self._file} can't be read: {error}", reason="keys_unreadable") from error

    def _write(self, keys: tuple[ApiKey, ...]) -> None:
        partial = self._file.with_suffix(".partial")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            partial.touch(mode=0o600)
            partial.write_text(json.dumps([asdict(key) for key in keys], indent=1) + "\n", encoding="utf-8")
            partial.replace(self._file)
        except OSError as error:
            raise StorageUnavailable(f"{self._file} can't be written: {error}", reason="keys_unwritable") from error
        self._keys = keys


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
