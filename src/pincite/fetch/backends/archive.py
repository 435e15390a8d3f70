"""Pages out of local libraries (folders, WARC, WACZ) as captures that say where they come from."""

from collections.abc import Sequence
from typing import Protocol

import anyio
import anyio.to_thread

from pincite.domain.budget import DEADLINES_S
from pincite.domain.errors import DeadLink, NotFound, Timeout
from pincite.domain.fetch import FetchRequest
from pincite.domain.library import LibraryPage
from pincite.domain.page import Snapshot
from pincite.fetch.captures import GIVEN, capture, given_body
from pincite.ports import Clock, PageSource

NAME = "archive"


class ArchiveBackend:
    """Implements `ports.FetchBackend` over libraries; the first that holds the address answers.

    Nothing is fetched: the capture's time is the archive's, that of a file is now, `robots` is `not_asked`, and `note`
    is the provenance.
    """

    name = NAME

    def __init__(
        self, libraries: Sequence[PageSource], clock: Clock, *, deadline_s: float = DEADLINES_S["local_search"]
    ) -> None:
        self._libraries = tuple(libraries)
        self._clock = clock
        self._deadline_s = deadline_s  # the one of a request is meant for the web, and a busy machine is no web site

    async def fetch(self, request: FetchRequest) -> Snapshot:
        """The stored page.

        Errors:
            NotFound: no library holds the address; another backend may.
            ArchiveCorrupt: the archive changed or is damaged at the page.
            Timeout: the file system did not answer in time.
        """
        try:
            with anyio.fail_after(self._deadline_s):
                page = await anyio.to_thread.run_sync(self._find, request.url, abandon_on_cancel=True)
        except TimeoutError:
            raise Timeout("the library did not answer in time", reason="archive_read") from None
        return capture(
            url=request.url,
            final_url=page.url,
            status=200,
            headers=(("content-type", page.content_type),),
            body=page.body,
            fetched_at=page.captured_at or self._clock.now(),
            via=NAME,
            robots="not_asked",
            note=page.note,
        )

    def _find(self, url: str) -> LibraryPage:
        for library in self._libraries:
            try:
                return library.page(url)
            except NotFound:
                continue
        raise NotFound(f"no library holds {url}", reason="not_in_library")


# Files that were handed over, as captures: a run reads them by the address that reading them gave.


class GivenFiles(Protocol):
    """Where they are kept, those of one scope."""

    async def of_body(self, url: str, sha256_prefix: str) -> Snapshot | None:
        """The newest capture of that address whose body has a hash that begins so, or None."""


class GivenBackend:
    """Implements `ports.FetchBackend` over what was handed over; nothing is read from any disk."""

    name = GIVEN

    def __init__(self, files: GivenFiles) -> None:
        self._files = files

    async def fetch(self, request: FetchRequest) -> Snapshot:
        """The file.

        Errors: NotFound (no address of such a file; another backend may know it), DeadLink (it is no longer here).
        """
        body = given_body(request.url)
        if not body:
            raise NotFound("this is not the address of a file that was given", reason="not_given")
        snapshot = await self._files.of_body(request.url, body)
        if snapshot is None or not snapshot.body:
            raise DeadLink("this file is not stored here, or no longer", reason="not_given", hint="Send it again.")
        return snapshot
