"""The Internet Archive's Wayback Machine: does it hold a copy of an address that no longer answers?

Read only, no key. The availability interface is asked first; its empty answer proves nothing, so the capture index
(CDX) is asked before an address counts as never seen.
"""

import json
from datetime import UTC, datetime
from urllib.parse import quote

from pincite.apis import Answer, ApiClient, ApiSettings, rate_limited, wait_of, wrong_shape
from pincite.domain.citation import ArchivedCopy
from pincite.domain.errors import PageBlocked, ProviderBadReply, RateLimited
from pincite.ports import Clock
from pincite.runtime.limiter import INTERACTIVE, MemoryLimiter, Rate

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
