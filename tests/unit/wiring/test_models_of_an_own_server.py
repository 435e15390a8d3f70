"""Where `openai:NAME` goes when a server of one's own is named."""

import pytest

from pincite.settings import load_settings
from pincite.wiring.models import parse_setting

OWN = {"PINCITE_LLM_BASE_URL": "http://127.0.0.1:9/v1", "PINCITE_LLM_API_KEY": "mine"}


@pytest.mark.parametrize("name", ["openai:reader", "openai-chat:reader", "reader"])
def test_models_named_as_openais_are_those_of_the_own_server(name: str) -> None:
    settings = load_settings(environ={**OWN, "OPENAI_API_KEY": "theirs"}, files=[])
    spec = parse_setting(settings, name)
    assert (spec.base_url, spec.api_key, spec.name) == (OWN["PINCITE_LLM_BASE_URL"], "mine", "reader")


def test_no_key_of_openai_is_needed_for_it() -> None:
    assert parse_setting(load_settings(environ=OWN, files=[]), "openai:reader").api_key == "mine"


def test_an_address_of_openai_and_other_providers_keep_theirs() -> None:
    named = {**OWN, "OPENAI_BASE_URL": "https://api.openai.com/v1", "OPENAI_API_KEY": "theirs", "GROQ_API_KEY": "g"}
    settings = load_settings(environ=named, files=[])
    spec = parse_setting(settings, "openai:reader")
    assert (spec.base_url, spec.api_key) == ("https://api.openai.com/v1", "theirs")
    assert "groq.com" in parse_setting(settings, "groq:reader").base_url
