import shlex
from pathlib import Path
from typing import get_origin

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
    given = {"PINCITE_ALLOW_PORTS": "[8081, 8082]", "PINCITE_RESOLVE": "[::1]:80:127.0.0.1"}
    settings = load_settings(environ=given, files=[])
    assert (settings.allow_ports, settings.resolve) == ((8081, 8082), ("[::1]:80:127.0.0.1",))


TABLES: dict[str, tuple[str, str, object]] = {
    "search_limits": (
        '{"tavily": "50/1,1000/60", "exa": "5/1"}',
        "tavily=50/1,1000/60, exa=5/1",
        {"tavily": "50/1,1000/60", "exa": "5/1"},
    ),
    "search_weights": ('{"brave": 2, "exa#2": 0.5}', "brave=2,exa#2=0.5", {"brave": 2.0, "exa#2": 0.5}),
    "search_routes": (
        '{"error": ["brave", "tavily"], "research": ["exa"]}',
        "error=brave,tavily,research=exa",
        {"error": ("brave", "tavily"), "research": ("exa",)},
    ),
    "search_contracts": (
        '{"exa": {"storable": true, "longest_cache_s": 3600, "attribution": "Exa"}}',
        "exa.storable=true,exa.longest_cache_s=3600,exa.attribution=Exa",
        {"exa": {"storable": True, "longest_cache_s": 3600, "attribution": "Exa"}},
    ),
    "domain_quality": (
        '{"postgresql.org": 2, "mirror.example": -1}',
        "postgresql.org=2,mirror.example=-1",
        {"postgresql.org": 2.0, "mirror.example": -1.0},
    ),
    "snapshot_body_domains": ('{"news.example": "excerpts"}', "news.example=excerpts", {"news.example": "excerpts"}),
    "llm_roles": ('{"writer": "openai:gpt-5"}', "writer=openai:gpt-5", {"writer": "openai:gpt-5"}),
    "llm_prices": ('{"my-model": "0.15/0.60"}', "my-model=0.15/0.60", {"my-model": "0.15/0.60"}),
}


@pytest.mark.parametrize("name", sorted(TABLES))
def test_a_table_comes_from_the_environment_as_json_or_pairs(name: str) -> None:
    *texts, expected = TABLES[name]
    for text in texts:
        settings = load_settings(environ={f"PINCITE_{name.upper()}": str(text)}, files=[])
        assert getattr(settings, name) == expected


def test_every_setting_can_come_from_the_environment() -> None:
    """Lists and tables, too; what is one value pydantic reads from a text itself."""
    for name, field in Settings.model_fields.items():
        kind = get_origin(field.annotation)
        text = "{}" if kind is dict else "[]" if kind is tuple else None
        if text is not None:
            given = getattr(load_settings(environ={f"PINCITE_{name.upper()}": text}, files=[]), name)
            assert not given, f"{name}: {given}"


def test_the_documented_variables_load() -> None:
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text(encoding="utf-8")
    words = shlex.split(page.partition("```sh\n")[2].partition("```")[0], comments=True)
    environ = dict(word.split("=", maxsplit=1) for word in words)
    settings = load_settings(environ=environ, files=[])
    assert len(environ) == 7
    assert settings.search_limits == {"tavily": "50/1,1000/60", "exa": "5/1"}
    assert settings.search_contracts == {"exa": {"storable": True, "longest_cache_s": 3600}}


def test_a_table_that_is_none_names_the_setting() -> None:
    for text, said in (("{x", "not JSON"), ("fast", "name=value"), ("exa=quick", "valid number")):
        with pytest.raises(InvalidSetting, match=r"search_weights.* \(environment\)") as caught:
            load_settings(environ={"PINCITE_SEARCH_WEIGHTS": text}, files=[])
        assert said in str(caught.value)


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
    with pytest.raises(InvalidSetting) as caught:
        load_settings(environ={}, files=[file])
    assert str(caught.value) == f"there is no setting 'max_pagez' ({file})"
    assert caught.value.hint == "Did you mean 'max_pages'?"
    with pytest.raises(InvalidSetting) as caught:
        load_settings({"zzz": 1}, environ={}, files=[])
    assert (str(caught.value), caught.value.hint) == (
        "there is no setting 'zzz' (argument)",
        "docs/settings.md lists them all.",
    )


def test_a_bad_value_in_a_file_names_the_file_that_is_in_force_and_what_the_setting_is(tmp_path: Path) -> None:
    files = [tmp_path / "user.toml", tmp_path / "folder.toml"]
    files[0].write_text("max_pages = 3\n")
    files[1].write_text('max_pages = "many"\n')
    with pytest.raises(InvalidSetting) as caught:
        load_settings(environ={}, files=files)
    assert str(caught.value).startswith(f"setting max_pages ({files[1]}): ")
    assert caught.value.hint == "max_pages: Pages a run reads at most."
    files[1].write_text("max_searches = 2\n")
    assert load_settings(environ={}, files=files).max_pages == 3


def test_no_secret_shows() -> None:
    settings = load_settings(environ={"TAVILY_API_KEY": "canary-9f2"}, files=[])
    assert "canary-9f2" not in repr(settings)
    assert "canary-9f2" not in settings.model_dump_json()
    with pytest.raises(InvalidSetting) as caught:
        load_settings({"max_pages": "canary-9f2"}, environ={}, files=[])
    assert "canary-9f2" not in str(caught.value)


def test_every_setting_says_what_it_is() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []
