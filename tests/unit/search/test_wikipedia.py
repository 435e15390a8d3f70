"""Wikipedia: the edition of the language, what is sent, and when `auto` asks it."""

import httpx2
from tests.unit.search.scripted import NOW, Scripted, service

from pincite.apis import ApiSettings
from pincite.domain.errors import RateLimited
from pincite.domain.search import Constraints, Query, SearchResponse
from pincite.search.catalogue import CATALOGUE
from pincite.search.provider import Surroundings
from pincite.search.providers.wikipedia import Wikipedia
from pincite.testing.clock import FrozenClock

EMPTY = {"batchcomplete": True, "query": {"search": [{"ns": 0, "title": "C++ (Sprache)", "snippet": "Eine Sprache"}]}}


async def asked(query: Query) -> tuple[SearchResponse, list[httpx2.Request]]:
    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, json=EMPTY)

    around = Surroundings(FrozenClock(NOW), transport=httpx2.MockTransport(answer))
    provider = Wikipedia(ApiSettings(CATALOGUE["wikipedia"].base_url), around)
    response = await provider.search(query)
    await provider.aclose()
    return response, seen


async def test_the_edition_is_that_of_the_language_and_words_without_content_stay_here() -> None:
    response, [request] = await asked(Query("What is a list in C++?", constraints=Constraints(language="de-CH")))
    assert request.url.host == "de.wikipedia.org"
    assert request.url.params["srsearch"] == "list C++?"
    assert request.url.params["maxlag"] == "5"
    assert [hit.url for hit in response.results] == ["https://de.wikipedia.org/wiki/C%2B%2B_(Sprache)"]


async def test_other_domains_are_not_asked_of_it() -> None:
    response, requests = await asked(Query("list", constraints=Constraints(include_domains=("postgresql.org",))))
    assert (response.results, requests) == ((), [])
    response, requests = await asked(Query("list", constraints=Constraints(include_domains=("wikipedia.org",))))
    assert (len(response.results), len(requests)) == (1, 1)


async def test_auto_asks_it_for_what_an_encyclopedia_may_know_only() -> None:
    encyclopedia, engine = Scripted("wikipedia"), Scripted("duckduckgo", RateLimited("one at a time", retry_after_s=60))
    search = service(engine, encyclopedia)
    assert (await search.search(Query("history of the connection pool"))).results[0].provider == "wikipedia"
    assert all("wikipedia" not in line for line in await search.explain(Query("ImportError in connection pool")))
