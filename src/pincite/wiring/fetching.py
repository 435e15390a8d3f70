"""Builds the fetch service: local archives, the guarded client, the browser, hosted scrapers, the page cache."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from decimal import Decimal
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from pincite.domain.budget import Usage
from pincite.domain.errors import BudgetExhausted, InvalidSetting, PinciteError, StorageUnavailable
from pincite.domain.fetch import FetchRequest, FetchResult, Hosted
from pincite.domain.frozen import dataclass
from pincite.domain.page import Kept
from pincite.runtime.recovery import another_may_help
from pincite.settings import Settings
from pincite.urls import AddressPolicy, UrlPolicy
from pincite.urls.policy import PORTS, Retention, is_internal_name
from pincite.wiring.registry import SCRAPERS, load

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from pincite.audit.pages import PageReading
    from pincite.audit.recheck import Stored
    from pincite.domain.page import Document
    from pincite.domain.report import ReportEvidence
    from pincite.domain.search import ListedPage
    from pincite.fetch.client import SiteSessions
    from pincite.fetch.service import FetchService
    from pincite.fetch.shared_pages import Intake
    from pincite.library.local import LocalLibrary
    from pincite.ports import Cache, Clock, DocumentStore, Extractor, Fetch, FetchBackend, WebArchive
    from pincite.runtime.concurrency import ResourcePool
    from pincite.runtime.ledger import BudgetAccount
    from pincite.sharing.peers import Peers
    from pincite.storage.pages import HomePages
    from pincite.storage.service import ScopedStorage
    from pincite.wiring.common_redis import CommonRedis


OFFLINE: Final = "offline"


@dataclass(frozen=True, slots=True)
class Stores:
    """Where pages and what is known of hosts are kept."""

    pages: ScopedStorage | HomePages
    cache: Cache
    redis: CommonRedis | None = None
    # Where limits may be shared through the database.
    common: ScopedStorage | None = None


async def build_fetch(
    settings: Settings,
    clock: Clock,
    kept: ResourcePool,
    *,
    libraries: Sequence[LocalLibrary],
    stores: Stores,
    extractor: Extractor,
    library_extractor: Extractor,
    peers: Peers | None,
) -> FetchService:
    """The service: pages of these libraries come from there, all others from the network unless `offline`.

    `peers` are asked before a site is.
    """
    from pincite.fetch.backends.archive import ArchiveBackend, GivenBackend
    from pincite.fetch.page_cache import PageCache
    from pincite.fetch.page_failures import DocumentGate
    from pincite.fetch.service import FetchService

    # In the order of what they cost and disclose: what was handed over, what is on this disk, a peer, the site itself.
    backends: list[FetchBackend] = [GivenBackend(stores.pages.snapshots)]
    backends += [ArchiveBackend(libraries, clock)] if libraries else []
    renderer: FetchBackend | None = None
    hosted: list[FetchBackend] = []
    if settings.profile != OFFLINE:
        net = await _Network.open(settings, clock, kept, stores)
        if peers is not None:
            from pincite.fetch.shared_pages import PeerBackend

            backends.append(PeerBackend(peers, net.intake()))
        backends.append(net.direct())
        renderer = net.renderer()
        hosted = [net.scraper(name) for name in settings.hosted_scrapers]
    service = FetchService(
        backends=backends,
        extractor=extractor,
        library_extractor=library_extractor,
        snapshots=stores.pages.snapshots,
        documents=stores.pages.documents,
        clock=clock,
        renderer=renderer,
        hosted=hosted,
        pages=PageCache(
            stores.cache,
            stores.pages.snapshots,
            stores.pages.documents,
            clock,
            # Tells cached readings of different extractor versions apart.
            profile=str(getattr(extractor, "revision", type(extractor).__name__)),
            retention=retention(settings),
        ),
        gate=DocumentGate(settings.page_languages, settings.page_min_words, settings.page_deny_phrases),
        policy=url_policy(settings),
    )
    return await kept.open(service)


async def build_intake(settings: Settings, clock: Clock, kept: ResourcePool, stores: Stores) -> Intake:
    """What checks pages that others share; `offline` no site is asked whether they may be read."""
    from pincite.fetch.shared_pages import Intake

    if settings.profile == OFFLINE:
        return Intake(url_policy(settings), clock)
    return (await _Network.open(settings, clock, kept, stores)).intake()


class _Network:
    """The parts that all backends on the network share: one policy, one resolver, one line at each host."""

    def __init__(self, settings: Settings, clock: Clock, stores: Stores) -> None:
        from pincite.fetch.client import GuardedClient
        from pincite.fetch.limits import FetchLimits
        from pincite.fetch.politeness import HostTurns
        from pincite.fetch.proxies import UpstreamProxy
        from pincite.fetch.resolver import SystemResolver, VettedResolver, parse_resolve
        from pincite.fetch.robots_gate import RobotsGate, RobotsMemory, RobotsMode
        from pincite.runtime.limiter import BreakerRules, Buckets, MemoryBreaker, MemoryBuckets, Rate, SharedLimiter

        policy = url_policy(settings)
        self._sessions = site_sessions(settings)
        self._settings, self._clock = settings, clock
        self._limits = FetchLimits(
            total_s=settings.fetch_deadline_s, requests_per_s_per_host=settings.requests_per_s_per_host
        )
        resolver = SystemResolver(timeout_s=self._limits.dns_s)
        self._resolver = VettedResolver(resolver, policy, clock, parse_resolve(settings.resolve))
        stated = settings.fetch_proxy
        self._proxy = UpstreamProxy.of(stated.get_secret_value()) if stated else None
        self.client = GuardedClient(
            policy,
            self._resolver,
            clock,
            limits=self._limits,
            user_agent=settings.agent,
            proxy=self._proxy,
            sessions=self._sessions,
        )
        self._gate = RobotsGate(
            self.client,
            policy,
            clock,
            mode=RobotsMode(settings.robots),
            strict_auth=settings.robots_strict_auth,
            obey_ai_input=settings.obey_ai_input,
            memory=RobotsMemory(stores.cache, clock),
        )
        rate = Rate(settings.requests_per_s_per_host, 1.0)
        common = stores.common
        buckets: Buckets = (common and common.buckets()) or MemoryBuckets(clock)
        rules = BreakerRules(settings.breaker_failures, settings.breaker_within_s, settings.breaker_open_s)
        breaker = (common and common.breaker(rules)) or MemoryBreaker(clock, rules)
        if stores.redis is not None:
            buckets, breaker = stores.redis.buckets(buckets), stores.redis.breaker(breaker, rules)
        self._turns = HostTurns(SharedLimiter(buckets, clock, default=(rate,)), breaker, self._limits)

    @classmethod
    async def open(cls, settings: Settings, clock: Clock, kept: ResourcePool, stores: Stores) -> _Network:
        made = cls(settings, clock, stores)
        await kept.open(made.client)
        return made

    def direct(self) -> FetchBackend:
        from pincite.fetch.backends.direct import DirectBackend

        return DirectBackend(self.client, self._gate, self._turns, self._clock, limits=self._limits)

    def intake(self) -> Intake:
        from pincite.fetch.shared_pages import Intake

        return Intake(url_policy(self._settings), self._clock, self._gate, self._resolver, self._limits)

    def renderer(self) -> FetchBackend | None:
        if find_spec("playwright") is None:
            return None
        from pincite.fetch.backends.chromium import ChromiumBackend, find_chromium

        if find_chromium() is None:
            return None
        return ChromiumBackend(
            self._gate,
            self._resolver,
            self._turns,
            self._clock,
            limits=self._limits,
            upstream=self._proxy,
            user_agent=self.client.user_agent,
        )

    def scraper(self, name: str) -> FetchBackend:
        from pincite.apis import ApiSettings
        from pincite.fetch.hosted import HostedSurroundings

        key = getattr(self._settings, f"{name}_api_key", None)
        own = getattr(self._settings, f"{name}_reader_base_url", None) or getattr(
            self._settings, f"{name}_base_url", None
        )
        adapter = load(SCRAPERS, name, "hosted scraper")
        made: FetchBackend = adapter(
            ApiSettings(
                own or adapter.base_url,
                api_key=key.get_secret_value() if key else None,
                deadline_s=self._settings.hosted_deadline_s,
                user_agent=self.client.user_agent,
            ),
            # A page behind somebody's login is nothing to hand to a third party.
            HostedSurroundings(
                self._gate, self._resolver, self._clock, public=UrlPolicy(deny_hosts=self._sessions.hosts)
            ),
        )
        return made


def scrape_usd(settings: Settings) -> Decimal | None:
    """What asking every configured scraper for one page may cost; None where there is none."""
    if not settings.hosted_scrapers or settings.profile == OFFLINE:
        return None
    adapters = [load(SCRAPERS, name, "hosted scraper") for name in settings.hosted_scrapers]
    return sum((adapter.page_usd for adapter in adapters), Decimal(0))


async def paid_for(request: FetchRequest, fetch: Fetch, account: BudgetAccount, price: Decimal | None) -> FetchResult:
    """The page, paid from the account at what a scraper costs; without money for one none is asked."""
    if price is None or request.hosted is Hosted.NEVER:
        return await fetch.fetch(request)
    held = Usage(cost_usd=price)
    try:
        await account.reserve(held)
    except BudgetExhausted:
        if request.hosted is Hosted.ONLY:
            raise
        return await fetch.fetch(replace(request, hosted=Hosted.NEVER))
    used = held  # an error after the scraper was asked may have been billed
    try:
        page = await fetch.fetch(request)
        used = Usage(cost_usd=page.info.cost_usd)
    except PinciteError as error:
        # What policy or the caller refuses, and what is gone, was found out before a scraper was asked.
        used = held if another_may_help(error) else Usage()
        raise
    finally:
        await account.settle(held, used)
    return page


class Charged:
    """Implements `ports.Fetch`: the pages of an audit, charged to somebody, their cost added up."""

    def __init__(self, fetch: Callable[..., Awaitable[FetchResult]], spending: BudgetAccount | None) -> None:
        self._fetch = fetch
        self._spending = spending
        self.cost_usd = Decimal(0)

    async def fetch(self, request: str | FetchRequest) -> FetchResult:
        """The page. Errors: those of `Engine.fetch`."""
        page = await self._fetch(request, spending=self._spending)
        self.cost_usd += page.info.cost_usd
        return page


def retention(settings: Settings) -> Retention:
    """What may stay of pages under these settings."""
    domains = {entry: Kept(kept) for entry, kept in settings.snapshot_body_domains.items()}
    return Retention(Kept(settings.snapshot_body), domains)


def site_sessions(settings: Settings) -> SiteSessions:
    """The operator's sessions.

    Errors: InvalidSetting (malformed, or on a server, where many people would read with one login).
    """
    from pincite.fetch.client import SiteSessions

    if settings.site_sessions and settings.is_server:
        raise InvalidSetting(
            "site_sessions are for one person: on a server everybody would read with the same login",
            reason="sessions_on_server",
            hint="Unset site_sessions for `pincite serve` and shared databases.",
            context={"setting": "site_sessions"},
        )
    return SiteSessions.parsed({site: text.get_secret_value() for site, text in settings.site_sessions.items()})


def url_policy(settings: Settings) -> UrlPolicy:
    """What may be fetched under these settings."""
    from pincite.fetch.resolver import own_public_addresses

    return UrlPolicy(
        # What listens on this machine's public addresses is as close to it as what listens on its private ones.
        addresses=AddressPolicy(allow_networks=settings.allow_networks, deny_networks=own_public_addresses()),
        ports=PORTS | frozenset(settings.allow_ports),
        allow_hosts=settings.include_domains,
        deny_hosts=settings.exclude_domains,
    )


async def web_archive(settings: Settings, clock: Clock, kept: ResourcePool) -> WebArchive | None:
    """The public archive that is asked about dead addresses; None where nobody may be asked."""
    # An archive is the network, too, and hears which addresses somebody reads.
    if settings.profile == OFFLINE or settings.archives == "none":
        return None
    from pincite.fetch.backends.archive import Wayback

    return await kept.open(aclosing(Wayback(clock, base_url=settings.wayback_base_url, user_agent=settings.agent)))


def page_reading(
    settings: Settings, fetch: Fetch, archive: WebArchive | None, listed: Sequence[ListedPage]
) -> PageReading:
    """How pages are read: hosts that the operator named count as any other, whatever they are called."""
    from pincite.audit.pages import PageReading

    named = {entry.partition(":")[0].lower().rstrip(".") for entry in settings.resolve}
    opened = bool(settings.allow_networks)
    return PageReading(
        fetch,
        archive=archive,
        is_own=lambda host: host in named or (opened and is_internal_name(host)),
        private=settings.wayback_base_url is not None,
        listed=listed,
    )


def stored_documents(documents: DocumentStore) -> Stored:
    """Finds what the pages of a report said; None where that is not kept whole, or damaged."""

    async def stored(item: ReportEvidence) -> Document | None:
        try:
            return await documents.get(item.document_id)
        except StorageUnavailable as error:
            if error.reason != "corrupt":
                raise
            return None

    return stored
