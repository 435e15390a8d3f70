from pathlib import Path

import pytest

from pincite.domain.errors import InvalidSetting
from pincite.settings import PROFILES, Settings, environment_names, load_settings


def test_argument_beats_environment_beats_file_beats_profile(tmp_path: Path) -> None:
    file = tmp_path / "pincite.toml"
    file.write_text("max_pages = 11\nmax_rounds = 4\nprofile = 'quick'\n")
    settings = load_settings({"max_rounds": 5}, environ={"PINCITE_MAX_PAGES": "12"}, files=[file])
    assert (settings.max_rounds, settings.max_pages, settings.max_searches) == (5, 12, 6)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_loads(profile: str) -> None:
    assert load_settings({"profile": profile}, environ={}, files=[]).profile == profile


def test_the_ecosystems_names_are_read() -> None:
    settings = load_settings(environ={"TAVILY_API_KEY": "k1", "SEARXNG_URL": "http://127.0.0.1:8888"}, files=[])
    assert settings.tavily_api_key is not None
    assert settings.tavily_api_key.get_secret_value() == "k1"
    assert settings.searxng_base_url == "http://127.0.0.1:8888"
    assert environment_names("tavily_api_key") == ("PINCITE_TAVILY_API_KEY", "TAVILY_API_KEY")


def test_lists_come_by_comma() -> None:
    settings = load_settings(environ={"PINCITE_ALLOW_NETWORKS": "10.0.0.0/8, 127.0.0.0/8"}, files=[])
    assert settings.allow_networks == ("10.0.0.0/8", "127.0.0.0/8")


@pytest.mark.parametrize(
    ("environ", "text"),
    [({"PINCITE_MAX_PAGES": "many"}, "max_pages (environment)"), ({"PINCITE_PROFILE": "huge"}, "no profile 'huge'")],
)
def test_a_bad_value_names_the_setting_and_its_origin(environ: dict[str, str], text: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        load_settings(environ=environ, files=[])
    assert text in str(caught.value)


def test_an_unknown_name_in_the_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "pincite.toml"
    file.write_text("max_pagez = 3\n")
    with pytest.raises(InvalidSetting, match="max_pagez"):
        load_settings(environ={}, files=[file])


def test_no_secret_shows() -> None:
    settings = load_settings(environ={"TAVILY_API_KEY": "canary-9f2"}, files=[])
    assert "canary-9f2" not in repr(settings)
    assert "canary-9f2" not in settings.model_dump_json()
    with pytest.raises(InvalidSetting) as caught:
        load_settings({"max_pages": "canary-9f2"}, environ={}, files=[])
    assert "canary-9f2" not in str(caught.value)


def test_every_setting_says_what_it_is() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []
