"""Peers: other installations that are asked before a site or an engine is. None of them can hold anything up for long.

What is asked for is named by a hash, so that a peer learns nothing it did not know: who has the page or the answer can
tell which it is, whoever has not can't. A peer that is down costs one short wait, one that lies the same; both are left
alone for a while then. A redirect is never followed.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from typing import Final, Protocol, TypeVar

import anyio
import anyio.to_thread

from pincite.domain.errors import BudgetExhausted, InvalidSetting, PinciteError, ShareRefused
from pincite.domain.frozen import dataclass
from pincite.ports import Clock
from pincite.sharing.items import ITEM_BYTES_MAX, Item, Kind, opened, vet_key
from pincite.urls.parse import ParsedUrl, parse_url

T = TypeVar("T")

# How long a peer that did not answer is left alone: a run of some minutes then loses seconds to it, not pages.
DOWN_S: Final = 60.0
# The same for one whose item did not hold: that is a fault somebody has to look at, not one that passes.
LIED_S: Final = 3_600.0
# Questions to one peer at a time.
AT_ONCE: Final = 8
_PATH: Final = "/v1/shared/"
log = logging.getLogger(__name__)


class Answered(Protocol):
    """What came back."""

    @property
    def status(self) -> int:
        """Of HTTP."""

    @property
    def body(self) -> bytes:
        """Decoded."""


class Get(Protocol):
    """Sends one GET to a peer, to vetted addresses, bounded in size; redirects are not followed."""

    async def __call__(self, url: ParsedUrl, *, headers: Mapping[str, str], max_bytes: int) -> Answered:
        """The answer. Errors: those of the network, BudgetExhausted."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Another installation that the operator named: where, known by which key, and what opens it."""

    name: str
    url: ParsedUrl
    key: str
    token: str = field(default="", repr=False)


def peer_of(name: str, text: str, token: str = "") -> Peer:
    """The peer that an entry of `share_peers` names: `http://HOST:PORT ed25519:KEY`. Errors: InvalidSetting."""
    address, _, key = " ".join(text.split()).partition(" ")
    try:
        url = parse_url(address)
    except PinciteError:
        url = None
    if url is None or url.scheme not in {"http", "https"} or url.has_userinfo or url.target not in {"", "/"}:
        raise InvalidSetting(
            f"share_peers: {name}: {address[:80]!r} is no address of a peer",
            hint='Write {office = "https://pincite.example.com ed25519:..."}.',
            context={"setting": "share_peers"},
        )
    # The name stands in logs, in events and in the keys of limits.
    if not name.isascii() or not name.replace("-", "").replace("_", "").isalnum() or len(name) > 40:
        raise InvalidSetting(
            f"share_peers: {name[:40]!r} is no name: letters, digits, - and _", context={"setting": "share_peers"}
        )
    return Peer(name, url, vet_key(key), token)


class Peers:
    """The peers of one process.

    Args:
        peers: in the order in which they are asked, each with what sends requests to it.
        clock: the time.
    """

    def __init__(self, peers: Sequence[tuple[Peer, Get]], clock: Clock, *, timeout_s: float) -> None:
        self._peers = tuple(peers)
        self._clock = clock
        self._timeout_s = timeout_s
        self._resting: dict[str, float] = {}
        self._turns = {peer.name: anyio.CapacityLimiter(AT_ONCE) for peer, _ in self._peers}

    async def find(self, kind: Kind, key: str, accept: Callable[[Peer, Item], Awaitable[T]]) -> T | None:
        """What `accept` makes of the first peer's item that holds, or None when no peer has one.

        `accept` raises ShareRefused for an item that is not what was asked for; its other errors are the caller's.

        Errors: BudgetExhausted (a question is a web request), ExtraNotInstalled, and those of `accept`.
        """
        for peer, get in self._peers:
            async with self._turns[peer.name]:
                if self._clock.monotonic_s() < self._resting.get(peer.name, 0.0):
                    continue
                item = await self._ask(peer, get, kind, key)
            if item is None:
                continue
            try:
                return await accept(peer, item)
            except ShareRefused as refused:
                self._lied(peer, refused)
        return None

    async def _ask(self, peer: Peer, get: Get, kind: Kind, key: str) -> Item | None:
        headers = {"Authorization": f"Bearer {peer.token}"} if peer.token else {}
        try:
            with anyio.fail_after(self._timeout_s):
                url = parse_url(f"{peer.url.origin}{_PATH}{kind}/{key}")
                answer = await get(url, headers=headers, max_bytes=ITEM_BYTES_MAX)
        except BudgetExhausted:
            raise
        except (PinciteError, TimeoutError) as error:
            why = error.code if isinstance(error, PinciteError) else f"no answer within {self._timeout_s:g} s"
            self._rest(peer, DOWN_S, why)
            return None
        if answer.status == 404:
            return None
        if answer.status != 200:
            self._rest(peer, DOWN_S, f"it answered {answer.status}")
            return None
        return await self._checked(peer, kind, key, answer.body)

    async def _checked(self, peer: Peer, kind: Kind, key: str, data: bytes) -> Item | None:
        now = self._clock.now()
        try:
            item = await anyio.to_thread.run_sync(opened, data, peer.key, now)
            if (item.statement.kind, item.statement.key) != (kind, key):
                raise ShareRefused("a peer answered with another item than it was asked for", reason="other_item")
        except ShareRefused as refused:
            self._lied(peer, refused)
            return None
        return item

    def _lied(self, peer: Peer, refused: ShareRefused) -> None:
        self._rest(peer, LIED_S, f"{refused.reason}: {refused.message}")

    def _rest(self, peer: Peer, seconds: float, why: str) -> None:
        self._resting[peer.name] = self._clock.monotonic_s() + seconds
        log.warning("the peer %s is left alone for %g s: %s", peer.name, seconds, why)
