"""`pincite fetch` against a loopback web: a page, refusals by policy, failures, and what is never printed."""

import json
import socket
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.e2e.commands import Ended, Pincite

from pincite.testing.web import PUBLIC_NETWORK, PUBLIC_STAND_IN, StubWeb

CASES = json.loads((Path(__file__).parents[1] / "conformance" / "data" / "ssrf_cases.json").read_text())["cases"]
TEXT = "The lock manager keeps one row for each lock that a transaction holds or waits for. " * 6
PAGE = (
    "<html lang=en><head><title>Locks</title><meta property=og:site_name content=Handbook></head>"
    f"<body><main><h1>Locks</h1><p>{TEXT}</p></main></body></html>"
)
CANARY = "c4n4ry0c4n4ry1c4n4ry2"


def one_of_each() -> list[dict[str, Any]]:
    """The first pure case of every code and category, at least ten."""
    chosen: dict[tuple[str, str], dict[str, Any]] = {}
    for case in CASES:
        pure = case["enforce_at"] in {"url_policy", "address_policy"} and not case["resolver"]
        if pure and case["expected"] == "deny" and case["input"].strip() and "\x00" not in case["input"]:
            chosen.setdefault((case["category"], case["code"]), case)
    return list(chosen.values())


REFUSED = one_of_each()


@pytest.fixture
async def web() -> AsyncIterator[StubWeb]:
    async with StubWeb() as running:
        running.page("/a", PAGE)
        running.page("/robots.txt", "user-agent: Pincite\ndisallow: /private\n", content_type="text/plain")
        running.page("/private", PAGE)
        running.page("/gone", "x", status=404)
        running.redirect("/inside", f"http://127.0.0.1:{running.port}/")
        yield running


async def run(pincite: Pincite, web: StubWeb, *arguments: str) -> Ended:
    opened = {"PINCITE_ALLOW_NETWORKS": PUBLIC_NETWORK, "PINCITE_ALLOW_PORTS": str(web.port)}
    resolve = f"site.example:{web.port}:{PUBLIC_STAND_IN}"
    return await anyio.to_thread.run_sync(partial(pincite, "fetch", *arguments, "--resolve", resolve, environ=opened))


async def test_a_page_is_printed_with_its_header(pincite: Pincite, web: StubWeb) -> None:
    ended = await run(pincite, web, web.url("site.example", "/a"))
    assert ended.code == 0, ended.err
    assert ended.out.startswith("---\ntitle: Locks\n")
    assert f"url: {web.url('site.example', '/a')}" in ended.out
    assert "The lock manager keeps one row" in ended.out
    again = await run(pincite, web, web.url("site.example", "/a"), "--json")
    assert json.loads(again.out)["info"]["cache"] == "hit"
    assert web.count("/a") == 1
    fresh = await run(pincite, web, web.url("site.example", "/a"), "--json", "--force-refresh")
    assert json.loads(fresh.out)["status"] == 200
    assert web.count("/a") == 2


async def test_lists_of_a_request_hold_for_cached_pages_too(pincite: Pincite, web: StubWeb) -> None:
    url = web.url("site.example", "/a")
    assert (await run(pincite, web, url)).code == 0
    for limits in (("--exclude-domain", "site.example"), ("--include-domain", "other.example")):
        ended = await run(pincite, web, url, *limits, "--json")
        assert (ended.code, ended.json["error"]["code"]) == (3, "DOMAIN_DENIED")
    assert (await run(pincite, web, url, "--include-domain", "site.example")).code == 0
    assert web.count("/a") == 1


async def test_a_site_that_can_not_be_reached_is_told_as_that(pincite: Pincite) -> None:
    with socket.socket() as free:
        free.bind((PUBLIC_STAND_IN, 0))
        closed = free.getsockname()[1]
    opened = {"PINCITE_ALLOW_NETWORKS": PUBLIC_NETWORK, "PINCITE_ALLOW_PORTS": str(closed)}
    resolve = f"site.example:{closed}:{PUBLIC_STAND_IN}"
    asked = ("fetch", f"http://site.example:{closed}/a", "--json", "--resolve", resolve)
    ended = await anyio.to_thread.run_sync(partial(pincite, *asked, environ=opened))
    error = ended.json["error"]
    assert (error["code"], error["reason"], ended.code) == ("NETWORK_ERROR", "connect_failed", 4), error


async def test_failures_have_their_code_and_exit(pincite: Pincite, web: StubWeb) -> None:
    for path, code, reason, exit_code in (
        ("/private", "ROBOTS_DISALLOWED", "robots_disallowed", 3),
        ("/gone", "DEAD_LINK", "http_404", 4),
        ("/inside", "BLOCKED_ADDRESS", "address_not_public", 3),
    ):
        ended = await run(pincite, web, web.url("site.example", path), "--json")
        error = ended.json["error"]
        assert (error["code"], error["reason"], ended.code) == (code, reason, exit_code)
    assert web.count("/private") == 0
    assert not web.internal_hits


async def test_no_secret_of_a_url_is_printed_on_failure(pincite: Pincite, web: StubWeb) -> None:
    for path in (f"/gone?api_key={CANARY}", f"/inside?X-Amz-Signature={CANARY}", f"/private?token={CANARY}"):
        for arguments in ((), ("--json",)):
            ended = await run(pincite, web, web.url("site.example", path), *arguments)
            assert ended.code in {3, 4}
            assert CANARY not in ended.out + ended.err
    assert any(CANARY in request.target for request in web.requests)  # fetched unchanged


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: str(case["id"]))
def test_cases_through_the_command(case: dict[str, Any], pincite: Pincite) -> None:
    ended = pincite("fetch", "--json", "--", case["input"])
    assert ended.json["error"]["reason"] in case["code"].split("_or_")
    assert ended.code in {2, 3}


def test_enough_cases_go_through_the_command() -> None:
    assert len(REFUSED) >= 10
