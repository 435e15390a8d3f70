"""Where the API keys are: with the database where many machines use it, otherwise in a file of the home."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.domain.access import ApiKey
from pincite.ports import KeyStore
from pincite.settings import Settings

if TYPE_CHECKING:
    from pincite.storage.file_keys import FileKeys


def home_keys(home: Path) -> "FileKeys":
    """The keys in the file of a home."""
    from pincite.storage.file_keys import FileKeys

    return FileKeys(home)


@contextmanager
def opened_keys(settings: Settings) -> Iterator[KeyStore]:
    """The keys that count with these settings. Blocking.

    With a PostgreSQL the keys of the home's file, if there are any, are taken over once; the file is put away then.

    Errors: StorageUnavailable, SchemaMismatch, Locked, InvalidSetting, ExtraNotInstalled.
    """
    near = home_keys(settings.home)
    place = settings.shared_database
    if place is None:
        yield near
        return
    from pincite.runtime.clock import SystemClock
    from pincite.storage.database import opened_now
    from pincite.storage.keys import SqlKeys

    with opened_now(place, SystemClock()) as database:
        keys = SqlKeys(database)
        found: tuple[ApiKey, ...] = near.read()
        if found:
            keys.take_over(found)
            near.put_away()
        yield keys
