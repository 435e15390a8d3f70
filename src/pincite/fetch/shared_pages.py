"""Captures that leave for other installations, and those that come from there: what may go, and what is checked.

A peer is a backend like any other: asked for pages before the site is.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Final

from pincite.domain.errors import DomainDenied, NotFound, PinciteError, ShareRefused
from pincite.domain.fetch import FetchRequest, Hosted, Render
from pincite.domain.frozen import dataclass
from pincite.domain.ids import sha256_hex
from pincite.domain.page import PEER_VIA, Kept, Snapshot
from pincite.domain.version import PRODUCT_TOKEN
from pincite.fetch.captures import body_kind, capture
from pincite.fetch.client import NOTE
from pincite.fetch.limits import FetchLimits
from pincite.fetch.page_cache import may_be_kept
from pincite.fetch.resolver import VettedResolver
from pincite.fetch.robots import page_signals
from pincite.fetch.robots_gate import Gate
from pincite.ports import Clock
from pincite.sharing.items import BODY_BYTES_MAX, Item, Kind, item_of
from pincite.sharing.peers import Peer, Peers
from pincite.urls.keys import address_key, page_key
from pincite.urls.masking import mask_secrets
from pincite.urls.parse import host_matches, parse_url
from pincite.urls.policy import ALL, Retention, UrlPolicy, vet_url

EVERY_SITE: Final = "*"
# Captures of our own. Scrapers' terms are theirs, libraries the operator's, and what a peer gave is not handed on.
_MADE_HERE: Final = frozenset({"direct", "chromium"})
# What says something of the page. The rest (servers, traces, cookies) is nobody's business.
_HEADERS: Final = frozenset(
    "content-type content-language etag last-modified cache-control x-robots-tag tdm-reservation content-usage "
    "content-signal".split()
)
# These headers have tens of characters; a longer one is no such header. Chosen, not measured.
_HEADER_CHARS: Final = 2_000


@dataclass(frozen=True, slots=True)
class ShareRules:
    """Which captures may leave.

    `domains` are list entries; `*` is every public site, which counts for nothing where private networks are `opened`:
    a capture does not tell from which network it came.
    """

    domains: tuple[str, ...] = ()
    opened: bool = False
    retention: Retention = ALL


def why_not(snapshot: Snapshot, rules: ShareRules) -> str:
    """Why the capture may not leave this installation; empty when it may."""
    control = _directives(dict(snapshot.headers))
    reasons = (
        ("not_made_here", snapshot.via not in _MADE_HERE),
        ("with_a_session", NOTE in snapshot.note),
        ("no_store", not may_be_kept(snapshot) or "private" in control),
        ("varies", "accept-language" in dict(snapshot.headers).get("vary", "").lower()),
        ("not_kept_whole", snapshot.kept is not Kept.FULL or rules.retention.of(snapshot) is not Kept.FULL),
        ("too_large", len(snapshot.body) > BODY_BYTES_MAX),
        ("secret_in_url", any(mask_secrets(url) != url for url in (snapshot.url, snapshot.final_url))),
        ("site_not_named", not all(_is_named(url, rules) for url in (snapshot.url, snapshot.final_url))),
    )
    return next((reason for reason, holds in reasons if holds), "")


def item_key(url: str) -> str:
    """What a capture of `url` is asked for by. Errors: InvalidUrl, and those of the default address policy."""
    return sha256_hex(f"page\x1f{page_key(url)}".encode())


def shared_item(snapshot: Snapshot, key: str) -> Item:
    """The capture as it leaves; what `why_not` says was asked before."""
    return item_of(
        Kind.CAPTURE,
        key,
        snapshot.fetched_at,
        snapshot.body,
        url=snapshot.url,
        final_url=snapshot.final_url,
        content_type=snapshot.content_type,
        headers=_page_headers(snapshot.headers),
    )


@dataclass(frozen=True, slots=True)
class Intake:
    """Makes captures of shared items, which are checked as if the page came from its site.

    `gate` and `resolver` are None only where nothing may be asked at all (profile `offline`).
    """

    policy: UrlPolicy
    clock: Clock
    gate: Gate | None = None
    resolver: VettedResolver | None = None
    limits: FetchLimits = field(default_factory=FetchLimits)

    async def capture(self, item: Item, request: FetchRequest, peer: str) -> Snapshot:
        """The capture in an item that was `opened`, as an answer to this request. Its text is read later, here.

        Errors:
            ShareRefused: `other_url`, `bad_address`, `not_normal`, `too_large`, `no_store`, `other_item`.
            InvalidUrl, BlockedAddress, DomainDenied, RobotsDisallowed, and those of asking the site for robots.txt.
        """
        said = item.statement
        if said.kind is not Kind.CAPTURE:
            raise ShareRefused("a shared item is no capture", reason="other_item")
        headers = _page_headers(said.headers)
        control = _directives(dict(headers))
        if len(item.body) > self.limits.max_bytes(body_kind(said.content_type, item.body[:1024])):
            raise ShareRefused("a shared page is larger than its kind may be", reason="too_large")
        if {"no-store", "private"} & control:
            raise ShareRefused("a shared page asks not to be stored by others", reason="no_store")
        for url in (said.url, said.final_url):
            if self._normal(url) != url:
                raise ShareRefused(
                    "a shared page has an address that is not written as it is sent", reason="not_normal"
                )
        # The signer's word on which page it is holds only for a page that was asked for.
        if address_key(request.url) not in {address_key(said.url), address_key(said.final_url)}:
            raise ShareRefused("a shared page is of another address than was asked for", reason="other_url")
        robots, signals = "not_asked", list[str]()
        # robots.txt is asked for here: what another installation may read is no leave for this one.
        for url in dict.fromkeys((request.url, said.final_url)):
            robots, asked = await self._admit(url, request)
            signals += asked
        return capture(
            url=request.url,
            final_url=said.final_url,
            status=200,
            headers=headers,
            body=item.body,
            fetched_at=said.at,
            via=PEER_VIA + peer,
            content_type=said.content_type,
            robots=robots,
            signals=(*signals, *page_signals(headers, PRODUCT_TOKEN, now=self.clock.now())),
            redirects=() if said.final_url == request.url else (said.final_url,),
            note=f"shared by {peer}, which fetched it on {said.at:%Y-%m-%d %H:%M} UTC",
        )

    async def _admit(self, url: str, request: FetchRequest) -> tuple[str, tuple[str, ...]]:
        if self.gate is None or self.resolver is None:
            include, exclude = request.include_domains, request.exclude_domains
            self.policy.check_host_lists(parse_url(url).host, include=include, exclude=exclude)
            return "not_asked", ()
        admission = await self.gate.admit(url, replace(request, user_triggered=False))  # it typed no peer's page
        if not admission.url.is_literal:
            await self.resolver.addresses(admission.url.host, admission.url.port)
        return admission.robots, admission.signals

    def _normal(self, url: str) -> str:
        """As `vet_url`. The operator's own list of domains is no fault of the peer's; anything else it refuses is."""
        try:
            return vet_url(url, policy=self.policy)
        except DomainDenied:
            raise
        except PinciteError as error:
            raise ShareRefused(f"a shared page has a bad address: {error.reason}", reason="bad_address") from None


def _page_headers(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The headers that say something of the page, as long as such headers are."""
    return tuple(
        (name.lower(), value)
        for name, value in headers
        if name.lower() in _HEADERS and len(value) <= _HEADER_CHARS and value.isprintable()
    )


