"""Answers of peers: taken where terms allow it and the question is the same, made anew; else the engine is asked."""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from tests.fakes.storage import MemoryCache
from tests.unit.search.scripted import NOW, Scripted

from pincite.domain.codec import to_json
from pincite.domain.errors import ShareRefused
from pincite.domain.search import ProviderAttempt, Query, SearchInfo, SearchResponse, SearchResult
from pincite.search.catalogue import Terms
from pincite.search.intent import Intent
from pincite.search.request import exact_key
from pincite.search.service import SearchOptions, SearchService
from pincite.search.shared_answers import AnswerIntake, SharedAnswer, item_of_stored
from pincite.search.store import AnswerStore, Scopes
from pincite.sharing.items import Item, Kind, Signer, item_of, opened
from pincite.sharing.peers import Peer, Peers
from pincite.testing.clock import FrozenClock
from pincite.urls import UrlPolicy
from pincite.urls.parse import parse_url

QUERY = Query("connection pool size")
AUTO = ("auto",)
KEY = exact_key(QUERY, AUTO)
MAY = {"wiki": Terms(shareable=True), "other": Terms(shareable=True)}
SIGNER = Signer(bytes(range(32)))


def hit(n: int, **changes: Any) -> SearchResult:
    made = SearchResult(
        f"Connection pool {n}", f"https://site.example/{n}", "About the connection pool size.", "wiki", n
    )
    return replace(made, **changes)


def answer(
    *hits: SearchResult, query: Query = QUERY, engines: tuple[str, ...] = ("wiki",), key: str = "", **at: Any
) -> Item:
    attempts = tuple(ProviderAttempt(name, "ok") for name in engines)
    response = SearchResponse(query.text, hits or (hit(1), hit(2)), info=SearchInfo(attempts))
    body = json.dumps(to_json(SharedAnswer(query, AUTO, Intent.GENERAL, response))).encode()
    return item_of(Kind.ANSWER, key or KEY, at.get("at", NOW - timedelta(hours=1)), body)


class Office:
    """A peer with one item; counts what it is asked for."""

    def __init__(self, item: Item | None) -> None:
        self.item, self.asked = item, list[str]()
        self.status, self.body = 200 if item else 404, SIGNER.sealed(item) if item else b""

    async def get(self, url: Any, *, headers: Any, max_bytes: int) -> "Office":
        self.asked.append(url.href)
        return self


def door(
    office: Office, *, mine: Scripted | None = None, contracts: Any = MAY, **options: Any
) -> tuple[SearchService, Scripted]:
    clock, engine = FrozenClock(NOW), mine or Scripted("wiki")
    peer = Peer("office", parse_url("http://peer.example"), SIGNER.public)
    peers = Peers([(peer, office.get)], clock, timeout_s=2.0)
    names = frozenset({engine.name, *options.pop("engines", ())})
    intake = AnswerIntake(peers, clock, policy=UrlPolicy(), engines=names, contracts=contracts)
    settings = SearchOptions(hedge_after_s=None, terms=dict(contracts))
    service = SearchService([engine], clock=clock, cache=MemoryCache(clock), answers=intake, options=settings)
    return service, engine


async def test_an_answer_of_a_peer_spares_the_engine() -> None:
    office = Office(answer())
    service, engine = door(office)
    found = await service.search(QUERY)
    assert [result.url for result in found.results] == ["https://site.example/1", "https://site.example/2"]
    assert (found.info.cache, found.info.shared_by, found.info.cost_usd) == ("shared", "office", Decimal(0))
    assert found.info.fetched_at == NOW - timedelta(hours=1)
    assert engine.queries == []
    assert office.asked == [f"http://peer.example/v1/shared/answer/{KEY}"], "by a hash: the words stay here"
    again = await service.search(replace(QUERY, text="Connection pool size?"))
    assert (again.info.cache, len(office.asked)) == ("hit", 1)
    assert service.counts.shared == 1


@pytest.mark.parametrize(
    "item",
    [
        None,
        answer(at=NOW - timedelta(days=2)),
        answer(engines=("stranger",)),
        answer(hit(1, provider="nobody")),
        answer(query=Query("something else entirely")),
        answer(key=exact_key(Query("other"), AUTO)),
        answer(at=NOW + timedelta(days=1)),
        item_of(Kind.ANSWER, KEY, NOW, b"no json"),
        item_of(Kind.ANSWER, KEY, NOW, b"{" * 1_000_001),
        item_of(Kind.CAPTURE, KEY, NOW, b"{}"),
    ],
    ids=("none", "old", "stranger", "nobody", "else", "key", "tomorrow", "noise", "large", "kind"),
)
async def test_what_does_not_hold_or_fit_is_not_used(item: Item | None) -> None:
    service, engine = door(Office(item))
    found = await service.search(QUERY)
    assert (found.info.shared_by, found.info.cache) == ("", "miss")
    assert len(engine.queries) == 1
    assert (await service.search(QUERY)).results == found.results


