"""Pages out of archives: those of local libraries (folders, WARC, WACZ), and whether the Wayback Machine holds a copy.

The Internet Archive is read only, and asked without a key. Its availability interface is asked first; its empty answer
proves nothing, so the capture index (CDX) is asked before an address counts as never seen.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol
from urllib.parse import quote

import anyio
import anyio.to_thread

from pincite.apis import Answer, ApiClient, ApiSettings, rate_limited, wait_of, wrong_shape
from pincite.domain.budget import DEADLINES_S
from pincite.domain.citation import ArchivedCopy
from pincite.domain.errors import DeadLink, NotFound, PageBlocked, ProviderBadReply, RateLimited, Timeout
from pincite.domain.fetch import FetchRequest
from pincite.domain.page import Snapshot
from pincite.domain.search import LibraryPage
from pincite.fetch.captures import GIVEN, capture, given_body
from pincite.ports import Clock, PageSource
from pincite.runtime.limiter import INTERACTIVE, MemoryLimiter, Rate

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


AVAILABILITY_URL = "https://archive.org"
INDEX_URL = "https://web.archive.org"
# Availability answered 429 early to a client that asked more often (waybackpy waits 5 s). The index takes 30 a minute
# from one address (staff, June 2026); `wayback` 0.5.1 asks 24.
RATES = {"availability": (Rate(1, 5.0),), "index": (Rate(24, 60.0, burst=4.0),)}
# Six turns at its pace of one in 5 s; who would wait longer is told to come again.
LONGEST_WAIT_S = 30.0
# Whoever goes on after a 429, which names no time, is shut out for an hour (edgi-govdata-archiving/wayback#137).
BLOCKED_WAIT_S = 60.0
_EXCLUDED = ("AdministrativeAccessControlException", "RobotAccessControlException", "URL has been excluded")
_STAMP = "%Y%m%d%H%M%S"


class Wayback:
    """Implements `ports.WebArchive`.

    Args:
        base_url: another archive with the same interfaces, for both of them; None: the Internet Archive.
    """

    def __init__(self, clock: Clock, *, base_url: str | None = None, user_agent: str) -> None:
        self._clock = clock
        self._origin = (base_url or INDEX_URL).rstrip("/")
        self._available = ApiClient("wayback", ApiSettings(base_url or AVAILABILITY_URL, user_agent=user_agent))
        self._index = ApiClient("wayback", ApiSettings(self._origin, user_agent=user_agent))
        self._limiter = MemoryLimiter(clock, RATES)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._available.aclose()
        await self._index.aclose()

    async def newest(self, url: str) -> ArchivedCopy | None:
        """The newest capture that answered 200, or None. Errors: as the port says."""
        answer = await self._get("availability", self._available, "/wayback/available", {"url": url})
        snapshots = answer.object().get("archived_snapshots")
        if not isinstance(snapshots, dict):
            raise wrong_shape("wayback", "no archived_snapshots in the answer")
        closest = snapshots.get("closest")
        if isinstance(closest, dict) and closest.get("available") is True and closest.get("status") == "200":
            return self._copy(url, closest.get("timestamp"))
        fields = {"fl": "timestamp,original", "output": "json", "filter": "statuscode:200"}
        newest = {"limit": "-1", "fastLatest": "true"}
        answer = await self._get("index", self._index, "/cdx/search/cdx", {"url": url, **fields, **newest})
        return self._from_index(url, answer)

    async def _get(self, kind: str, api: ApiClient, path: str, params: dict[str, str]) -> Answer:
        place = await self._limiter.reserve(kind, 1.0, INTERACTIVE, LONGEST_WAIT_S)
        if place is None:
            raise RateLimited("wayback: too many addresses are waiting to be asked about", retry_after_s=LONGEST_WAIT_S)
        answer = await api.get(path, params)
        if answer.status == 200:
            return answer
        if answer.status == 429:
            wait_s = wait_of(answer, self._clock.now()) or BLOCKED_WAIT_S
            for each in RATES:
                await self._limiter.push_back(each, wait_s)
            raise rate_limited("wayback", wait_s)
        if answer.status == 403 or any(mark in answer.text() for mark in _EXCLUDED):
            raise PageBlocked("the archive may not show this address", reason="archive_excluded")
        raise ProviderBadReply(
            f"wayback answered {answer.status}", reason="wrong_shape", context={"status": answer.status}
        )

    def _from_index(self, url: str, answer: Answer) -> ArchivedCopy | None:
        text = answer.text().strip()
        if any(mark in text for mark in _EXCLUDED):  # comes with 200, too
            raise PageBlocked("the archive may not show this address", reason="archive_excluded")
        if not text:
            return None
        try:
            rows = json.loads(text)
        except (ValueError, RecursionError):
            raise wrong_shape("wayback", "the index did not answer in JSON") from None
        if not isinstance(rows, list) or not all(isinstance(row, list) and row for row in rows):
            raise wrong_shape("wayback", "the index did not answer with rows")
        return self._copy(url, rows[-1][0]) if len(rows) > 1 else None

    def _copy(self, url: str, stamp: object) -> ArchivedCopy:
        try:
            moment = datetime.strptime(str(stamp), _STAMP).replace(tzinfo=UTC)
        except ValueError:
            raise wrong_shape("wayback", "a capture has no time") from None
        # `id_`: the body as it was captured, without the archive's toolbar and rewritten links.
        return ArchivedCopy(f"{self._origin}/web/{stamp}id_/{quote(url, safe=_URL_CHARS)}", moment)


_URL_CHARS = ":/?#[]@!$&'()*+,;=%~-._"
