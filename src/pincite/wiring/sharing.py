"""Builds what shares with other installations: the key, the peers, what may leave, and what is taken in."""

import base64
import binascii
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from importlib import import_module
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from pincite.domain.errors import PinciteError, ShareRefused, StorageUnavailable
from pincite.domain.fetch import FetchRequest
from pincite.domain.frozen import dataclass
from pincite.ports import Cache, Clock
from pincite.runtime.concurrency import ResourcePool
from pincite.runtime.fallback import CountedCache
from pincite.settings import Settings
from pincite.sharing.items import Item, Kind, Signer, vet_key
from pincite.sharing.peers import Get, Peer, Peers, peer_of
from pincite.urls import AddressPolicy, UrlPolicy
from pincite.wiring.fetching import OFFLINE, Stores, build_intake, retention, url_policy
from pincite.wiring.searching import search_contracts
from pincite.wiring.server import home_secret

if TYPE_CHECKING:
    from pincite.fetch.service import FetchService
    from pincite.search.shared_answers import AnswerIntake
    from pincite.storage.database import Database
    from pincite.storage.pages import StoredCapture, TableSnapshots

KEY_NAME: Final = "share.key"
_KEY: Final = re.compile(r"[0-9a-f]{64}")
# Captures that a peer can be asked for, the newest; an entry takes some 400 bytes of memory.
INDEX_MAX: Final = 50_000
# How often it is looked which captures are new.
LOOK_EVERY_S: Final = 5.0
# Captures of other processes may become visible a little later than the time they carry.
_OVERLAP: Final = timedelta(seconds=60)
# Networks in which a peer may be that the operator named; metadata services stay closed in every one.
_PRIVATE: Final = (
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "fc00::/7",
    "::1/128",
)


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written into a bundle, and how many captures stayed for which reason."""

    captures: int
    answers: int
    size_bytes: int
    key: str
    kept_back: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Imported:
    """What was taken in from a bundle, and how many items were refused for which reason."""

    captures: int
    answers: int
    shared_by: str
    refused: Mapping[str, int] = field(default_factory=dict)


async def open_peers(settings: Settings, clock: Clock, kept: ResourcePool) -> Peers | None:
    """The peers of the settings, each with a client that reaches nothing else; None where nobody is asked.

    Errors: InvalidSetting.
    """
    named = named_peers(settings)
    if not named or settings.profile == OFFLINE:
        return None
    # Loaded here: on a busy machine that takes longer than a peer has for its answer.
    await anyio.to_thread.run_sync(import_module, "pincite.fetch.connections")
    asked: list[tuple[Peer, Get]] = [(peer, await _client(peer, settings, clock, kept)) for peer in named]
    return Peers(asked, clock, timeout_s=settings.share_timeout_s)


def named_peers(settings: Settings) -> tuple[Peer, ...]:
    """The peers of the settings. Errors: InvalidSetting."""
    tokens = {name: secret.get_secret_value() for name, secret in settings.share_peer_tokens.items()}
    return tuple(peer_of(name, text, tokens.get(name, "")) for name, text in settings.share_peers.items())


async def _client(peer: Peer, settings: Settings, clock: Clock, kept: ResourcePool) -> Get:
    """What sends to this peer alone: its port, its address where that is written out, else whatever its name means."""
    from pincite.fetch.client import GuardedClient
    from pincite.fetch.resolver import SystemResolver, VettedResolver, parse_resolve

    # An address that is written out opens itself alone; a name may mean any private one, since the operator chose it.
    networks = (str(ip_address(peer.url.host.strip("[]"))),) if peer.url.is_literal else _PRIVATE
    policy = UrlPolicy(
        addresses=AddressPolicy(allow_networks=networks),
        ports=frozenset({peer.url.port}),
        allow_hosts=(f"={peer.url.host}",),
    )
    resolver = VettedResolver(SystemResolver(), policy, clock, parse_resolve(settings.resolve))
    client: GuardedClient = await kept.open(GuardedClient(policy, resolver, clock, user_agent=settings.agent))
    return client.get


def answer_intake(settings: Settings, clock: Clock, peers: Peers | None, engines: Sequence[str]) -> "AnswerIntake":
    """What takes in answers of these engines. Errors: InvalidSetting."""
    from pincite.search.shared_answers import AnswerIntake

    return AnswerIntake(
        peers,
        clock,
        policy=url_policy(settings),
        engines=frozenset(engines),
        contracts=search_contracts(settings),
    )


def vet_scope(settings: Settings) -> None:
    """Return when what this scope has may leave. Errors: ShareRefused (`scope_private`)."""
    if settings.scope not in settings.share_scopes:
        raise ShareRefused(
            f"the pages and answers of scope {settings.scope!r} are private",
            reason="scope_private",
            hint=f'The operator can open it: share_scopes = ["{settings.scope}"] (docs/sharing.md).',
        )


async def signer_of(settings: Settings, clock: Clock, database: "Database") -> Signer:
    """What signs for this installation; its key is made at first use. Errors: StorageUnavailable, ExtraNotInstalled."""
    text = await home_secret(KEY_NAME, settings, clock, database)
    try:
        return Signer(base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4)))
    except (ValueError, binascii.Error):
        raise StorageUnavailable(f"{KEY_NAME} is no key", reason="share_key") from None


class Sharing:
    """What one scope hands out, and what it takes in from bundles."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        snapshots: "TableSnapshots",
        stores: Stores,
        cache: CountedCache,
        signer: Signer,
        team: Cache | None,
    ) -> None:
        from pincite.fetch.shared_pages import ShareRules
        from pincite.search.store import AnswerStore, Scopes

        self._settings, self._clock, self._stores = settings, clock, stores
        self._snapshots = snapshots
        self._signer = signer
        opened = bool(settings.allow_networks or settings.resolve)
        self._rules = ShareRules(settings.share_domains, opened, retention(settings))
        self._contracts = search_contracts(settings)
        self._answers = AnswerStore(cache, clock, shared=team)
        self._scopes = Scopes(settings.scope, settings.team_scope)
        self._pages: dict[str, tuple[datetime, str]] = {}
        self._seen: datetime | None = None
        self._looked_s = -LOOK_EVERY_S
        self._looking = anyio.Lock()

    @property
    def key(self) -> str:
        """What others know this installation by."""
        return self._signer.public

    # ---- what leaves ----

    async def item(self, kind: str, key: str) -> bytes | None:
        """The signed item of that kind under that key, or None: there is none, or it may not leave.

        Errors: ShareRefused (the scope is private), StorageUnavailable.
        """
        vet_scope(self._settings)
        # A hash or nothing: what is asked for never becomes part of a path or of a query.
        if not _KEY.fullmatch(key):
            return None
        item = None
        if kind == Kind.CAPTURE:
            item = await self._capture(key)
        elif kind == Kind.ANSWER:
            item = await self._answer(key)
        return None if item is None else await anyio.to_thread.run_sync(self._signer.sealed, item)

    async def export(self, path: Path) -> Exported:
        """Write what may leave into a new bundle: the newest capture of each page, and search answers.

        Errors: ShareRefused (the scope is private), InvalidInput (the place can't be written), StorageUnavailable.
        """
        from pincite.sharing.items import BundleWriter

        vet_scope(self._settings)
        await self._look()
        writer = await anyio.to_thread.run_sync(BundleWriter, path, self._signer)
        try:
            found, kept_back = Counter[str](), Counter[str]()
            newest = {snapshot_id: key for key, (_, snapshot_id) in sorted(self._pages.items())}
            for snapshot_id, key in newest.items():
                item = await self._capture_of(snapshot_id, key, kept_back)
                if item is not None and await anyio.to_thread.run_sync(writer.add, item):
                    found[Kind.CAPTURE] += 1
            for key in await self._answer_keys():
                answer = await self._answer(key)
                if answer is not None and await anyio.to_thread.run_sync(writer.add, answer):
                    found[Kind.ANSWER] += 1
            size = await anyio.to_thread.run_sync(writer.finish, self._clock.now())
        finally:
            await anyio.to_thread.run_sync(writer.give_up)
        return Exported(found[Kind.CAPTURE], found[Kind.ANSWER], size, self.key, dict(kept_back))

    async def _capture(self, key: str) -> Item | None:
        if key not in self._pages:
            await self._look()
        known = self._pages.get(key)
        return None if known is None else await self._capture_of(known[1], key, Counter())

    async def _capture_of(self, snapshot_id: str, key: str, kept_back: Counter[str]) -> Item | None:
        from pincite.fetch.shared_pages import shared_item, why_not

        snapshot = await self._snapshots.get(snapshot_id)
        if snapshot is None:
            return None
        if reason := why_not(snapshot, self._rules):
            kept_back[reason] += 1
            return None
        return shared_item(snapshot, key)

    async def _look(self) -> None:
        """Learn which captures are new."""
        async with self._looking:
            now_s = self._clock.monotonic_s()
            if now_s - self._looked_s < LOOK_EVERY_S:
                return
            # By the time they were stored, not fetched: an imported capture is old and new here.
            since = None if self._seen is None else self._seen - _OVERLAP
            listed = await self._snapshots.listed(since, INDEX_MAX)
            keyed = await anyio.to_thread.run_sync(_keyed, listed)
            for key, one in keyed:
                known = self._pages.pop(key, None)  # what is new goes to the end: the oldest leave first
                self._pages[key] = max((one.fetched_at, one.snapshot_id), known or (one.fetched_at, one.snapshot_id))
            while len(self._pages) > 2 * INDEX_MAX:
                del self._pages[next(iter(self._pages))]
            self._seen = listed[-1].stored_at if listed else self._seen
            self._looked_s = now_s

    async def _answer(self, key: str) -> Item | None:
        from pincite.search.shared_answers import item_of_stored

        stored = await self._answers.stored(key, self._scopes)
        return item_of_stored(key, stored, self._contracts, self._clock.now()) if stored else None

    async def _answer_keys(self) -> list[str]:
        from pincite.sharing.items import ITEMS_MAX

        keys: dict[str, None] = {}
        for cache, namespace in self._answers.namespaces(self._scopes):
            listed: CountedCache = cache  # type: ignore[assignment]  # both are opened as such
            keys |= dict.fromkeys(await listed.keys(namespace, 2 * ITEMS_MAX))
        return [key for key in keys if _KEY.fullmatch(key)]

    # ---- what comes ----

    async def take_in(
        self, path: Path, fetch: "FetchService", answers: "AnswerIntake", kept: ResourcePool, *, key: str | None
    ) -> Imported:
        """Take in a bundle that is signed with `key`, or with that of a peer; each item is checked by itself.

        Errors: InvalidInput (no such file), InvalidSetting, ShareRefused (nothing of the file is taken).
        """
        from pincite.sharing.items import read_bundle

        names = {peer.key: peer.name for peer in named_peers(self._settings)}
        trusted = [vet_key(key)] if key else list(names)
        intake = await build_intake(self._settings, self._clock, kept, self._stores)
        taken, refused, by = Counter[str](), Counter[str](), ""
        found: Iterator[tuple[str, Item | ShareRefused | None]] = read_bundle(path, trusted, self._clock.now)
        while (step := await anyio.to_thread.run_sync(next, found, None)) is not None:
            signed_by, item = step
            by = names.get(signed_by, signed_by.removeprefix("ed25519:")[:8])
            try:
                if item is None:
                    continue
                if isinstance(item, ShareRefused):
                    raise item
                if item.statement.kind is Kind.CAPTURE:
                    request = FetchRequest(item.statement.url)
                    snapshot = await intake.capture(item, request, by)
                    await fetch.take_in(request, snapshot, cached=True)
                elif (answer := answers.checked(item, by)) is None:
                    raise ShareRefused("the terms here do not allow this answer", reason="terms")
                else:
                    terms, response = answers.terms(answer.response), answer.response
                    await self._answers.keep(answer.query, answer.sources, self._scopes, response, answer.kind, terms)
            except PinciteError as error:
                refused[error.reason] += 1
            else:
                taken[item.statement.kind] += 1
        return Imported(taken[Kind.CAPTURE], taken[Kind.ANSWER], by, dict(refused))


def _keyed(listed: "Sequence[StoredCapture]") -> "list[tuple[str, StoredCapture]]":
    from pincite.fetch.shared_pages import item_key

    found = []
    for one in listed:
        for url in {one.url, one.final_url}:
            try:
                found.append((item_key(url), one))
            except PinciteError:  # no address of the web: a library's page
                continue
    return found
