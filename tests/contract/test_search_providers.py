"""What every search provider must do, over the fakes that follow each engine's contract."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from importlib import import_module
from urllib.parse import urlsplit

import pytest
from tests.fakes.engines import EngineServer, FakeEngines
from tests.fakes.engines.fakes import NAMES
from tests.fakes.engines.troubles import TROUBLES

from pincite.apis import ApiSettings
from pincite.domain.errors import (
    InvalidInput,
    InvalidSetting,
    NetworkError,
    PageBlocked,
    PinciteError,
    ProviderAuth,
    ProviderBadReply,
    ProviderQuota,
    RateLimited,
    SearchProviderUnavailable,
    Timeout,
)
from pincite.domain.search import Constraints, Depth, Query, Topic
from pincite.search.catalogue import CATALOGUE
from pincite.search.provider import ApiProvider, Surroundings
from pincite.testing.clock import FrozenClock
from pincite.urls import UrlPolicy
from pincite.urls.policy import PORTS, AddressPolicy

CLASSES = {
    "tavily": "Tavily",
    "exa": "Exa",
    "brave": "Brave",
    "serper": "Serper",
    "searxng": "SearXng",
    "duckduckgo": "DuckDuckGo",
    "firecrawl": "Firecrawl",
    "jina": "Jina",
    "wikipedia": "Wikipedia",
    "marginalia": "Marginalia",
}
KEY = "key-that-must-not-leak"
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
EXPECTED: dict[str, tuple[type[PinciteError], str | None]] = {
    "bad_key": (ProviderAuth, "bad_key"),
    "rate_limited": (RateLimited, None),
    "challenge_with_200": (RateLimited, None),
    "out_of_credit": (ProviderQuota, "out_of_credit"),
    "over_pay_limit": (ProviderQuota, "out_of_credit"),
    "month_over": (ProviderQuota, "out_of_credit"),
    "bad_request": (InvalidInput, "provider_bad_request"),
    "outage": (SearchProviderUnavailable, "provider_outage"),
    "unresponsive": (SearchProviderUnavailable, "engines_unresponsive"),
    "lagging": (RateLimited, None),
    "json_disabled": (InvalidSetting, "json_disabled"),
    "blocked": (PageBlocked, "provider_blocked"),
    "html": (ProviderBadReply, "not_json"),
    "truncated": (ProviderBadReply, "not_json"),
    "deep": (ProviderBadReply, "not_json"),
    "empty_body": (ProviderBadReply, "not_json"),
    "huge": (ProviderBadReply, "answer_too_large"),
    "redirect": (ProviderBadReply, "redirected"),
    "wrong_types": (ProviderBadReply, "wrong_shape"),
    "not_an_object": (ProviderBadReply, "wrong_shape"),
}
OTHERWISE: dict[tuple[str, str], tuple[type[PinciteError], str | None]] = {
    ("searxng", "html"): (InvalidSetting, "json_disabled"),
    ("duckduckgo", "html"): (ProviderBadReply, "unknown_page"),
    ("duckduckgo", "empty_body"): (ProviderBadReply, "unknown_page"),
}


def make(name: str, base_url: str, *, key: str | None = KEY, deadline_s: float = 5.0) -> ApiProvider:
    module = import_module(f"pincite.search.providers.{name}")
    adapter: Callable[[ApiSettings, Surroundings], ApiProvider] = getattr(module, CLASSES[name])
    settings = ApiSettings(base_url=base_url, api_key=key, deadline_s=deadline_s)
    # Articles lie where the Wikipedia asked lies: here, on loopback.
    port = urlsplit(base_url).port or 443
    policy = UrlPolicy(AddressPolicy(allow_networks=("127.0.0.0/8",)), PORTS | {port})
    return adapter(settings, Surroundings(FrozenClock(NOW), policy=policy))


@pytest.fixture(scope="module")
def engines() -> FakeEngines:
    return FakeEngines()


@pytest.fixture(scope="module")
def server(engines: FakeEngines) -> Iterator[EngineServer]:
    with EngineServer(engines) as running:
        yield running


@pytest.fixture(autouse=True)
def _clean(engines: FakeEngines) -> None:
    engines.calls.clear()
    engines.modes.clear()
    engines.script.clear()


@pytest.fixture(params=NAMES)
async def provider(
    request: pytest.FixtureRequest, server: EngineServer, engines: FakeEngines
) -> AsyncIterator[ApiProvider]:
    made = make(request.param, engines.base_url(request.param, server.origin))
    yield made
    await made.aclose()


def test_every_api_provider_of_the_catalogue_is_here() -> None:
    assert set(CATALOGUE) - {"local"} == set(NAMES)


async def test_results_have_the_one_shape(provider: ApiProvider) -> None:
    response = await provider.search(Query("configure connection pool", max_results=3))
    assert response.query == "configure connection pool"
    assert 1 <= len(response.results) <= 3
    assert [hit.rank for hit in response.results] == list(range(1, len(response.results) + 1))
    for hit in response.results:
        assert hit.provider == provider.name
        assert hit.url.startswith(("https://", "http://127.0.0.1:"))  # an article lies where the Wikipedia asked lies
        assert hit.title
        assert 0 < len(hit.snippet) <= 400
        assert "<" not in hit.title + hit.snippet
        assert hit.published_at is None or hit.published_at.tzinfo is not None
    assert response.info.fetched_at == NOW


async def test_the_cost_is_booked(provider: ApiProvider) -> None:
    response = await provider.search(Query("configure connection pool", depth=Depth.BASIC))
    listed = CATALOGUE[provider.name].cost(Depth.BASIC)
    assert response.info.cost_usd == (listed or Decimal(0))


async def test_the_key_is_sent_in_a_header_only(provider: ApiProvider, engines: FakeEngines) -> None:
    await provider.search(Query("connection pool"))
    call = engines.seen(provider.name)[0]
    assert KEY not in str(call.body)
    assert KEY not in call.path
    if CATALOGUE[provider.name].needs_key and provider.name != "searxng":
        assert any(KEY in value for value in call.headers.values())
    assert call.headers["user-agent"].startswith("Pincite/")


async def test_no_raw_content_and_no_images_are_asked_for(provider: ApiProvider, engines: FakeEngines) -> None:
    await provider.search(Query("connection pool"))
    body = engines.seen(provider.name)[0].body
    for name in ("include_raw_content", "include_images", "include_image_descriptions", "scrapeOptions"):
        assert not body.get(name), name
    assert "text" not in body.get("contents", {})
    assert "images" not in str(body.get("sources", ""))


async def test_the_query_text_reaches_the_engine(provider: ApiProvider, engines: FakeEngines) -> None:
    await provider.search(Query("pool größe 連接"))
    body = engines.seen(provider.name)[0].body
    assert "pool größe 連接" in (body.get("q") or body.get("srsearch") or body.get("query"))


async def test_exact_words_are_in_quotes_where_the_engine_knows_them(
    provider: ApiProvider, engines: FakeEngines
) -> None:
    await provider.search(Query("connection pool lock timeout", exact=("lock timeout",)))
    body = engines.seen(provider.name)[0].body
    sent = body.get("q") or body.get("srsearch") or body.get("query")
    quotes = "quotes" in CATALOGUE[provider.name].native
    assert sent == ('connection pool "lock timeout"' if quotes else "connection pool lock timeout")


async def test_domain_lists_reach_the_engine(provider: ApiProvider, engines: FakeEngines) -> None:
    if not any("domains" in name for name in CATALOGUE[provider.name].native):
        pytest.skip(f"{provider.name} has no filter by domain; the results are filtered here")
    wanted = Query("connection pool", constraints=Constraints(include_domains=("example.org",)))
    response = await provider.search(wanted)
    assert "example.org" in str(engines.seen(provider.name)[0].body)
    assert {hit.url.split("/")[2] for hit in response.results} == {"docs.example.org"}
    unwanted = Query("connection pool", constraints=Constraints(exclude_domains=("example.org",)))
    assert all("example.org" not in hit.url for hit in (await provider.search(unwanted)).results)


async def test_dates_reach_engines_that_filter_them(provider: ApiProvider, engines: FakeEngines) -> None:
    await provider.search(Query("connection pool", constraints=Constraints(since=date(2026, 11, 16))))
    body = str(engines.seen(provider.name)[0].body)
    signs = ("2026-11-16", "11/16/2026", "'week'", "'df': 'w'")
    assert any(sign in body for sign in signs) == any("dates" in name for name in CATALOGUE[provider.name].native)


async def test_every_topic_is_answered(provider: ApiProvider) -> None:
    for topic in Topic:
        assert (await provider.search(Query("version 9 released connection pool", topic=topic))).results


async def test_a_very_long_query_is_cut_to_what_the_engine_takes(provider: ApiProvider) -> None:
    assert (await provider.search(Query("connection pool " + "word " * 380))).results is not None


@pytest.mark.parametrize(
    ("name", "mode"), [(name, mode) for name in NAMES for mode in TROUBLES[name] if mode != "empty"]
)
async def test_every_trouble_has_its_own_error(
    server: EngineServer, engines: FakeEngines, name: str, mode: str
) -> None:
    provider = make(name, engines.base_url(name, server.origin))
    engines.modes[name] = mode
    kind, reason = OTHERWISE.get((name, mode), EXPECTED[mode])
    try:
        with pytest.raises(kind) as caught:
            await provider.search(Query("connection pool"))
    finally:
        await provider.aclose()
    assert type(caught.value) is kind
    if reason is not None:
        assert caught.value.reason == reason
    if kind is RateLimited:
        assert caught.value.retry_after_s is not None
    if kind in {ProviderAuth, InvalidSetting}:
        assert caught.value.hint
    assert KEY not in repr(caught.value) + caught.value.hint + str(caught.value.context)


async def test_no_results_is_an_answer(provider: ApiProvider, engines: FakeEngines) -> None:
    engines.modes[provider.name] = "empty"
    response = await provider.search(Query("connection pool"))
    assert response.results == ()


async def test_a_missing_key_names_the_setting() -> None:
    for name, card in CATALOGUE.items():
        if not card.needs_key or name == "searxng":
            continue
        with pytest.raises(ProviderAuth) as caught:
            make(name, card.base_url, key=None)
        assert caught.value.reason == "missing_key"
        assert card.key_variable in caught.value.hint


async def test_a_silent_engine_ends_in_a_timeout() -> None:
    import anyio

    async def say_nothing(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await anyio.sleep_forever()

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, say_nothing)
        provider = make("tavily", f"http://127.0.0.1:{port}", deadline_s=0.2)
        with pytest.raises(Timeout) as caught:
            await provider.search(Query("connection pool"))
        assert caught.value.reason.startswith("search_")
        await provider.aclose()
        tasks.cancel_scope.cancel()


async def test_a_dead_engine_is_a_network_error() -> None:
    provider = make("exa", "http://127.0.0.1:9")
    with pytest.raises(NetworkError):
        await provider.search(Query("connection pool"))
    await provider.aclose()


async def test_nothing_is_logged_about_a_call(
    provider: ApiProvider, engines: FakeEngines, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        logging.getLogger("httpx2").setLevel(logging.INFO)
        await provider.search(Query("a private matter"))
    assert "private" not in caplog.text
    assert KEY not in caplog.text


@pytest.mark.parametrize("url", ["ftp://x", "https://", "https://user@host", "nonsense", "https://h/?key=1"])
def test_a_bad_base_url_is_a_setting_error(url: str) -> None:
    with pytest.raises(InvalidSetting, match="base URL"):
        make("tavily", url)
