"""What each engine may say instead of an answer, row by row of its contract; and answers with anything anywhere."""

import json
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.apis import ApiSettings
from pincite.domain.codec import to_json
from pincite.domain.errors import PinciteError
from pincite.domain.search import Constraints, Query, SearchResponse
from pincite.search.catalogue import CATALOGUE
from pincite.search.provider import Surroundings
from pincite.testing.clock import FrozenClock

DATA = Path(__file__).parent / "data"
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CLASSES = {
    "tavily": "Tavily", "exa": "Exa", "brave": "Brave", "serper": "Serper", "searxng": "SearXng",
    "duckduckgo": "DuckDuckGo", "firecrawl": "Firecrawl", "jina": "Jina",
    "wikipedia": "Wikipedia", "marginalia": "Marginalia",
}  # fmt: skip
REFUSALS: dict[str, list[list[Any]]] = json.loads((DATA / "refusals.json").read_text())


async def asked(name: str, reply: httpx2.Response, query: Query | None = None) -> tuple[SearchResponse, httpx2.Request]:
    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return reply

    adapter = getattr(import_module(f"pincite.search.providers.{name}"), CLASSES[name])
    around = Surroundings(FrozenClock(NOW), transport=httpx2.MockTransport(answer))
    provider = adapter(ApiSettings("https://engine.example", api_key="k"), around)
    try:
        response = await provider.search(query or Query("who maintains project x"))
    finally:
        await provider.aclose()
    assert isinstance(response, SearchResponse)
    return response, seen[0]


@pytest.mark.parametrize(
    ("name", "row"),
    [pytest.param(name, row, id=f"{name}-{n}") for name, rows in REFUSALS.items() for n, row in enumerate(rows)],
)
async def test_a_refusal_has_its_code_reason_and_wait(name: str, row: list[Any]) -> None:
    status, headers, body, code, reason, wait_s = row
    content = body if isinstance(body, str) else json.dumps(body)
    with pytest.raises(PinciteError) as caught:
        await asked(name, httpx2.Response(status, content=content.encode(), headers=headers))
    error = caught.value
    assert (error.code, error.reason) == (code, reason)
    assert error.retry_after_s == wait_s


def test_every_engine_has_rows() -> None:
    assert set(REFUSALS) == set(CATALOGUE) - {"local"}


@pytest.mark.parametrize(
    "reply",
    [
        b"<div class='result body'><h2><a href='https://a.example/'>Unusual traffic</a></h2><a href='#'>It means</a>",
        b"<div class='body'><h2>About us</h2><a href='https://spread.duckduckgo.com/about'>About the company</a></div>",
    ],
)
async def test_results_about_challenges_and_the_engine_are_results(reply: bytes) -> None:
    response, _ = await asked("duckduckgo", httpx2.Response(200, content=reply))
    assert len(response.results) == 1


async def test_a_broken_link_is_dropped_and_counted() -> None:
    rows = b"".join(
        b"<div class='body'><h2><a href='%s'>T</a></h2><a href='#'>text of it</a></div>" % href
        for href in (b"http://[::1", b"https://a.example/", b"//duckduckgo.com/y.js?ad=1")
    )
    response, _ = await asked("duckduckgo", httpx2.Response(200, content=rows))
    assert [hit.url for hit in response.results] == ["https://a.example/"]
    assert response.info.dropped == {"url_invalid": 1}


@pytest.mark.parametrize(
    ("words", "domains", "wanted"),
    [
        (3, ("a.example", "b.example"), "word word word (site:a.example OR site:b.example)"),
        (48, ("a.example", "b.example"), "word " * 48 + "site:a.example"),
        (80, ("a.example",), "word " * 49 + "site:a.example"),
    ],
)
async def test_operators_are_never_cut_in_the_middle(words: int, domains: tuple[str, ...], wanted: str) -> None:
    query = Query(" ".join(["word"] * words), constraints=Constraints(include_domains=domains))
    _, request = await asked("brave", httpx2.Response(200, json={"type": "search"}), query)
    assert request.url.params["q"] == wanted


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([{"organic": []}, "x"], "wrong_shape"),
        ([{"organic": []}], "wrong_shape"),
        ([{"organic": []}, {"message": "Internal error", "statusCode": 500}], "provider_outage"),
    ],
)
async def test_a_part_of_a_batch_that_is_no_answer_is_no_empty_answer(parts: list[Any], reason: str) -> None:
    from pincite.search.providers.serper import Serper

    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=parts))
    around = Surroundings(FrozenClock(NOW), transport=transport)
    provider = Serper(ApiSettings("https://engine.example", api_key="k"), around)
    with pytest.raises(PinciteError) as caught:
        await provider.search_many([Query("one"), Query("two")])
    await provider.aclose()
    assert caught.value.reason == reason


ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.just(10**400), st.text(max_size=20),
    st.sampled_from([
        "999999 years ago", "yesterday", "0001-01-01", "9999-12-31T23:59:59+14:00", "http://[", "//x", "/y",
        "http://10.0.0.1/", "Mon, 32 Foo 2026", "\ud800", "<b>&lt;i&gt;", "-1", "1e999",
    ]),
    st.lists(st.integers(), max_size=2), st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)  # fmt: skip


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(leaf for key, part in inner for leaf in _leaves(part, (*path, key)))]


def _changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _changed(value[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("name", sorted(set(CLASSES) - {"duckduckgo"}))
@settings(max_examples=50, deadline=None, derandomize=True)
@given(data=st.data())
def test_anything_anywhere_gives_an_answer_or_one_of_our_errors(name: str, data: st.DataObject) -> None:
    import anyio

    body = json.loads((DATA / name / "search.json").read_text())
    for _ in range(data.draw(st.integers(1, 3))):
        body = _changed(body, data.draw(st.sampled_from(_leaves(body))), data.draw(ODD))
    status = data.draw(st.sampled_from([200, 200, 200, 400, 401, 402, 403, 404, 422, 429, 432, 500, 503]))
    content = json.dumps(body).encode("utf-8", "surrogatepass")
    try:
        response, _ = anyio.run(asked, name, httpx2.Response(status, content=content))
    except PinciteError as error:
        outcome = error.code
    else:
        outcome = json.dumps(to_json(response), allow_nan=False)
    assert outcome != "INTERNAL"
