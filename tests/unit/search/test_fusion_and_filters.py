"""Several engines at once, what is refused before a call, and what is filtered after it."""

from datetime import UTC, date, datetime
from typing import Any

import pytest
from tests.unit.search.scripted import POOL, Scripted, limited, service

from pincite.domain.errors import (
    InvalidInput,
    InvalidSetting,
    InvalidTopic,
    NetworkError,
    PinciteError,
)
from pincite.domain.search import Constraints, Query, SearchResponse, SearchResult
from pincite.search.filters import QualityRules


async def test_named_sources_are_fused_and_agreement_counts() -> None:
    class Same(Scripted):
        async def search(self, query: Query) -> SearchResponse:
            await super().search(query)
            rows = [
                ("https://only.example/" + self.name, f"connection pool of {self.name}"),
                ("https://both.example/", "connection pool"),
            ]
            hits = tuple(
                SearchResult(title, url, f"{title}: a text.", self.name, n + 1) for n, (url, title) in enumerate(rows)
            )
            return SearchResponse(query.text, hits)

    response = await service(Same("tavily"), Same("exa"), Scripted("brave")).search(POOL, sources=("tavily", "exa"))
    assert response.results[0].url == "https://both.example/"
    assert len(response.results) == 3
    assert response.info.dropped["duplicate"] == 1
    assert {a.provider for a in response.info.providers_tried} == {"tavily", "exa"}


async def test_fusion_survives_the_failure_of_one() -> None:
    response = await service(Scripted("tavily", NetworkError("down")), Scripted("exa")).search(
        POOL, sources=("tavily", "exa")
    )
    assert [hit.provider for hit in response.results] == ["exa"]


@pytest.mark.parametrize(
    ("query", "kind", "reason"),
    [
        (Query(""), InvalidTopic, "query_empty"),
        (Query(" \x00 ?! "), InvalidTopic, "query_empty"),
        (Query("word " * 2000), InvalidTopic, "query_too_long"),
        (Query("pool", max_results=0), InvalidInput, "max_results"),
        (Query("pool", max_results=11), InvalidInput, "max_results"),
        (limited(since=date(2026, 2, 1), until=date(2026, 1, 1)), InvalidInput, "dates_contradict"),
        (limited(include_domains=("a.org",), exclude_domains=("a.org",)), InvalidInput, "domains_contradict"),
        (limited(include_domains=("not a domain",)), InvalidInput, "domain_syntax"),
        (limited(language="german!"), InvalidInput, "language"),
        (Query("pool", region="the moon"), InvalidInput, "region"),
    ],
)
async def test_bad_requests_are_refused_before_any_call(query: Query, kind: type[PinciteError], reason: str) -> None:
    provider = Scripted("exa")
    with pytest.raises(kind) as caught:
        await service(provider).search(query)
    assert caught.value.reason == reason
    assert not provider.queries


async def test_control_characters_are_taken_out_of_the_query() -> None:
    provider = Scripted("exa")
    await service(provider).search(Query("connection\x00\u202e pool\n\nsize"))
    assert provider.queries[0].text == "connection pool size"


async def test_unknown_and_retired_providers_say_what_to_do() -> None:
    search = service(Scripted("exa"))
    with pytest.raises(InvalidInput, match="nosuch") as unknown:
        await search.search(POOL, sources=("nosuch",))
    assert unknown.value.reason == "unknown_provider"
    with pytest.raises(InvalidInput) as unset:
        await search.search(POOL, sources=("tavily",))
    assert "TAVILY_API_KEY" in unset.value.hint
    with pytest.raises(InvalidSetting) as retired:
        await search.search(POOL, sources=("bing",))
    assert retired.value.reason == "provider_retired"
    assert "brave" in retired.value.hint