async def test_terms_that_forbid_it_here_rule_out_what_is_allowed_there() -> None:
    for contracts in ({}, {"wiki": Terms(shareable=False)}, {"wiki": Terms(shareable=True, longest_cache_s=1_800)}):
        service, engine = door(Office(answer()), contracts=contracts)
        assert (await service.search(QUERY)).info.shared_by == ""
        assert len(engine.queries) == 1


async def test_results_are_made_anew() -> None:
    late = datetime(2030, 1, 1, tzinfo=NOW.tzinfo)
    service, _ = door(
        Office(
            answer(
                hit(1, url="http://127.0.0.1/admin"),
                hit(2, url="HTTPS://Site.example:443/2#part", title="<b>Connection</b>\u202e pool", published_at=late),
                hit(3, url="javascript:alert(1)"),
                hit(4, published_at=NOW - timedelta(days=3)),
            )
        )
    )
    found = await service.search(QUERY)
    assert [(result.rank, result.url) for result in found.results] == [
        (1, "https://site.example/2"),
        (2, "https://site.example/4"),
    ]
    assert found.results[0].title == "Connection pool"
    assert [result.published_at for result in found.results] == [None, NOW - timedelta(days=3)]


async def test_a_poor_answer_does_not_keep_other_engines_from_being_asked() -> None:
    other = Scripted("other", ("connection pool size guide",))
    office = Office(answer(hit(1, title="Cats", snippet="All about cats and dogs.")))
    service, _ = door(office, mine=other, engines=("wiki",))
    found = await service.search(QUERY)
    assert found.info.shared_by == ""
    assert len(other.queries) == 1


# ---- what leaves ----


async def stored(terms: Terms, **changes: Any) -> Item | None:
    clock = FrozenClock(NOW)
    store = AnswerStore(MemoryCache(clock), clock)
    attempts = tuple(ProviderAttempt(name, "ok", cost_usd=Decimal(1)) for name in changes.pop("engines", ("wiki",)))
    info = SearchInfo(attempts, shared_by=changes.pop("shared_by", ""))
    response = SearchResponse(QUERY.text, changes.pop("hits", (hit(1),)), info=info)
    await store.keep(QUERY, AUTO, Scopes(), response, Intent.GENERAL, terms)
    clock.advance(changes.pop("later_s", 60.0))
    found = await store.stored(KEY, Scopes())
    return item_of_stored(KEY, found, {"wiki": terms, **MAY} | {"wiki": terms}, clock.now()) if found else None


async def test_an_answer_leaves_with_its_time_and_without_its_price() -> None:
    item = await stored(
        Terms(shareable=True), hits=(hit(1), hit(2, url="https://site.example/?api_key=sk-1234567890abcdef12"))
    )
    assert item is not None
    assert opened(SIGNER.sealed(item), SIGNER.public, NOW + timedelta(minutes=1)).statement.at == NOW
    told = json.loads(item.body)["response"]
    assert [result["url"] for result in told["results"]] == ["https://site.example/1"]
    assert told["info"]["providers_tried"][0]["cost_usd"] == "0"


async def test_what_terms_do_not_allow_does_not_leave() -> None:
    assert await stored(Terms()) is None, "terms that nobody has read"
    assert await stored(Terms(shareable=False)) is None
    assert await stored(Terms(shareable=True), engines=("wiki", "tavily")) is None, "the strictest of all counts"
    assert await stored(Terms(shareable=True), engines=()) is None
    assert await stored(Terms(shareable=True), shared_by="office") is None, "what others shared is not handed on"
    assert await stored(Terms(shareable=True), hits=()) is None
    assert await stored(Terms(shareable=True), later_s=90_000.0) is None
    assert await stored(Terms(shareable=True, longest_cache_s=30)) is None
    old = {"text": QUERY.text, "response": to_json(SearchResponse("x"))}
    assert item_of_stored(KEY, old, MAY, NOW) is None, "of an earlier version"


def test_an_answer_to_something_else_is_a_lie() -> None:
    intake = AnswerIntake(None, FrozenClock(NOW), policy=UrlPolicy(), engines=frozenset({"wiki"}), contracts=MAY)
    with pytest.raises(ShareRefused) as refused:
        intake.checked(answer(query=Query("something else")), "office")
    assert refused.value.reason == "other_item"
