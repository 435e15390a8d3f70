"""What sites answered for robots.txt, kept between processes: for a day, longer as a stand-in."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from pincite.domain.codec import utc_moment, utc_text
from pincite.domain.errors import PinciteError
from pincite.domain.records import Entry
from pincite.fetch.robots import Robots, parse_robots
from pincite.ports import Cache, Clock

# How long rules are kept for a site that can't be asked; without them nothing there is fetched.
STAND_IN: Final = timedelta(days=60)
_NAMESPACE: Final = "robots"
_CHARSET: Final = "latin-1"  # any bytes, and back


class Decision(StrEnum):
    """What a site's answer for robots.txt came to."""

    APPLY_RULES = "apply_rules"
    APPLY_FIRST_500KIB = "apply_first_500KiB"
    APPLY_STALE = "apply_stale"
    ALLOW_ALL = "allow_all"
    DISALLOW_ALL = "disallow_all"


@dataclass(frozen=True, slots=True)
class SiteRules:
    """The decision for one origin, until when it holds (by the monotonic clock), and the file with its time.

    `failure` is why the origin could not even be asked; then it said nothing that would be a refusal.
    """

    decision: Decision
    rules: Robots
    until_s: float = 0.0
    body: bytes = b""
    read_at: datetime | None = None
    failure: PinciteError | None = None

    @property
    def has_rules(self) -> bool:
        """Whether the site gave rules of its own."""
        return self.decision not in {Decision.ALLOW_ALL, Decision.DISALLOW_ALL}


class RobotsMemory:
    """Decisions by origin in a cache. A site that could not be reached is not remembered: the next process asks.

    Args:
        cache: where.
        clock: the time.
    """

    def __init__(self, cache: Cache, clock: Clock) -> None:
        self._cache = cache
        self._clock = clock

    async def recall(self, origin: str) -> SiteRules | None:
        """What is known of an origin, fresh or past its time, or None."""
        entry = await self._cache.get(_NAMESPACE, origin)
        if entry is None:
            return None
        stored = json.loads(entry.value)
        body = stored["body"].encode(_CHARSET)
        left_s = (entry.fresh_until - self._clock.now()).total_seconds()
        read_at = utc_moment(stored["read_at"]) if stored["read_at"] else None
        return SiteRules(
            Decision(stored["decision"]), parse_robots(body), self._clock.monotonic_s() + left_s, body, read_at
        )

    async def keep(self, origin: str, site: SiteRules) -> None:
        """Remember what an origin answered just now."""
        if site.decision is Decision.DISALLOW_ALL:
            return
        now = self._clock.now()
        fresh_until = now + timedelta(seconds=site.until_s - self._clock.monotonic_s())
        stale_until = max(fresh_until, site.read_at + STAND_IN) if site.read_at else fresh_until
        value = {
            "decision": site.decision.value,
            "body": site.body.decode(_CHARSET),
            "read_at": utc_text(site.read_at) if site.read_at else "",
        }
        await self._cache.put(_NAMESPACE, origin, Entry(json.dumps(value).encode(), fresh_until, stale_until, now, {}))
