"""Asks each site for its robots.txt once, keeps the answer, and says whether a page may be fetched."""

import json
from collections import OrderedDict
from copy import copy
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol

import anyio

from pincite.domain.codec import utc_moment, utc_text
from pincite.domain.errors import (
    BlockedAddress,
    BudgetExhausted,
    DomainDenied,
    InvalidUrl,
    PinciteError,
    RobotsDisallowed,
    Timeout,
    TooManyRedirects,
)
from pincite.domain.fetch import FetchRequest
from pincite.domain.frozen import dataclass
from pincite.domain.records import Entry
from pincite.domain.version import PRODUCT_TOKEN
from pincite.fetch.client import GuardedClient, Visit, visit
from pincite.fetch.limits import RETRY_AFTER_MAX_S, ROBOTS_BYTES_MAX
from pincite.fetch.robots import Robots, parse_robots
from pincite.ports import Cache, Clock
from pincite.runtime.concurrency import SingleFlight
from pincite.runtime.recovery import retry_after_s
from pincite.urls.parse import ParsedUrl, parse_url
from pincite.urls.policy import UrlPolicy, vet_parsed

# What sites answered for robots.txt, kept between processes: for a day, longer as a stand-in.

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
    """Decisions by origin in a cache. A site that could not be reached is not remembered: the next process asks."""

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
        # RFC 9309 §2.3.1.4: a site that can't be asked may be treated by the last rules it gave.
        stale_until = max(fresh_until, site.read_at + STAND_IN) if site.read_at else fresh_until
        value = {
            "decision": site.decision.value,
            "body": site.body.decode(_CHARSET),
            "read_at": utc_text(site.read_at) if site.read_at else "",
        }
        await self._cache.put(_NAMESPACE, origin, Entry(json.dumps(value).encode(), fresh_until, stale_until, now, {}))


# RFC 9309 §2.4: not longer than 24 hours.
_KEEP_S = 86_400.0
# An answer that allows or refuses all without rules may be a mistake of the day: looked at again sooner.
_KEEP_UNCLEAR_S = 3_600.0
# A site in trouble is not asked with every page that somebody wants of it.
_RETRY_S = 600.0
# A site that could not be reached is asked again sooner than one that answered an error: it may be our network.
_RETRY_FAILED_S = 30.0
# A site that lets nothing be cached would have to be asked before every page.
_MIN_KEEP_S = 60.0
# Rules that are remembered; the least recently used go first, and are asked for again.
_SITES_MAX = 20_000
# Part of the page's own deadline (12 s unless set): without rules there is no page.
_DEADLINE_S = 10.0
# RFC 9309 §2.3.1.2: at least five are to be followed.
_REDIRECTS_MAX = 5


class RobotsMode(StrEnum):
    """How robots.txt is treated.

    `USER_TRIGGERED` spares only pages whose URL the user typed; `OFF` is for an operator who owns the sites.
    """

    OBEY = "obey"
    USER_TRIGGERED = "user_triggered"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Admission:
    """A page that may be fetched: its URL, and what the site asks of those who do."""

    url: ParsedUrl
    robots: str
    delay_s: float | None = None
    signals: tuple[str, ...] = ()


class Gate(Protocol):
    """Says whether a page may be fetched."""

    async def admit(self, url: str, request: FetchRequest) -> Admission:
        """The page as it may be fetched. Errors: InvalidUrl, BlockedAddress, DomainDenied, RobotsDisallowed."""


