"""The page cache: which stored capture answers a URL, and for how long. Bodies stay in the snapshot store."""

import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from pincite.domain.errors import PinciteError, leaves
from pincite.domain.fetch import FetchRequest
from pincite.domain.frozen import dataclass
from pincite.domain.ids import sha256_hex
from pincite.domain.page import Document, Kept, Snapshot
from pincite.domain.records import Entry
from pincite.ports import Cache, Clock, DocumentStore, SnapshotStore
from pincite.urls.keys import address_key
from pincite.urls.parse import parse_url
from pincite.urls.policy import ALL, Retention

# How long a page counts as fresh: by how often its kind changes. Chosen, not measured.
NEWS = timedelta(hours=1)
PAGE = timedelta(hours=24)
DOCUMENTATION = timedelta(days=7)
PDF = timedelta(days=30)
NEGATIVE = timedelta(minutes=10)
STALE_IF_ERROR = timedelta(days=30)

_DOCUMENTATION = re.compile(
    r"^(?:docs?|documentation|developers?|api|wiki|man|manual|reference|learn)\.|\.readthedocs\.(?:io|org)$"
)
_DOCUMENTATION_PATH = re.compile(r"/(?:docs?|documentation|manual|reference|man\d?|api|wiki|rfcs?|spec)(?:/|$)", re.I)
_NEWS_PATH = re.compile(r"/(?:news|live|breaking|latest|politics|markets|\d{4}/\d{1,2}/\d{1,2})(?:/|$|-)", re.I)
# What came out within so few days may still be corrected or added to. Chosen, not measured.
_RECENT = timedelta(days=3)


def time_to_live(snapshot: Snapshot, document: Document) -> timedelta:
    """How long this capture is served without asking the host again."""
    # By type, then date, then address: a PDF hardly changes wherever it is, and a manual that came out today may be
    # mended tomorrow.
    if "pdf" in snapshot.content_type.lower():
        return PDF
    url = parse_url(snapshot.final_url)
    published_at = document.published_at
    recent = published_at is not None and snapshot.fetched_at - published_at < _RECENT
    if recent or _NEWS_PATH.search(url.path):
        return NEWS
    if _DOCUMENTATION.search(url.host) or _DOCUMENTATION_PATH.search(url.path):
        return DOCUMENTATION
    return PAGE


def may_be_kept(snapshot: Snapshot) -> bool:
    """Whether the shared page cache may hold this capture at all."""
    control = dict(snapshot.headers).get("cache-control", "").lower()
    # Only `no-store` (RFC 9111 §5.2.2.5): `private` is between the site and this user, whose cache this is.
    return snapshot.status == 200 and "no-store" not in control


_PAGES, _FAILURES, _TURNS = "pages", "page_failures", "page_turns"
# How long one process may hold others back; a page that takes longer is fetched twice.
TURN_S = 20.0
_FORMAT = "1"
# The reason of a dead link when no site may be asked and no library has the page.
UNKNOWN_PAGE = "unknown_page"
# Failures that stay true for a while; the others may pass with the next call.
_KEPT_FAILURES = frozenset(
    {"DEAD_LINK", "PAGE_BLOCKED", "LOGIN_REQUIRED", "UNSUPPORTED_CONTENT_TYPE", "TOO_LARGE", "PARSE_ERROR"}
    | {"EMPTY_CONTENT", "TOO_MANY_REDIRECTS"}
)


@dataclass(frozen=True, slots=True)
class CachedPage:
    """A capture that answers a request, with its reading and how fresh it is."""

    snapshot: Snapshot
    document: Document
    is_fresh: bool
    is_usable_while_checking: bool
    validators: tuple[tuple[str, str], ...]


