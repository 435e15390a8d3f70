"""What each adapter reads out of an answer with all the fields that the engine documents."""

from datetime import UTC, datetime
from decimal import Decimal
from importlib import import_module
from pathlib import Path

import httpx2
import pytest

from pincite.apis import ApiSettings
from pincite.domain.search import Query, SearchResponse
from pincite.search.provider import Surroundings
from pincite.testing.clock import FrozenClock

DATA = Path(__file__).parent / "data"
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CLASSES = {
    "tavily": "Tavily", "exa": "Exa", "brave": "Brave", "serper": "Serper", "searxng": "SearXng",
    "duckduckgo": "DuckDuckGo", "firecrawl": "Firecrawl", "jina": "Jina",
    "wikipedia": "Wikipedia", "marginalia": "Marginalia",
}  # fmt: skip  # a table


async def answer_of(name: str) -> SearchResponse:
    file = next((DATA / name).iterdir())
    kind = "text/html" if file.suffix == ".html" else "application/json"
    transport = httpx2.MockTransport(
        lambda _: httpx2.Response(200, content=file.read_bytes(), headers={"Content-Type": kind})
    )
    adapter = getattr(import_module(f"pincite.search.providers.{name}"), CLASSES[name])
    provider = adapter(
        ApiSettings("https://engine.example", api_key="k"), Surroundings(FrozenClock(NOW), transport=transport)
    )
    response = await provider.search(Query("who maintains project x"))
    await provider.aclose()
    assert isinstance(response, SearchResponse)
    return response


@pytest.mark.parametrize(
    ("name", "url", "title", "snippet", "day"),
    [
        ("tavily", "https://example.org/x", "Project X", "summary text", "2026-11-03"),
        ("exa", "https://example.org/a", "A", "the passage", "2026-10-02"),
        ("brave", "https://example.org/a", "A & B", 'text "quoted"', "2026-11-19"),
        ("serper", "https://example.org/a", "A", "the snippet", "2026-11-03"),
        ("searxng", "https://example.org/a", "A", "snippet", "2026-11-01"),
        ("duckduckgo", "https://example.org/a?b=1", "A title", "the snippet text", None),
        ("firecrawl", "https://example.org/a", "A", "the passage", None),
        ("jina", "https://example.org/a", "A", "snippet", "2026-11-03"),
        ("wikipedia", "https://engine.example/wiki/Eiffel_Tower", "Eiffel Tower", "is 330 metres tall", None),
        ("marginalia", "https://example.org/a", "A", "snippet", None),
    ],
)
async def test_the_hit(name: str, url: str, title: str, snippet: str, day: str | None) -> None:
    response = await answer_of(name)
    [hit] = response.results
    assert (hit.url, hit.title, hit.snippet) == (url, title, snippet)
    assert (hit.published_at.date().isoformat() if hit.published_at else None) == day


async def test_what_comes_besides() -> None:
    assert (await answer_of("exa")).info.cost_usd == Decimal("0.005")
    assert "restrictions_relaxed" in (await answer_of("exa")).info.reason
    assert (await answer_of("tavily")).info.cost_usd == Decimal("0.008")
    assert (await answer_of("searxng")).answer == "42"
    assert (await answer_of("searxng")).follow_up_questions == ("x y",)
    assert (await answer_of("serper")).answer == "S"
    assert (await answer_of("serper")).follow_up_questions == ("What is X?", "y")
    assert (await answer_of("firecrawl")).info.cost_usd == Decimal("0.00198")
