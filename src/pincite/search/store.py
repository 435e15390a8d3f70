"""The use of the cache by search: keys, lifetimes by kind and by the engines' terms, private and shared scopes."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from pincite.domain.codec import from_json, to_json, utc_text
from pincite.domain.errors import ParseError
from pincite.domain.events import Json
from pincite.domain.frozen import dataclass
from pincite.domain.ids import sha256_hex
from pincite.domain.records import Entry
from pincite.domain.search import Query, SearchResponse
from pincite.ports import Cache, Clock
from pincite.search.catalogue import Terms
from pincite.search.intent import Intent
from pincite.search.request import exact_key, near_key, similarity
from pincite.urls import mask_typed

# What takes secrets out of a text.
Mask = Callable[[str], str]

# How soon pages of each kind change. News by the hour; manuals and papers change with versions and issues, a week late
# does no harm; everything else by the day. Chosen, not measured.
_HOUR_S, _DAY_S = 3_600.0, 86_400.0
TTL_S = {
    Intent.CURRENT_EVENT: _HOUR_S,
    Intent.DOCUMENTATION: 7 * _DAY_S,
    Intent.RESEARCH: 7 * _DAY_S,
    Intent.ERROR: _DAY_S,
    Intent.CODE: _DAY_S,
    Intent.LOCAL: _DAY_S,
    Intent.GENERAL: _DAY_S,
}
# Nothing found may be the engine's bad moment: asked again soon, but not by every caller of the next minutes.
EMPTY_TTL_S = 600.0
# How long an old answer may stand in while no engine answers.
STALE_S = 7 * _DAY_S
# For a tenth of its time past its end an answer is given at once and fetched anew behind it.
REVALIDATE_SHARE = 0.1
# Of the words of two queries: the order may differ or a word of five. Chosen, not measured.
NEAR_SIMILARITY = 0.8
_NO_VALIDATORS: dict[str, str] = {}


@dataclass(slots=True)
class CacheCounts:
    """How lookups ended; `hit` includes near ones, `miss` those that a peer answered (`shared`)."""

    hit: int = 0
    near: int = 0
    miss: int = 0
    stale: int = 0
    coalesced: int = 0
    shared: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """A cached answer: `level` is `hit` or `near`; `revalidate` says that it is only just past its time."""

    response: SearchResponse
    level: str
    fresh: bool
    revalidate: bool


@dataclass(frozen=True, slots=True)
class Scopes:
    """Whose answers these are. Answers go to `shared` only where the terms of the engine allow it."""

    private: str = "local"
    shared: str | None = None


class AnswerStore:
    """Search answers in a `ports.Cache`; those of a team in one of their own where `shared` is given."""

    def __init__(
        self,
        cache: Cache,
        clock: Clock,
        *,
        near_duplicates: bool = True,
        shared: Cache | None = None,
        mask: Mask = mask_typed,
    ) -> None:
        self._cache = cache
        self._shared = shared or cache
        self._clock = clock
        self._near_duplicates = near_duplicates
        self._mask = mask
        self.counts = CacheCounts()

    async def find(self, query: Query, sources: tuple[str, ...], scopes: Scopes) -> Found | None:
        """The best cached answer of these scopes: fresh before stale, exact before near."""
        stale: Found | None = None
        for cache, namespace in self.namespaces(scopes):
            # Exact before near, so that another wording never answers what was asked in these very words.
            for level, key in self._keys(query, sources):
                found = await self._read(cache, namespace, key, level, query)
                if found is not None and found.fresh:
                    return found
                stale = stale or found
        return stale

    async def keep(
        self,
        query: Query,
        sources: tuple[str, ...],
        scopes: Scopes,
        response: SearchResponse,
        intent: Intent,
        terms: Terms,
    ) -> None:
        """Store the answer as long as its kind and the terms allow; a query with a secret in it leaves nothing.

        The time of one that a peer shared began there.
        """
        # A cache is read by whoever has the file: a pasted key must not outlive the call it was pasted for.
        if self._mask(query.text) != query.text:
            return
        now = (response.info.fetched_at if response.info.shared_by else None) or self._clock.now()
        # The terms of an engine cap both times: what may not be kept may not stand in either.
        ttl_s = min(TTL_S[intent] if response.results else EMPTY_TTL_S, terms.cap_s())
        stale_s = min(ttl_s + (STALE_S if response.results else 0.0), terms.cap_s())
        if ttl_s <= 0:
            return
        # To the team where the terms allow it, otherwise to whoever asked.
        cache, namespace = self.namespaces(scopes)[-1 if terms.may_share() else 0]
        entry = Entry(
            value=json.dumps(
                {
                    "text": query.text,
                    "response": to_json(response),
                    "query": to_json(query),
                    "sources": list(sources),
                    "kind": intent.value,
                },
                ensure_ascii=False,
            ).encode(),
            fresh_until=now + timedelta(seconds=ttl_s),
            stale_until=now + timedelta(seconds=stale_s),
            stored_at=now,
            validators=_NO_VALIDATORS,
        )
        keys = self._keys(query, sources)
        await cache.put(namespace, keys[0][1], entry)
        # Under the second key stands where the answer is, not the answer: it is kept once and goes once.
        if len(keys) > 1 and response.results:
            pointer = json.dumps({"text": query.text, "see": keys[0][1]}, ensure_ascii=False).encode()
            await cache.put(namespace, keys[1][1], replace(entry, value=pointer))

    async def stored(self, key: str, scopes: Scopes) -> dict[str, Json]:
        """What is kept under an exact key, with `stored_at`; empty when nothing is, or it is past its time."""
        for cache, namespace in self.namespaces(scopes):
            entry = await cache.get(namespace, key)
            if entry is not None and self._clock.now() <= entry.fresh_until:
                return {**_parsed(entry.value), "stored_at": utc_text(entry.stored_at)}
        return {}

    async def lease(self, query: Query, sources: tuple[str, ...], scopes: Scopes, ttl_s: float) -> bool:
        """Whether this process may ask for it now."""
        return await self._cache.lease(self.namespaces(scopes)[0][1], exact_key(query, sources), ttl_s)

    def _keys(self, query: Query, sources: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        exact = ("hit", exact_key(query, sources))
        near = near_key(query, sources) if self._near_duplicates else None
        return (exact,) if near is None else (exact, ("near", near))

    def namespaces(self, scopes: Scopes) -> tuple[tuple[Cache, str], ...]:
        """The caches of these scopes, each with the name of the part: the private one first, the shared one last."""
        private = (self._cache, f"search/private/{scopes.private}")
        return (private, (self._shared, f"search/shared/{scopes.shared}")) if scopes.shared else (private,)

    async def _read(self, cache: Cache, namespace: str, key: str, level: str, query: Query) -> Found | None:
        entry = await cache.get(namespace, key)
        if entry is None:
            return None
        stored = _parsed(entry.value)
        if "see" in stored:
            # The key leaves words out; this looks at them again.
            if similarity(query.text, str(stored.get("text", ""))) < NEAR_SIMILARITY:
                return None
            entry = await cache.get(namespace, str(stored["see"]))
            if entry is None:
                return None
            stored = _parsed(entry.value)
        try:
            response = from_json(SearchResponse, stored.get("response"))
        except ParseError:
            return None
        now = self._clock.now()
        if now > entry.stale_until:
            return None
        # `stale-while-revalidate` of RFC 5861.
        grace = (entry.fresh_until - entry.stored_at) * REVALIDATE_SHARE
        return Found(
            replace(response, query=query.text), level, now <= entry.fresh_until, now - entry.fresh_until <= grace
        )


def _parsed(value: bytes) -> dict[str, Json]:
    try:
        stored = json.loads(value)
    except ValueError:
        return {}
    return stored if isinstance(stored, dict) else {}


class RawAnswers:
    """Keeps the engines' raw answers for audit, where their terms (or the operator's contract) allow it."""

    def __init__(self, cache: Cache, clock: Clock, scope: str, terms: dict[str, Terms], *, mask: Mask) -> None:
        self._cache = cache
        self._clock = clock
        self._namespace = f"search/raw/{scope}"
        self._terms = terms
        self._mask = mask

    async def keep(self, provider: str, query: Query, body: bytes) -> None:
        """Store the answer, or nothing when the terms are unknown or forbid it, or the query has a secret in it."""
        terms = self._terms.get(provider, Terms())
        if not terms.may_keep_raw() or self._mask(query.text) != query.text:
            return
        now = self._clock.now()
        until = now + timedelta(seconds=terms.cap_s())
        key = sha256_hex(f"{provider}\x1f{query.text}\x1f{now.isoformat()}".encode())
        await self._cache.put(self._namespace, key, Entry(body, until, until, now, _NO_VALIDATORS))
