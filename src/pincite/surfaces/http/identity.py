"""Who asks: API keys, hashed at rest, each with the scope it owns and what it may take.

The file `keys.json` of the home holds names, scopes, limits and SHA-256 hashes; a key itself is shown once, when it is
made. A change of the file counts at once, also in a server that is running.
"""

import hashlib
import hmac
import json
import secrets
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from pincite.domain.errors import Conflict, InvalidInput, NotFound, StorageUnavailable, Unauthorized

FILE_NAME = "keys.json"
PREFIX = "pc_"
LOCAL_SCOPE = "local"
_NAME_LENGTH = 100


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key as it is stored. `scope` owns the runs and private pages made with it.

    `rate_per_min` is how many requests it may make in a minute, `daily_usd` what it may spend in a day (UTC);
    None sets no limit.
    """

    name: str
    scope: str
    sha256: str
    created_at: str
    revoked_at: str | None = None
    rate_per_min: int | None = None
    daily_usd: str | None = None

    @property
    def daily_cap_usd(self) -> Decimal | None:
        """What the key may spend in a day."""
        return None if self.daily_usd is None else Decimal(self.daily_usd)


class KeyRing:
    """The keys of a home; `create` and `revoke` write the file anew."""

    def __init__(self, home: Path) -> None:
        self._file = home / FILE_NAME
        self._state: tuple[int, int] | None = None
        self._keys: tuple[ApiKey, ...] = ()
        self.all()

    def all(self) -> tuple[ApiKey, ...]:
        """Every key, revoked ones too. Errors: StorageUnavailable (`keys_unreadable`)."""
        state = self._look()
        if state != self._state:
            self._keys, self._state = self._read(), state
        return self._keys

    @property
    def needed(self) -> bool:
        """Whether a key is asked for; without any key in the home everybody is the local user."""
        return bool(self.all())

    @property
    def active(self) -> tuple[ApiKey, ...]:
        """The keys that open something."""
        return tuple(key for key in self.all() if key.revoked_at is None)

    def create(
        self, name: str, scope: str | None = None, *, rate_per_min: int | None = None, daily_usd: Decimal | None = None
    ) -> str:
        """A new key for `scope` (by default the key's own name); it can't be shown again.

        Errors:
            InvalidInput: no name, or one that is too long. Conflict: the name is taken. StorageUnavailable.
        """
        if not name.strip() or len(name) > _NAME_LENGTH or not name.isprintable():
            raise InvalidInput(f"a key's name has 1 to {_NAME_LENGTH} printable characters", reason="key_name")
        if any(key.name == name for key in self.all()):
            raise Conflict(f"there is a key named {name!r} already")
        secret = PREFIX + secrets.token_urlsafe(32)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        made = ApiKey(
            name,
            scope or name,
            _hash(secret),
            now,
            rate_per_min=rate_per_min,
            daily_usd=None if daily_usd is None else str(daily_usd),
        )
        self._write((*self._keys, made))
        return secret

    def revoke(self, name: str) -> None:
        """Make a key open nothing any more. Errors: NotFound, StorageUnavailable."""
        if not any(key.name == name and key.revoked_at is None for key in self.all()):
            raise NotFound(f"there is no active key named {name!r}")
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._write(tuple(replace(key, revoked_at=now) if key.name == name else key for key in self._keys))

    def scope_of(self, secret: str | None) -> str:
        """The scope that `secret` opens; without any key in the home everybody is the local user.

        Errors:
            Unauthorized: no key given, or not one of these.
        """
        return self.key_of(secret).scope if self.needed else LOCAL_SCOPE

    def key_of(self, secret: str | None) -> ApiKey:
        """The active key that `secret` is.

        Errors:
            Unauthorized: no key given, or not one of these.
        """
        wanted = _hash(secret or "")
        # Every key is compared, whatever the first ones said, so that time tells nothing.
        found = [key for key in self.active if hmac.compare_digest(key.sha256, wanted)]
        if not found:
            raise Unauthorized(
                "missing or unknown API key", hint="Send it as Authorization: Bearer KEY, or as X-API-Key."
            )
        return found[0]

    def _look(self) -> tuple[int, int]:
        """What tells one state of the file from another; (0, 0) where there is none."""
        try:
            found = self._file.stat()
        except FileNotFoundError:
            return (0, 0)
        except OSError as error:
            raise StorageUnavailable(f"{self._file} can't be read: {error}", reason="keys_unreadable") from error
        return (found.st_mtime_ns, found.st_size)

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
        self._keys, self._state = keys, self._look()


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
