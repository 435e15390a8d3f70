"""What a run would use and cost, and caps for one run alone."""

from decimal import Decimal
from pathlib import Path

import pytest

from pincite.domain.errors import InvalidInput, InvalidSetting
from pincite.settings import Settings, load_settings
from pincite.wiring.run_settings import narrowed, run_estimate


def settings(tmp_path: Path, **given: object) -> Settings:
    return load_settings({"home": tmp_path, **given}, environ={}, files=())


def test_a_local_library_is_free_and_named(tmp_path: Path) -> None:
    found = run_estimate(settings(tmp_path, source="local:/data/handbook"))
    assert (found.libraries, found.engines, found.searches_usd, found.models) == (("handbook",), (), Decimal(0), ())


def test_the_bundled_pages_are_called_so(tmp_path: Path) -> None:
    assert run_estimate(settings(tmp_path, source="bundled")).libraries == ("the bundled pages",)


def test_searches_cost_at_most_their_list_price(tmp_path: Path) -> None:
    found = run_estimate(settings(tmp_path, source="tavily", max_searches=10, tavily_api_key="k"))
    assert (found.engines, found.searches_usd) == (("tavily",), Decimal("0.080"))
    assert run_estimate(settings(tmp_path, source="an-engine-of-a-plugin")).searches_usd is None


def test_a_model_costs_at_most_what_its_tokens_cost(tmp_path: Path) -> None:
    own = {"llm": "mine", "llm_base_url": "http://127.0.0.1:1/v1", "max_tokens": 500_000}
    found = run_estimate(settings(tmp_path, source="local:/x", llm_prices={"mine": "1/3"}, **own))
    assert (found.models, found.model_usd) == (("server:mine",), Decimal(2))
    assert run_estimate(settings(tmp_path, source="local:/x", llm="openai:x")).trouble
    assert run_estimate(settings(tmp_path, source="local:/x")).model_usd == 0


def test_what_cannot_be_searched_is_said(tmp_path: Path) -> None:
    assert "no library" in run_estimate(settings(tmp_path, source="local")).trouble
    bare = run_estimate(settings(tmp_path, duckduckgo=False))
    assert "no search engine is set up" in bare.trouble
    assert bare.searches_usd == 0


def test_a_run_may_only_lower_the_caps(tmp_path: Path) -> None:
    own = settings(tmp_path, max_pages=20)
    assert narrowed(own, {}) is own
    assert narrowed(own, {"max_pages": None}) is own
    lower = narrowed(own, {"max_pages": 5, "max_cost_usd": "0.5"})
    assert (lower.max_pages, lower.max_cost_usd, lower.max_searches) == (5, Decimal("0.5"), own.max_searches)
    assert narrowed(own, {"max_pages": 500}).max_pages == 20
    with pytest.raises(InvalidInput):
        narrowed(own, {"home": "/"})
    with pytest.raises(InvalidSetting):
        narrowed(own, {"max_pages": -1})
