"""The API keys of all machines that use one database: hashes, limits, the scope that each opens.

A row belongs to the scope its key opens, but a key is known before its scope is: this module looks across scopes.
"""

from dataclasses import asdict, replace
from itertools import count
from typing import Any, Final

from sqlalchemy import func

from pincite.domain.access import ApiKey
from pincite.storage.database import AcrossScopes, Database, Transaction
from pincite.storage.schema import api_keys

_ALL: Final = AcrossScopes()
_SCOPE: Final = "public"
"""The scope of reading transactions; the statements here look at every scope."""


class SqlKeys:
    """Implements `ports.KeyStore`. Errors of every method: StorageUnavailable, Locked."""

    is_near = False

    def __init__(self, database: Database) -> None:
        self._database = database

    def state(self) -> str:
        """Changes whenever a key is made or revoked."""
        return self._database.read_now(_SCOPE, _state)

    def read(self) -> tuple[ApiKey, ...]:
        """Every key, in the order of their making."""
        return self._database.read_now(_SCOPE, _keys)

    def add(self, key: ApiKey) -> bool:
        """Store a key unless its name is taken, or it is there already under any name; whether it was stored."""
        return self._database.write_now(key.scope, lambda tx: tx.insert_new(api_keys, **_row(key)))

    def revoke(self, name: str, at: str) -> bool:
        """Note when an active key was revoked; whether there was one."""
        active = _ALL.update(api_keys).where(api_keys.c.name == name, api_keys.c.revoked_at.is_(None))
        return self._database.write_now(_SCOPE, lambda tx: tx.change(active.values(revoked_at=at))) == 1

    def take_over(self, keys: tuple[ApiKey, ...]) -> int:
        """Store keys of another home; how many were new. One whose name is taken gets a number behind it."""
        return sum(self._taken_over(key) for key in keys)

    def _taken_over(self, key: ApiKey) -> bool:
        while not self.add(replace(key, name=_free_name(key.name, known := self.read()))):
            if any(other.sha256 == key.sha256 for other in known):
                return False
        return True


def _free_name(name: str, known: tuple[ApiKey, ...]) -> str:
    taken = {key.name for key in known}
    return next(free for n in count(1) if (free := name if n == 1 else f"{name} ({n})") not in taken)


def _state(tx: Transaction) -> str:
    columns = (func.count(), func.count(api_keys.c.revoked_at), func.max(api_keys.c.created_at))
    row = tx.run(_ALL.select(api_keys, *columns))[0]
    return "/".join(str(value) for value in row)


def _keys(tx: Transaction) -> tuple[ApiKey, ...]:
    order = (api_keys.c.created_at, api_keys.c.name)
    return tuple(_key(row) for row in tx.run(_ALL.select(api_keys, *api_keys.c).order_by(*order)))


def _row(key: ApiKey) -> dict[str, Any]:
    return {name: value for name, value in asdict(key).items() if name != "scope"}


def _key(row: Any) -> ApiKey:  # a row of `api_keys`
    return ApiKey(**dict(row._mapping))  # noqa: SLF001  # the public way to a row's columns by name
