"""Files that were handed over, as captures: a run reads them by the address that reading them gave."""

from typing import Protocol

from pincite.domain.errors import DeadLink, NotFound
from pincite.domain.page import FetchRequest, Snapshot
from pincite.fetch.captures import GIVEN, given_body


class GivenFiles(Protocol):
    """Where they are kept, those of one scope."""

    async def of_body(self, url: str, sha256_prefix: str) -> Snapshot | None:
        """The newest capture of that address whose body has a hash that begins so, or None."""
        ...


class GivenBackend:
    """Implements `ports.FetchBackend` over what was handed over; nothing is read from any disk."""

    name = GIVEN

    def __init__(self, files: GivenFiles) -> None:
        self._files = files

    async def fetch(self, request: FetchRequest) -> Snapshot:
        """The file.

        Errors:
            NotFound: no address of such a file; another backend may know it. DeadLink: it is no longer here.
        """
        body = given_body(request.url)
        if not body:
            raise NotFound("no file that was handed over", reason="not_given")
        snapshot = await self._files.of_body(request.url, body)
        if snapshot is None or not snapshot.body:
            raise DeadLink("this file is not here, or not any more", reason="not_given", hint="Hand it over again.")
        return snapshot
