"""The vendors' own clients against the fakes, so that the fakes can't drift from what those clients read and send."""

from collections.abc import Iterator

import pytest
from tests.fakes.engines import EngineServer, FakeEngines

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince20"),
]


@pytest.fixture
def engines() -> FakeEngines:
    return FakeEngines()


@pytest.fixture
def origin(engines: FakeEngines) -> Iterator[str]:
    with EngineServer(engines) as server:
        yield server.origin


def test_the_tavily_client(engines: FakeEngines, origin: str) -> None:
    import tavily

    client = tavily.TavilyClient(api_key="tvly-k", api_base_url=engines.base_url("tavily", origin))
    reply = client.search("connection pool", max_results=2, include_answer=True, search_depth="advanced")
    assert [hit["url"] for hit in reply["results"]] == [
        "https://docs.example.org/pool",
        "https://docs.example.org/timeouts",
    ]
    assert reply["answer"]
    assert engines.calls[0].headers["authorization"] == "Bearer tvly-k"
    assert engines.calls[0].body["query"] == "connection pool"
    troubles = {
        "bad_key": tavily.InvalidAPIKeyError,
        "rate_limited": tavily.UsageLimitExceededError,
        "out_of_credit": tavily.errors.ForbiddenError,
        "over_pay_limit": tavily.errors.ForbiddenError,
        "bad_request": tavily.BadRequestError,
    }
    for mode, kind in troubles.items():
        engines.modes["tavily"] = mode
        with pytest.raises(kind):
            client.search("connection pool")


def test_the_exa_client(engines: FakeEngines, origin: str) -> None:
    from exa_py import Exa

    client = Exa("k", base_url=engines.base_url("exa", origin))
    reply = client.search("connection pool", num_results=2)
    assert [hit.url for hit in reply.results] == ["https://docs.example.org/pool", "https://docs.example.org/timeouts"]
    assert reply.results[0].text
    assert reply.results[0].published_date == "2026-10-02T00:00:00.000Z"
    for mode, status in (("bad_key", "401"), ("out_of_credit", "402"), ("rate_limited", "429"), ("outage", "503")):
        engines.modes["exa"] = mode
        with pytest.raises(ValueError, match=status):
            client.search("connection pool")


def test_the_firecrawl_client(engines: FakeEngines, origin: str) -> None:
    from firecrawl import Firecrawl
    from firecrawl.v2.utils import error_handler

    client = Firecrawl(api_key="fc-k", api_url=engines.base_url("firecrawl", origin))
    reply = client.search("connection pool", limit=2)
    assert [hit.url for hit in reply.web] == ["https://docs.example.org/pool", "https://docs.example.org/timeouts"]
    news = client.search("version 9 released", sources=["news"], limit=1)
    assert news.news[0].title == "Version 9 released today"
    troubles = {
        "bad_key": error_handler.UnauthorizedError,
        "out_of_credit": error_handler.PaymentRequiredError,
        "rate_limited": error_handler.RateLimitError,
        "bad_request": error_handler.BadRequestError,
    }
    for mode, kind in troubles.items():
        engines.modes["firecrawl"] = mode
        with pytest.raises(kind):
            client.search("connection pool")