def _directives(headers: Mapping[str, str]) -> set[str]:
    return {part.partition("=")[0].strip().lower() for part in headers.get("cache-control", "").split(",")}


def _is_named(url: str, rules: ShareRules) -> bool:
    try:
        host = parse_url(url).host
        if host_matches(host, tuple(entry for entry in rules.domains if entry != EVERY_SITE)):
            return True
        if EVERY_SITE not in rules.domains or rules.opened:
            return False
        vet_url(url)
    except PinciteError:
        return False
    return True


class PeerBackend:
    """Implements `ports.FetchBackend` over the peers of the settings.

    What a peer gives is checked as if it came from the site: addresses, robots.txt, sizes. Whatever a peer does, the
    next source is asked: `NotFound` is the only error of its own.
    """

    name = "peer"

    def __init__(self, peers: Peers, intake: Intake) -> None:
        self._peers = peers
        self._intake = intake

    async def fetch(self, request: FetchRequest) -> Snapshot:
        """The capture of a peer.

        Errors:
            NotFound: no peer has the page, or the request is one that only the site itself can answer.
            BudgetExhausted: a question to a peer is a web request.
            InvalidUrl, BlockedAddress, DomainDenied, RobotsDisallowed: what the site would be refused for as well.
        """
        # A copy will do, unless somebody asked for a new one, for a browser's, a scraper's, or in a language.
        is_new = request.force_refresh or request.confirms or request.validators or not request.persist
        is_plain = request.allow_redirects and not request.prefer_language
        if is_new or not is_plain or request.render is Render.ALWAYS or request.hosted is Hosted.ONLY:
            raise NotFound("only the site can answer this", reason="not_shared")
        try:
            key = item_key(request.url)
        except PinciteError:  # of an opened network, where pages have no key
            raise NotFound("a page without a key is not shared", reason="not_shared") from None

        async def accept(peer: Peer, item: Item) -> Snapshot:
            return await self._intake.capture(item, request, peer.name)

        found = await self._peers.find(Kind.CAPTURE, key, accept)
        if found is None:
            raise NotFound("no peer has the page", reason="not_shared")
        return found