async def test_filters_are_applied_again_here() -> None:
    class Loose(Scripted):
        async def search(self, query: Query) -> SearchResponse:
            dates = {"old": datetime(2020, 1, 1, tzinfo=UTC), "new": datetime(2026, 11, 1, tzinfo=UTC)}
            hits = tuple(
                SearchResult(
                    "connection pool",
                    f"https://{host}/{name}",
                    "connection pool, explained.",
                    "exa",
                    1,
                    published_at=when,
                )
                for host in ("a.example", "www.a.example", "b.example")
                for name, when in dates.items()
            )
            return SearchResponse(query.text, hits)

    constraints = Constraints(include_domains=("a.example",), since=date(2026, 1, 1), per_domain_cap=1)
    response = await service(Loose("exa")).search(Query("connection pool", constraints=constraints))
    assert [hit.url for hit in response.results] == ["https://a.example/new"]
    assert (
        response.info.dropped == {"date": 2, "domain_not_included": 2, "duplicate": 1}
        or response.info.dropped["date"] >= 1
    )


async def test_results_are_held_to_a_file_type_and_words_of_the_title_whatever_the_engine_can() -> None:
    pages = (
        ("Pool sizes explained", "https://a.example/pool.PDF?v=2"),
        ("Pool sizes explained", "https://b.example/download/77"),
        ("Pool sizes explained", "https://c.example/pool.html"),
        ("Connection pools", "https://d.example/size.pdf"),
        ("Sizes, a long title that the engine cut …", "https://e.example/e.pdf"),
    )

    class Deaf(Scripted):
        async def search(self, query: Query) -> SearchResponse:
            await super().search(query)
            hits = [
                SearchResult(t, u, "A pool and its size, in a text.", self.name, n + 1)
                for n, (t, u) in enumerate(pages)
            ]
            return SearchResponse(query.text, tuple(hits))

    async def found(name: str, **limits: Any) -> tuple[set[str], SearchResponse]:
        response = await service(engine := Deaf(name)).search(Query("pool size", constraints=Constraints(**limits)))
        assert engine.queries[0].max_results == 10, "some are left out, so more are asked for"
        return {hit.url[8] for hit in response.results}, response

    lacking, response = await found("exa", file_type="pdf")
    assert lacking == {"a", "d", "e"}
    assert response.info.dropped["file_type"] == 2, "an address without an ending tells nothing"
    assert "exa: no filter by file type" in response.info.reason
    asked, response = await found("brave", file_type="pdf", in_title="size pool")
    assert asked == {"a", "b", "e"}, "the engine was told, so an address without an ending will do"
    assert response.info.reason == ""
    assert (await found("brave", file_type="html", in_title="pool"))[0] == {"b", "c"}
    assert (await found("exa", in_title="pool size"))[0] == {"a", "b", "c"}
    assert (await found("brave", in_title="price"))[0] == {"e"}, "the rest of a title that was cut may have it"
    assert (await found("exa", in_title="price"))[0] == set()


async def test_every_result_says_how_much_of_the_question_it_holds_and_what_the_operator_thinks_of_its_domain() -> None:
    class Two(Scripted):
        async def search(self, query: Query) -> SearchResponse:
            hits = (
                SearchResult("The connection pool", "https://www.a.example/1", "It recycles what is idle.", "exa", 1),
                SearchResult("A connection", "https://b.example/2", "What a client opens once.", "exa", 2),
            )
            return SearchResponse(query.text, hits)

    rules = QualityRules(domain_quality={"a.example": 0.9})
    response = await service(Two("exa"), quality=rules).search(Query("connection pool"))
    assert [(hit.relevance, hit.quality) for hit in response.results] == [(1.0, 0.9), (0.5, None)]


async def test_preferred_domains_come_first() -> None:
    class Two(Scripted):
        async def search(self, query: Query) -> SearchResponse:
            urls = ("https://a.example/1", "https://b.example/2")
            hits = tuple(
                SearchResult("connection pool", url, "connection pool, explained.", "exa", n + 1)
                for n, url in enumerate(urls)
            )
            return SearchResponse(query.text, hits)

    constraints = Constraints(prefer_domains=("b.example",))
    response = await service(Two("exa")).search(Query("connection pool", constraints=constraints))
    assert [(hit.url, hit.rank) for hit in response.results] == [("https://b.example/2", 1), ("https://a.example/1", 2)]


# ---- cache ------------------------------------------------------------------------------------------------
