"""What a model's name in the settings means, and what it costs."""

from decimal import Decimal

import pytest

from pincite.domain.errors import InvalidSetting
from pincite.domain.model import ModelRole
from pincite.llm.catalogue import COMPATIBLE, FOREIGN, OPENAI, RESPONSES, Endpoint, info_of, parse_model, priced
from pincite.settings import load_settings
from pincite.wiring.models import model_chains, model_names, recorded_models, wants_models

KEYED = {"openai": Endpoint(None, "k"), "openrouter": Endpoint(None, "k")}
SERVER = Endpoint("http://127.0.0.1:9/v1", "")


def test_names_with_a_provider() -> None:
    spec = parse_model("openai:gpt-5-mini", KEYED, Endpoint())
    assert (spec.protocol, spec.name, spec.label) == (RESPONSES, "gpt-5-mini", "openai:gpt-5-mini")
    assert "k" not in repr(spec).split("api_key")[-1]
    spec = parse_model("openrouter:meta/llama-3.3:free", KEYED, Endpoint())
    assert (spec.protocol, spec.name) == (COMPATIBLE, "meta/llama-3.3:free")
    assert parse_model("ollama:qwen2.5:7b", {}, Endpoint()).name == "qwen2.5:7b"


def test_another_base_url_of_openai_speaks_the_common_part_only() -> None:
    moved = {"openai": Endpoint("http://127.0.0.1:9/v1", "k")}
    assert parse_model("openai:anything", moved, Endpoint()).protocol == COMPATIBLE


def test_both_protocols_of_openai_have_a_name() -> None:
    keyed = {"openai-chat": Endpoint(None, "k"), "openai-responses": Endpoint("http://127.0.0.1:9/v1", "k")}
    assert parse_model("openai-chat:gpt-5-mini", keyed, Endpoint()).protocol == OPENAI
    assert parse_model("openai-responses:any", keyed, Endpoint()).protocol == RESPONSES


@pytest.mark.parametrize("name", ["azure", "bedrock", "google-cloud", "xai", "together", "fireworks", "huggingface"])
def test_providers_are_those_of_pydantic_ai(name: str) -> None:
    spec = parse_model(f"{name}:some-model", {}, Endpoint())
    assert (spec.protocol, spec.provider, spec.name) == (FOREIGN, name, "some-model")


@pytest.mark.parametrize("text", ["nobody:model", "_oauth:model", "../xai:model", "qwen3:8b"])
def test_a_provider_that_nobody_has(text: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        parse_model(text, {}, Endpoint())
    assert caught.value.reason == "model_provider_unknown"


def test_servers_of_ones_own_have_names() -> None:
    given = {
        "llm": "gpu:qwen3:8b",
        "llm_servers": "gpu=http://127.0.0.1:9/v1,big=http://127.0.0.1:10/v1",
        "llm_keys": "big=secret-of-big,xai=key-of-xai",
        "llm_roles": "writer=big:llama,planner=xai:grok-5",
    }
    settings = load_settings(given, environ={}, files=())
    chains = model_chains(settings)
    verifier, writer, planner = (chains[role][0] for role in (ModelRole.VERIFIER, ModelRole.WRITER, ModelRole.PLANNER))
    assert (verifier.name, verifier.base_url, verifier.api_key) == ("qwen3:8b", "http://127.0.0.1:9/v1", "")
    assert (writer.name, writer.base_url, writer.api_key) == ("llama", "http://127.0.0.1:10/v1", "secret-of-big")
    assert (planner.protocol, planner.api_key) == (FOREIGN, "key-of-xai")
    assert {"secret-of-big", "key-of-xai"} <= set(settings.secrets)
    assert "secret-of-big" not in repr(settings)


def test_names_without_a_provider_need_a_server() -> None:
    spec = parse_model("qwen2.5:7b", {}, SERVER)
    assert (spec.provider, spec.name, spec.local) == ("server", "qwen2.5:7b", True)
    with pytest.raises(InvalidSetting) as caught:
        parse_model("qwen2.5:7b", {}, Endpoint())
    assert caught.value.reason == "model_provider_unknown"


def test_a_missing_key_is_told_before_any_call() -> None:
    with pytest.raises(InvalidSetting) as caught:
        parse_model("anthropic:claude-sonnet-4-5", {}, Endpoint())
    assert caught.value.reason == "model_key_missing"
    assert "ANTHROPIC_API_KEY" in caught.value.hint


def test_prices_come_from_the_table_then_the_list_then_nowhere() -> None:
    own = parse_model("openai:gpt-5-mini", KEYED, Endpoint(), {"gpt-5-mini": "1/2/0.5"})
    assert priced(own, 1_000_000, 1_000_000, 500_000).cost_usd == Decimal("2.75")
    listed = info_of(parse_model("openai:gpt-5-mini", KEYED, Endpoint()))
    assert listed.price_known
    assert listed.cost_usd(1000, 0) == priced(parse_model("openai:gpt-5-mini", KEYED, Endpoint()), 1000, 0, 0).cost_usd
    unknown = parse_model("openrouter:nobody/nothing-9", KEYED, Endpoint())
    assert not info_of(unknown).price_known
    assert priced(unknown, 10, 10, 0).cost_usd is None
    local = parse_model("anything", {}, SERVER)
    assert info_of(local).cost_usd(1000, 1000) == 0


@pytest.mark.parametrize("price", ["cheap", "1", "1/2/3/4", "-1/2", "NaN/1"])
def test_prices_that_are_none(price: str) -> None:
    with pytest.raises(InvalidSetting):
        parse_model("m", {}, SERVER, {"m": price})


def test_settings_give_a_chain_to_each_role() -> None:
    settings = load_settings(
        {
            "llm": "big",
            "llm_base_url": SERVER.base_url,
            "llm_roles": "planner=none,writer=better",
            "llm_fallbacks": "spare,big",
        },
        environ={},
        files=(),
    )
    chains = model_chains(settings)
    assert ModelRole.PLANNER not in chains
    assert [spec.name for spec in chains[ModelRole.VERIFIER]] == ["big", "spare"]
    assert [spec.name for spec in chains[ModelRole.WRITER]] == ["better", "spare", "big"]
    assert wants_models(settings)
    assert not wants_models(load_settings({}, environ={}, files=()))
    with pytest.raises(InvalidSetting):
        model_chains(
            load_settings({"llm_roles": "cook=big", "llm_base_url": "http://127.0.0.1:9"}, environ={}, files=())
        )


def test_a_record_stands_in_for_models() -> None:
    assert recorded_models({}) is None
    assert model_names(None) == {}
    stand_in = recorded_models({"planner": ["a", "b"]})
    assert stand_in is not None
    assert [info.name for info in stand_in.info(ModelRole.PLANNER)] == ["a", "b"]
    assert stand_in.info(ModelRole.WRITER) == ()