class PageCache:
    """Pages of one scope, by URL key, request settings and extraction profile.

    Args:
        cache: where entries live; its adapter keeps scopes apart.
        profile: extractor and version; another one misses.
        retention: pages that may not stay whole are not shared.
    """

    def __init__(
        self,
        cache: Cache,
        snapshots: SnapshotStore,
        documents: DocumentStore,
        clock: Clock,
        *,
        profile: str,
        retention: Retention = ALL,
    ) -> None:
        self._cache = cache
        self._snapshots = snapshots
        self._documents = documents
        self._clock = clock
        self._profile = profile
        self._retention = retention

    def key(self, request: FetchRequest) -> str:
        """The identity of what `request` would read: not of the window it wants to see."""
        parts = (
            _FORMAT,
            self._profile,
            address_key(request.url),  # its own where a redirector leads to an opened network
            request.mode,
            request.render.value,
            request.prefer_language or "",
            str(request.allow_redirects),
        )
        return sha256_hex("\x1f".join(parts).encode())

    async def find(self, key: str) -> CachedPage | None:
        """The stored page for `key`, fresh or stale, or None."""
        entry = await self._cache.get(_PAGES, key)
        if entry is None:
            return None
        stored = json.loads(entry.value)
        snapshot = await self._snapshots.get(stored["snapshot_id"])
        document = await self._documents.get(stored["document_id"])
        # The cache may outlive what it points to: retention takes captures, not entries.
        if snapshot is None or document is None or snapshot.kept is not Kept.FULL:
            return None
        now = self._clock.now()
        lived = entry.fresh_until - entry.stored_at
        return CachedPage(
            snapshot,
            document,
            is_fresh=now < entry.fresh_until,
            # `stale-while-revalidate` (RFC 5861), for as long again as the page was fresh. Chosen, not measured.
            is_usable_while_checking=now < entry.fresh_until + lived,
            validators=conditional(entry.validators),
        )

    async def keep(self, key: str, snapshot: Snapshot, document: Document) -> None:
        """Remember that this capture answers `key`."""
        if not may_be_kept(snapshot) or self._retention.of(snapshot) is not Kept.FULL:
            return
        value = json.dumps({"snapshot_id": snapshot.snapshot_id, "document_id": document.document_id}).encode()
        headers = dict(snapshot.headers)
        validators = {name: headers[name] for name in ("etag", "last-modified") if headers.get(name)}
        lives = time_to_live(snapshot, document)
        if snapshot.shared_by:  # what a peer gave has lived there already
            lives = max(lives - (self._clock.now() - snapshot.fetched_at), timedelta())
        await self._put(_PAGES, key, value, lives, validators)
        # A page that is there again must not be refused for the rest of the ten minutes.
        await self._cache.delete(_FAILURES, key)

    async def take_turn(self, key: str) -> bool:
        """Whether the caller may fetch `key` now: one process at a time, and not for ever if that one dies."""
        return await self._cache.lease(_TURNS, key, TURN_S)

    async def end_turn(self, key: str) -> None:
        """Let others fetch `key`."""
        now = self._clock.now()
        await self._cache.put(_TURNS, key, Entry(b"", now, now, now, {}))  # storing an entry ends its lease

    async def failure(self, key: str) -> PinciteError | None:
        """The failure that was met a moment ago, or None."""
        entry = await self._cache.get(_FAILURES, key)
        if entry is None or self._clock.now() >= entry.fresh_until:
            return None
        stored = json.loads(entry.value)
        leaf = next((leaf for leaf in leaves() if leaf.code == stored["code"]), None)
        if leaf is None:
            return None
        return leaf(stored["message"], reason=stored["reason"], hint=stored["hint"], context={"cached": True})

    async def keep_failure(self, key: str, error: PinciteError) -> None:
        """Remember a failure for ten minutes, when it is of a kind that stays and a site gave it, not a library."""
        if error.code in _KEPT_FAILURES and not error.retryable and error.reason != UNKNOWN_PAGE:
            await self._put(_FAILURES, key, json.dumps(error.as_dict()).encode(), NEGATIVE, {})

    async def _put(self, namespace: str, key: str, value: bytes, lives: timedelta, validators: dict[str, str]) -> None:
        now: datetime = self._clock.now()
        kept = STALE_IF_ERROR if namespace == _PAGES else timedelta()
        entry = Entry(value, now + lives, now + lives + kept, now, validators)
        await self._cache.put(namespace, key, entry)


def conditional(validators: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The headers that ask whether a capture with these validators is still the page.

    Source: RFC 9110 §13.1.2 and §13.1.3.
    """
    names = (("etag", "If-None-Match"), ("last-modified", "If-Modified-Since"))
    return tuple((header, validators[name]) for name, header in names if validators.get(name))
