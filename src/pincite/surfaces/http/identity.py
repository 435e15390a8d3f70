"""Who asks: API keys, hashed at rest, each with the scope it owns and what it may take.

They are kept in the database where many machines use it, and in the file `keys.json` of the home otherwise
(`wiring.server`). A key itself is shown once, when it is made.
"""

import hashlib
import hmac
import secrets
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from pincite.domain.errors import Conflict, InvalidInput, NotFound, PinciteError, Unauthorized
from pincite.domain.records import ApiKey
from pincite.ports import KeyStore
from pincite.wiring.server import home_keys

PREFIX = "pc_"
LOCAL_SCOPE = "local"
# How often a server looks at keys in a database: so long a revoked one may still open something.
LOOK_EVERY_S: Final = 1.0
# Names are shown in lists and logs.
_NAME_LENGTH = 100


class KeyRing:
    """The keys of a store, read anew when they have changed.

    A file is looked at for each request, so that a change counts at once. A database is looked at by `follow`; while
    it can't be reached the keys known last count.

    Args:
        keys: where they are kept; a path is the home whose file it is.
    """

    def __init__(self, keys: KeyStore | Path) -> None:
        self._store: KeyStore = home_keys(keys) if isinstance(keys, Path) else keys
        self._state: str | None = None
        self._keys: tuple[ApiKey, ...] = ()
        self.refresh()

    def all(self) -> tuple[ApiKey, ...]:
        """Every key, revoked ones too. Errors: StorageUnavailable (`keys_unreadable`)."""
        if self._store.is_local:
            self.refresh()
        return self._keys

    def refresh(self) -> None:
        """Read the keys if they have changed. Errors: StorageUnavailable, Locked."""
        state = self._store.state()
        if state != self._state:
            # The state from before the read: a change in between is seen at the next look.
            self._keys, self._state = tuple(self._store.read()), state

    async def follow(self) -> None:
        """Look at a database again and again, for ever; with a file there is nothing to do."""
        while not self._store.is_local:
            await anyio.sleep(LOOK_EVERY_S)
            with suppress(PinciteError):  # out of reach: the next look may succeed
                await anyio.to_thread.run_sync(self.refresh)

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

        Errors: InvalidInput (no name, or one that is too long), Conflict (the name is taken), StorageUnavailable.
        """
        if not name.strip() or len(name) > _NAME_LENGTH or not name.isprintable():
            raise InvalidInput(f"a key's name has 1 to {_NAME_LENGTH} printable characters", reason="key_name")
        secret = PREFIX + secrets.token_urlsafe(32)
        made = ApiKey(
            name,
            scope or name,
            key_digest(secret),
            _now(),
            rate_per_min=rate_per_min,
            daily_usd=None if daily_usd is None else str(daily_usd),
        )
        if not self._store.add(made):
            raise Conflict(f"there is a key named {name!r} already")
        self.refresh()
        return secret

    def revoke(self, name: str) -> None:
        """Make a key open nothing any more. Errors: NotFound, StorageUnavailable."""
        if not self._store.revoke(name, _now()):
            raise NotFound(f"there is no active key named {name!r}")
        self.refresh()

    def key_of(self, secret: str | None) -> ApiKey:
        """The active key that `secret` is. Errors: Unauthorized (no key given, or not one of these)."""
        wanted = key_digest(secret or "")
        # Every key is compared, whatever the first ones said, so that time tells nothing.
        found = [key for key in self.active if hmac.compare_digest(key.sha256, wanted)]
        if not found:
            raise Unauthorized(
                "missing or unknown API key", hint="Send it as Authorization: Bearer KEY, or as X-API-Key."
            )
        return found[0]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def key_digest(secret: str) -> str:
    """What is kept of a key: enough to know it again."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
