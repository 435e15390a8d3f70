"""Texts that a database refuses (NUL, halves of surrogate pairs), in what people ask and pages say."""

from pathlib import Path
from typing import Any

import pytest

from pincite.domain.errors import InvalidInput
from pincite.engine import Engine, RunOptions
from pincite.settings import Settings, load_settings
from pincite.testing.web import html, write_warc


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    text = "The bridge\0 of Ostrow was opened in 1931. It carries two railway tracks over the river Warta."
    page = html("Bridge\0 of Ostrow &#0; &#xD800;", text)
    write_warc(tmp_path / "pages.warc.gz", {"https://bridges.example/ostrow?a=%00": page})
    given: dict[str, Any] = {
        "home": tmp_path / "home",
        "source": f"local:{tmp_path / 'pages.warc.gz'}",
        "scope": f"odd {tmp_path}",
    }
    if request.param == "postgresql":
        given["database_url"] = request.getfixturevalue("postgresql_url")
    return load_settings(given, environ={}, files=())


@pytest.mark.parametrize("odd", ["\0", "\ud800", "\U0001f600"], ids=["nul", "surrogate", "emoji"])
async def test_a_query_and_a_page_of_odd_characters(settings: Settings, odd: str) -> None:
    async with Engine(settings) as engine:
        report = await engine.research("When was the bridge of Ostrow opened?")
        assert "1931" in report.markdown
        await engine.search(f"bridge{odd} Ostrow")
    async with Engine(settings) as engine:
        assert {call.tool for call in await engine.log(100)} >= {"research", "search"}


async def test_half_a_character_as_a_project_is_a_typed_error(settings: Settings) -> None:
    async with Engine(settings) as engine:
        with pytest.raises(InvalidInput) as caught:
            await engine.start("When was the bridge of Ostrow opened?", run_options=RunOptions(project="a \ud800"))
        assert caught.value.reason == "not_text"
        if settings.database_url is not None:
            with pytest.raises(InvalidInput):
                await engine.start("When was the bridge of Ostrow opened?", run_options=RunOptions(project="a\0b"))