class RobotsGate:
    """Lets a URL through when policy and robots.txt allow it. One robots.txt request per origin and day.

    Args:
        policy: the URL policy, for redirects of robots.txt.
        strict_auth: treat 401 and 403 for robots.txt as "nothing allowed" instead of "no rules".
        obey_ai_input: refuse pages whose site says `ai-input=no`.
        memory: keeps answers between processes.
    """

    def __init__(
        self,
        client: GuardedClient,
        policy: UrlPolicy,
        clock: Clock,
        *,
        mode: RobotsMode = RobotsMode.OBEY,
        strict_auth: bool = False,
        obey_ai_input: bool = True,
        memory: RobotsMemory | None = None,
    ) -> None:
        self._client = client
        self.policy = policy
        self._clock = clock
        self._mode = mode
        self._strict_auth = strict_auth
        self._obey_ai_input = obey_ai_input
        self._memory = memory
        self._sites: OrderedDict[str, SiteRules] = OrderedDict()
        self._flights: SingleFlight[SiteRules] = SingleFlight()

    async def admit(self, url: str, request: FetchRequest) -> Admission:
        """The page as it may be fetched.

        Args:
            url: any form of the URL, which the request asks for or has led to.
            request: its lists of domains narrow the operator's; what a user typed may spare its origin robots.txt.

        Errors:
            InvalidUrl, BlockedAddress, DomainDenied, RobotsDisallowed: what policy or the site's robots.txt says.
            DnsError, TlsError, NetworkError, Timeout, ...: the site could not be asked for one.
        """
        parsed = vet_parsed(url, policy=self.policy)
        self.policy.check_host_lists(parsed.host, include=request.include_domains, exclude=request.exclude_domains)
        asked = self._mode is RobotsMode.USER_TRIGGERED and request.user_triggered
        if self._mode is RobotsMode.OFF or (asked and parse_url(request.url).origin == parsed.origin):
            return Admission(parsed, self._mode.value)
        site = await self.site(parsed)
        if site.failure is not None:
            raise copy(site.failure)  # each caller has one of its own, with its own way up
        if site.decision is Decision.DISALLOW_ALL:
            raise RobotsDisallowed(
                f"{parsed.host} does not give its robots.txt, so nothing there is fetched now",
                reason="robots_unreachable",
                retryable=True,
            )
        if not site.rules.allows(parsed.sent, PRODUCT_TOKEN):
            raise RobotsDisallowed(f"robots.txt of {parsed.host} disallows this page", reason="robots_disallowed")
        signals = site.rules.signals(PRODUCT_TOKEN)
        if self._obey_ai_input and signals.get("ai-input") in {"no", "n"}:
            raise RobotsDisallowed(f"{parsed.host} asks that its pages not be read by machines", reason="ai_input_no")
        return Admission(
            parsed,
            "allowed" if site.has_rules else "no_rules",
            site.rules.delay_s(PRODUCT_TOKEN),
            tuple(f"{name}={said}" for name, said in signals.items()),
        )

    async def site(self, url: ParsedUrl) -> SiteRules:
        """The rules of the URL's origin (scheme, host and port), fresh or kept.

        Errors: BlockedAddress (the origin itself may not be connected to).
        """
        known = self._sites.get(url.origin)
        if known is not None and self._clock.monotonic_s() < known.until_s:
            return known
        rules, _ = await self._flights.run(url.origin, lambda: self._recall_or_fetch(url, known))
        return rules

    async def _recall_or_fetch(self, url: ParsedUrl, known: SiteRules | None) -> SiteRules:
        if known is None and self._memory is not None:
            # Past its time, too: it may have to stand in.
            known = await self._memory.recall(url.origin)
        if known is None or self._clock.monotonic_s() >= known.until_s:
            known = await self._fetch_rules(url, known)
            if self._memory is not None:
                await self._memory.keep(url.origin, known)
        self._sites[url.origin] = known
        self._sites.move_to_end(url.origin)
        if len(self._sites) > _SITES_MAX:
            self._sites.popitem(last=False)
        return known

    async def _fetch_rules(self, url: ParsedUrl, known: SiteRules | None) -> SiteRules:
        redirects = 0

        async def admit(target: str) -> ParsedUrl:
            nonlocal redirects
            redirects += 1
            return vet_parsed(target, policy=self.policy)

        try:
            with anyio.fail_after(_DEADLINE_S):
                seen = await visit(
                    self._client,
                    vet_parsed(parse_url("/robots.txt", url.href).href, policy=self.policy),
                    admit,
                    redirects_max=_REDIRECTS_MAX,
                    max_bytes=ROBOTS_BYTES_MAX,
                    cut=True,
                    downgrade=True,
                )
            return self._rules_from(seen, known)
        # RFC 9309 §2.3.1.2: after five hops the file may be taken as unavailable, so nothing is disallowed.
        except TooManyRedirects:
            return self._rules_for(Decision.ALLOW_ALL, Robots(), _KEEP_UNCLEAR_S)
        except (BlockedAddress, DomainDenied, InvalidUrl):
            # The origin itself is refused by policy, whatever its robots.txt says; a target of its redirect only makes
            # the file unreachable.
            if not redirects:
                raise
            return self._unreachable(known, _RETRY_S)
        except TimeoutError:
            late = Timeout(f"not done within {_DEADLINE_S:g} seconds", reason="deadline_total")
            return self._unreachable(known, _RETRY_FAILED_S, late)
        except BudgetExhausted:  # nothing was asked, so nothing is known
            raise
        except PinciteError as error:  # unreachable: RFC 9309 §2.3.1.4, nothing there is fetched
            return self._unreachable(known, _RETRY_FAILED_S, error)

    def _rules_from(self, seen: Visit, known: SiteRules | None) -> SiteRules:
        exchange = seen.exchange
        if 200 <= exchange.status < 300:
            rules = parse_robots(exchange.body)
            # An empty file, or one of comments: the same as none.
            if not rules.groups:
                return self._rules_for(Decision.ALLOW_ALL, rules, _KEEP_S)
            decision = Decision.APPLY_FIRST_500KIB if exchange.truncated else Decision.APPLY_RULES
            until_s = self._clock.monotonic_s() + _lifetime_s(exchange.header("cache-control"))
            return SiteRules(decision, rules, until_s, exchange.body, self._clock.now())
        # Google reads 429 as a server error as well: "later" is no permission.
        if exchange.status == 429 or exchange.status >= 500:
            wait = retry_after_s(exchange.header("retry-after"), self._clock.now())
            return self._unreachable(known, min(wait or _RETRY_S, RETRY_AFTER_MAX_S))
        if self._strict_auth and exchange.status in {401, 403}:
            return self._rules_for(Decision.DISALLOW_ALL, Robots(), _KEEP_UNCLEAR_S)
        keep = _KEEP_S if exchange.status in {404, 410} else _KEEP_UNCLEAR_S
        return self._rules_for(Decision.ALLOW_ALL, Robots(), keep)  # unavailable: RFC 9309 §2.3.1.3

    def _unreachable(self, known: SiteRules | None, retry_s: float, failure: PinciteError | None = None) -> SiteRules:
        if known is not None and known.has_rules:
            until_s = self._clock.monotonic_s() + retry_s
            return SiteRules(Decision.APPLY_STALE, known.rules, until_s, known.body, known.read_at)
        return replace(self._rules_for(Decision.DISALLOW_ALL, Robots(), retry_s), failure=failure)

    def _rules_for(self, decision: Decision, rules: Robots, seconds: float) -> SiteRules:
        return SiteRules(decision, rules, self._clock.monotonic_s() + seconds)


def _lifetime_s(cache_control: str) -> float:
    """How long an answer is kept: what the site says, at least a minute so that one run asks once, at most a day."""
    for piece in cache_control.lower().replace(" ", "").split(","):
        if piece in {"no-store", "no-cache"}:
            return _MIN_KEEP_S
        name, _, value = piece.partition("=")
        if name == "max-age" and value.isdecimal():
            return min(max(float(value), _MIN_KEEP_S), _KEEP_S)
    return _KEEP_S
