"""A request's own lists of domains hold for what is cached, through `POST /v1/fetch` and from Python."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pincite.domain.errors import DomainDenied
from pincite.domain.fetch import FetchRequest
from pincite.engine import Engine
from pincite.testing.web import PUBLIC_NETWORK, PUBLIC_STAND_IN, StubWeb

PAGE = "<html><body><h1>Locks</h1><p>The lock manager keeps one row for each lock.</p></body></html>"


def settings_for(web: StubWeb) -> dict[str, Any]:
    hosts = ("site.example", "moved.example")
    return {
        "allow_networks": (PUBLIC_NETWORK,),
        "allow_ports": (web.port,),
        "resolve": tuple(f"{host}:{web.port}:{PUBLIC_STAND_IN}" for host in hosts),
        "requests_per_s_per_host": 50,
    }


@pytest.mark.parametrize("limits", [{"exclude_domains": ["site.example"]}, {"include_domains": ["other.example"]}])
async def test_over_http(tmp_path: Path, opened: Callable[..., Any], limits: dict[str, Any]) -> None:
    async with StubWeb() as web:
        web.page("/a", PAGE)
        url = web.url("site.example", "/a")
        async with opened(tmp_path, settings=settings_for(web)) as client:
            assert (await client.post("/v1/fetch", json={"url": url})).status_code == 200
            again = await client.post("/v1/fetch", json={"url": url})
            assert again.json()["info"]["cache"] == "hit"
            refused = await client.post("/v1/fetch", json={"url": url, **limits})
            assert (refused.status_code, refused.json()["code"]) == (403, "DOMAIN_DENIED"), refused.text
        assert web.count("/a") == 1


async def test_words_that_people_use_are_taken(tmp_path: Path, opened: Callable[..., Any]) -> None:
    async with StubWeb() as web:
        web.page("/a", PAGE.replace("lock manager", '<b>lock</b> <a href="/b">manager</a>'))
        (tmp_path / "library").mkdir()
        settings = {**settings_for(web), "source": f"local:{tmp_path / 'library'}"}
        async with opened(tmp_path, settings=settings) as client:
            asked = {"url": web.url("site.example", "/a"), "output_format": "text", "include_links": True}
            page = (await client.post("/v1/fetch", json=asked)).json()
            assert "**" not in page["content"]
            assert [link["text"] for link in page["links"]] == ["manager"]
            searched = {"query": "locks", "search_depth": "basic", "time_range": "month"}
            assert (await client.post("/v1/search", json=searched)).status_code == 200
            twice = await client.post("/v1/fetch", json={**asked, "format": "markdown"})
            assert twice.status_code == 422


async def test_from_python_and_where_a_redirect_led(tmp_path: Path) -> None:
    async with StubWeb() as web:
        web.page("/a", PAGE)
        web.redirect("/old", web.url("moved.example", "/a"))
        async with Engine.from_settings(home=tmp_path, **settings_for(web)) as engine:
            request = FetchRequest(web.url("site.example", "/old"))
            assert (await engine.fetch(request)).final_url == web.url("moved.example", "/a")
            assert (await engine.fetch(request)).info.cache == "hit"
            for denied in ("site.example", "moved.example"):
                with pytest.raises(DomainDenied):
                    await engine.fetch(replace(request, exclude_domains=(denied,)))
            both = replace(request, include_domains=("site.example", "moved.example"))
            assert (await engine.fetch(both)).info.cache == "hit"
