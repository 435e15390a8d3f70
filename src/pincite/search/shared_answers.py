"""Search answers that leave for other installations, and those that come from there.

Only what the terms of every engine behind an answer allow to be shared ever leaves, and only what they allow here is
taken. An answer is a list of leads: nothing in a report rests on it but the pages that are read after it.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from pincite.domain.codec import from_json, to_json, utc_moment
from pincite.domain.errors import ParseError, PinciteError, ShareRefused
from pincite.domain.events import Json
from pincite.domain.frozen import dataclass
from pincite.domain.search import ProviderAttempt, Query, SearchInfo, SearchResponse, SearchResult
from pincite.ports import Clock
from pincite.search.catalogue import Terms, card_of
from pincite.search.intent import Intent
from pincite.search.request import exact_key
from pincite.search.results import Row, build_response
from pincite.search.store import TTL_S
from pincite.sharing.items import Item, Kind, item_of
from pincite.sharing.peers import Peer, Peers
from pincite.urls import UrlPolicy, mask_secrets

# Ten results of 300 characters of title, 400 of snippet and an address take 30 kB; fifty with an answer, 150.
_BODY_BYTES_MAX: Final = 1_000_000
# No engine here gives more in one answer (`search/catalogue`).
_RESULTS_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class SharedAnswer:
    """An answer with what was asked of whom, and of what kind that was."""

    query: Query
    sources: tuple[str, ...]
    kind: Intent
    response: SearchResponse


def terms_of(response: SearchResponse, contracts: Mapping[str, Terms]) -> Terms:
    """The strictest terms of the engines whose answers are in the response."""
    names = dict.fromkeys(attempt.provider for attempt in response.info.providers_tried if attempt.outcome == "ok")
    terms = [contracts.get(name, card_of(name).terms) for name in names]
    combined = terms[0] if terms else Terms()
    for other in terms[1:]:
        combined = combined.strictest(other)
    return combined


def item_of_stored(key: str, stored: Mapping[str, Json], contracts: Mapping[str, Terms], now: datetime) -> Item | None:
    """The item of an answer as it is in the cache; None where it may not leave, or is none."""
    try:
        response = from_json(SearchResponse, stored.get("response"))
        query = from_json(Query, stored.get("query"))
        sources = from_json(tuple[str, ...], stored.get("sources"))
        kind, at = Intent(str(stored.get("kind"))), utc_moment(str(stored.get("stored_at")))
    except (ParseError, ValueError):
        return None  # kept by an earlier version, which did not note what was asked
    terms = terms_of(response, contracts)
    # Not what came from others: an answer must not travel in circles and grow younger.
    if response.info.shared_by or not response.results or not terms.may_share():
        return None
    if now - at >= timedelta(seconds=min(TTL_S[kind], terms.cap_s())):
        return None
    # An address with a key in it stays at home.
    results = tuple(hit for hit in response.results if mask_secrets(hit.url) == hit.url)
    engines = tuple(
        ProviderAttempt(name, "ok")
        for name in dict.fromkeys(tried.provider for tried in response.info.providers_tried if tried.outcome == "ok")
    )
    told = replace(response, results=results, info=SearchInfo(engines, fetched_at=at))
    body = json.dumps(to_json(SharedAnswer(query, sources, kind, told)), ensure_ascii=False).encode()
    return item_of(Kind.ANSWER, key, at, body) if len(body) <= _BODY_BYTES_MAX else None


class AnswerIntake:
    """Takes answers that others share: of engines that are set up here, as far as their terms allow it here.

    Args:
        peers: who is asked; None takes in what is given only.
        engines: the names of the engines set up here.
        contracts: what the operator's contracts with them allow.
    """

    def __init__(
        self,
        peers: Peers | None,
        clock: Clock,
        *,
        policy: UrlPolicy,
        engines: frozenset[str],
        contracts: Mapping[str, Terms],
    ) -> None:
        self._peers = peers
        self._clock = clock
        self._policy = policy
        self._engines = engines
        self._contracts = contracts

    async def find(self, query: Query, sources: tuple[str, ...]) -> SharedAnswer | None:
        """The answer of a peer to exactly this, or None. Errors: BudgetExhausted."""
        if self._peers is None:
            return None
        key = exact_key(query, sources)

        async def accept(peer: Peer, item: Item) -> SharedAnswer | None:
            found = self.checked(item, peer.name)
            return None if found is None else replace(found, response=replace(found.response, query=query.text))

        return await self._peers.find(Kind.ANSWER, key, accept)

    def terms(self, response: SearchResponse) -> Terms:
        """What may be done with the answer here."""
        return terms_of(response, self._contracts)

    def checked(self, item: Item, peer: str) -> SharedAnswer | None:
        """The answer in an item that was `opened`, made anew here; None where terms or settings want none of it.

        Errors: ShareRefused: `malformed`, `too_large`, `other_item` (its key is not that of what was asked).
        """
        if item.statement.kind is not Kind.ANSWER or len(item.body) > _BODY_BYTES_MAX:
            raise ShareRefused("a shared item is no search answer", reason="other_item")
        try:
            found = from_json(SharedAnswer, json.loads(item.body))
        except (ParseError, ValueError, RecursionError):
            raise ShareRefused("a shared answer can't be read", reason="malformed") from None
        if exact_key(found.query, found.sources) != item.statement.key:
            raise ShareRefused("a shared answer belongs to another query", reason="other_item")
        tried = found.response.info.providers_tried
        names = frozenset(attempt.provider for attempt in tried)
        if len(found.response.results) > _RESULTS_MAX or {hit.provider for hit in found.response.results} - names:
            raise ShareRefused("a shared answer has results without their engine", reason="malformed")
        at, now = item.statement.at, self._clock.now()
        # Only of engines set up here: their terms are agreed to here, not over there.
        terms = self.terms(found.response)
        is_late = now - at >= timedelta(seconds=min(TTL_S[found.kind], terms.cap_s()))
        if not names or not names <= self._engines or not terms.may_share() or is_late:
            return None
        results: list[SearchResult] = []
        for hit in found.response.results[: found.query.max_results]:
            results += self._rebuild(found.query, hit, now)
        info = SearchInfo(
            tuple(ProviderAttempt(name, "ok", detail=f"shared by {peer}", sent=False) for name in sorted(names)),
            cache="shared",
            fetched_at=at,
            reason=f"shared by {peer}",
            shared_by=peer,
        )
        ranked = tuple(replace(hit, rank=rank) for rank, hit in enumerate(results, start=1))
        return replace(found, response=SearchResponse(found.query.text, ranked, info=info))

    def _rebuild(self, query: Query, hit: SearchResult, now: datetime) -> tuple[SearchResult, ...]:
        """The result as an engine's own would be: clean, vetted, undated where its date is not yet; or none."""
        known = hit.published_at if hit.published_at and hit.published_at <= now else None
        row = Row(hit.title, hit.url, hit.snippet, hit.score, known and known.isoformat())
        try:
            return build_response(hit.provider, query, [row], now, policy=self._policy).results
        except PinciteError:
            return ()
