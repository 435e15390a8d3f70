"""Secrets that all servers of one database share: made once by the first that needs one, belonging to no user."""

from typing import Final

from pincite.domain.codec import utc_text
from pincite.ports import Clock
from pincite.storage.database import Database, Transaction
from pincite.storage.schema import server_secrets

_SCOPE: Final = "public"


async def common_secret(database: Database, clock: Clock, name: str, offered: str) -> str:
    """The secret of that name in the database; `offered` becomes it where there is none yet.

    Errors: StorageUnavailable, StorageFull, Locked.
    """

    def agree(tx: Transaction) -> str:
        tx.insert_new(server_secrets, name=name, value=offered, created_at=utc_text(clock.now()))
        found = tx.run(tx.select(server_secrets, server_secrets.c.value).where(server_secrets.c.name == name))
        return str(found[0].value)

    return await database.write(_SCOPE, agree)
