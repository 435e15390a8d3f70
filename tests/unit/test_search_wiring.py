"""How settings become the search service."""

import sys
from decimal import Decimal
from pathlib import Path

import pytest
from tests.fakes.engines import EngineServer, FakeEngines
from tests.fakes.storage import MemoryCache

from pincite.domain.errors import InvalidInput, InvalidSetting, ProviderAuth
from pincite.domain.search import Query
from pincite.runtime.concurrency import resource_pool
from pincite.runtime.limiter import BATCH, CRITICAL, INTERACTIVE, MemoryLimiter
from pincite.search.intent import Intent
from pincite.settings import Settings
from pincite.testing.clock import FrozenClock
from pincite.wiring.searching import accounts, build_search, lane_of, search_contracts, search_options


def engines_of(name: str, **settings: object) -> list[object]:
    clock = FrozenClock()
    made = Settings.model_validate(settings)
    return list(accounts(name, made, clock, MemoryCache(clock), MemoryLimiter(clock)))


def test_several_keys_are_several_accounts() -> None:
    engines = accounts(
        "exa",
        Settings.model_validate({"exa_api_key": "one, two"}),
        clock := FrozenClock(),
        MemoryCache(clock),
        MemoryLimiter(clock),
    )
    assert [engine.label for engine in engines] == ["exa#1", "exa#2"]


def test_the_limits_of_a_plan_take_the_place_of_the_catalogue() -> None:
    clock = FrozenClock()
    settings = Settings.model_validate({"tavily_api_key": "k", "search_limits": {"tavily": "1000/60, 20000/2592000"}})
    [engine] = accounts("tavily", settings, clock, MemoryCache(clock), MemoryLimiter(clock))
    assert [rate.per_s for rate in engine.card.rates] == [60, 2_592_000]
    bad = Settings.model_validate({"tavily_api_key": "k", "search_limits": {"tavily": "lots"}})
    with pytest.raises(InvalidSetting, match="CALLS/SECONDS"):
        accounts("tavily", bad, clock, MemoryCache(clock), MemoryLimiter(clock))


def test_routes_of_the_settings_go_first() -> None:
    clock = FrozenClock()
    settings = Settings.model_validate(
        {"brave_api_key": "k", "tavily_api_key": "k", "search_routes": {"error": ["brave", "tavily"]}}
    )
    [brave] = accounts("brave", settings, clock, MemoryCache(clock), MemoryLimiter(clock))
    [tavily] = accounts("tavily", settings, clock, MemoryCache(clock), MemoryLimiter(clock))
    assert brave.card.fit_for(Intent.ERROR) - tavily.card.fit_for(Intent.ERROR) > 0.05
    assert tavily.card.fit_for(Intent.GENERAL) == 0.9
    bad = Settings.model_validate({"brave_api_key": "k", "search_routes": {"gossip": ["brave"]}})
    with pytest.raises(InvalidSetting, match="gossip"):
        accounts("brave", bad, clock, MemoryCache(clock), MemoryLimiter(clock))


def test_what_is_missing_is_named() -> None:
    with pytest.raises(ProviderAuth) as key:
        engines_of("brave")
    assert "BRAVE_API_KEY" in key.value.hint
    with pytest.raises(InvalidSetting) as address:
        engines_of("searxng")
    assert "SEARXNG_URL" in address.value.hint
    with pytest.raises(InvalidInput, match="altavista"):
        engines_of("altavista")
    with pytest.raises(InvalidSetting, match="retired"):
        engines_of("bing")


def test_the_runs_of_a_server_let_others_go_first() -> None:
    serving = Settings.model_validate({"serving": True})
    assert (lane_of(serving), lane_of(serving, run=True)) == (INTERACTIVE, BATCH)
    assert lane_of(Settings.model_validate({}), run=True) == INTERACTIVE
    assert lane_of(Settings.model_validate({"lane": "critical", "serving": True}), run=True) == CRITICAL


def test_weights_of_engines_and_keys() -> None:
    clock = FrozenClock()
    given = {"exa_api_key": "one,two,three", "search_weights": {"exa": 3.0, "exa#2": 0.5}}
    engines = accounts("exa", Settings.model_validate(given), clock, MemoryCache(clock), MemoryLimiter(clock))
    assert [engine.weight for engine in engines] == [3.0, 0.5, 3.0]
    assert len({engine.mark for engine in engines}) == 3
    bad = Settings.model_validate({"exa_api_key": "k", "search_weights": {"exa": 0.0}})
    with pytest.raises(InvalidSetting, match="search_weights"):
        accounts("exa", bad, clock, MemoryCache(clock), MemoryLimiter(clock))


def test_contracts_are_read_and_checked() -> None:
    settings = Settings.model_validate({"search_contracts": {"exa": {"longest_cache_s": 60.0, "shareable": True}}})
    assert search_contracts(settings)["exa"].may_share()
    with pytest.raises(InvalidSetting):
        search_contracts(Settings.model_validate({"search_contracts": {"exa": {"sharable": True}}}))


def test_auto_is_routed_and_names_are_fused() -> None:
    assert search_options(Settings.model_validate({}), ("tavily", "exa")).sources == ("auto",)
    assert search_options(Settings.model_validate({"source": "tavily,exa"}), ("tavily", "exa")).sources == (
        "tavily",
        "exa",
    )
    assert search_options(
        Settings.model_validate({"search_pace_usd_per_month": "5"}), ()
    ).pace_usd_per_month == Decimal(5)


PLUGIN = """
from pincite.domain.search import SearchResponse, SearchResult


class Corner:
    name = "corner"

    def __init__(self, settings, around):
        self.now = around.clock.now

    async def search(self, query):
        hit = SearchResult("Connection pool", "https://corner.example/pool", "Explains a connection pool.", "corner", 1)
        return SearchResponse(query.text, (hit,))
"""


async def test_an_engine_from_another_package_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "corner_plugin.py").write_text(PLUGIN)
    info = tmp_path / "corner_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: corner-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pincite.search_providers]\ncorner = corner_plugin:Corner\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "corner_plugin", raising=False)
    clock, settings = FrozenClock(), Settings.model_validate({"home": tmp_path})
    async with resource_pool() as kept:
        search = await build_search(
            settings, clock, kept, libraries=(), providers=("corner",), cache=MemoryCache(clock)
        )
        assert search is not None
        response = await search.search(Query("connection pool"))
    assert [hit.url for hit in response.results] == ["https://corner.example/pool"]


@pytest.mark.parametrize(("contract", "copies"), [({}, 0), ({"exa": {"storable": True, "longest_cache_s": 3600.0}}, 1)])
async def test_raw_answers_are_kept_only_under_a_contract(
    contract: dict[str, object], copies: int, tmp_path: Path
) -> None:
    engines, clock = FakeEngines(), FrozenClock()
    cache = MemoryCache(clock)
    with EngineServer(engines) as server:
        settings = Settings.model_validate(
            {
                "home": tmp_path,
                "exa_api_key": "k",
                "exa_base_url": engines.base_url("exa", server.origin),
                "search_contracts": contract,
            }
        )
        async with resource_pool() as kept:
            search = await build_search(settings, clock, kept, libraries=(), providers=("exa",), cache=cache)
            assert search is not None
            await search.search(Query("connection pool"))
    assert await cache.delete("search/raw/local") == copies
