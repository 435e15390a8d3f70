"""The direct backend against a loopback web that means harm."""

import asyncio
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pincite.domain.errors import (
    BlockedAddress,
    DeadLink,
    DomainDenied,
    NetworkError,
    PinciteError,
    Timeout,
    TooLarge,
)
from pincite.fetch.limits import FetchLimits
from pincite.testing.web import StubRequest, StubWeb
from pincite.urls import UrlPolicy

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
SSRF = json.loads((Path(__file__).parents[2] / "conformance" / "data" / "ssrf_cases.json").read_text())["cases"]


def sends(*pieces: bytes, pause_s: float = 0.0, close: bool = False) -> Any:
    async def answer(request: StubRequest, writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            if pause_s:
                await asyncio.sleep(pause_s)
        if close:
            writer.close()

    return answer


async def reason_of(fetcher: Any, path: str, **fields: Any) -> str:
    try:
        await fetcher.get(path, **fields)
    except PinciteError as error:
        return error.reason
    return "ok"


async def test_a_page_becomes_a_snapshot(fetcher: Any, web: StubWeb) -> None:
    web.page("/a", "<p>Hello</p>", headers={"X-Robots-Tag": "noarchive", "Set-Cookie": "a=b", "ETag": '"1"'})
    snapshot = await fetcher.get("/a#part", prefer_language="de")
    assert (snapshot.status, snapshot.via, snapshot.body) == (200, "direct", b"<p>Hello</p>")
    assert snapshot.final_url == web.url("site.example", "/a")
    assert snapshot.usage_signals == ("noarchive",)
    assert "set-cookie" not in dict(snapshot.headers)
    sent = web.requests[-1]
    assert sent.target == "/a"
    assert sent.headers["host"] == f"site.example:{web.port}"
    assert sent.headers["accept-language"] == "de"
    assert sent.headers["user-agent"].startswith("Pincite/")
    assert "cookie" not in sent.headers
    await fetcher.get("/a")
    assert "cookie" not in web.requests[-1].headers


@pytest.mark.parametrize(
    ("path", "pieces", "expected"),
    [
        ("incomplete", [OK + b"Content-Length: 10\r\n\r\n12345"], "body_incomplete"),
        ("chunk", [OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nabc"], "body_incomplete"),
        ("plain", [OK + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nplain"], "body_corrupt"),
        ("dcb", [OK + b"Content-Encoding: dcb\r\nContent-Length: 1\r\n\r\nx"], "encoding_unsupported"),
        ("two", [OK + b"Content-Encoding: gzip, gzip\r\nContent-Length: 1\r\n\r\nx"], "encoding_stacked"),
        ("lie", [OK + b"Content-Length: 999999999999\r\n\r\nabc"], "decoded_too_large"),
        (
            "fields",
            [OK + b"".join(b"X-%d: %s\r\n" % (i, b"a" * 900) for i in range(2000)) + b"\r\n"],
            "headers_too_large",
        ),
        ("line", [OK + b"X: " + b"a" * 2_000_000 + b"\r\n\r\n"], "headers_too_large"),
        ("big", [OK + b"".join(b"X-%d: %s\r\n" % (i, b"a" * 900) for i in range(100)) + b"\r\n"], "headers_too_large"),
        ("garbage", [b"\x00\x01garbage\r\n\r\n"], "protocol_error"),
        ("cl-te", [OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nPOISON"], "protocol_error"),
        (
            "two-cl",
            [OK + b"Content-Length: 2\r\nContent-Length: 30\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n"],
            "protocol_error",
        ),
        ("101", [b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"], "protocol_error"),
        ("100", [b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000 + OK + b"Content-Length: 0\r\n\r\n"], "headers_too_large"),
        ("early", [b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + OK + b"Content-Length: 1\r\n\r\nx"], "ok"),
        ("empty", [b""], "disconnected"),
    ],
)
async def test_broken_answers(path: str, pieces: list[bytes], expected: str, fetcher: Any, web: StubWeb) -> None:
    web.raw(f"/{path}", sends(*pieces, close=True))
    assert await reason_of(fetcher, f"/{path}") == expected


async def test_trailers_are_bounded(fetcher: Any, web: StubWeb) -> None:
    trailers = b"".join(b"T%d: %s\r\n" % (i, b"a" * 900) for i in range(5000))
    web.raw("/t", sends(OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + trailers + b"\r\n", close=True))
    assert await reason_of(fetcher, "/t") in {"headers_too_large", "body_incomplete"}


async def test_left_over_bytes_never_answer_another_request(fetcher: Any, web: StubWeb) -> None:
    poison = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON"
    web.raw("/early", sends(OK + b"Content-Length: 2\r\n\r\nok" + poison))
    web.page("/next", "clean")
    assert (await fetcher.get("/early")).body == b"ok"
    assert (await fetcher.get("/next")).body == b"clean"


async def test_deadlines_end_slow_answers(make_fetcher: Callable[..., Any], web: StubWeb) -> None:
    web.raw("/slow-head", sends(b"HTTP/1.1 200 OK\r\n", *[b"X: y\r\n"] * 100, pause_s=0.05))
    web.raw("/slow-body", sends(OK + b"Content-Length: 1000\r\n\r\n", *[b"x"] * 100, pause_s=0.05))
    web.raw("/silent", sends(b"", pause_s=60))
    loop = asyncio.get_running_loop()
    for path, idle_s, deadline_s, expected in (
        ("/slow-head", 10.0, 0.3, "deadline_total"),
        ("/slow-body", 10.0, 0.3, "deadline_total"),
        ("/silent", 0.3, 10.0, "read_timeout"),
    ):
        fetcher = make_fetcher(limits=FetchLimits(idle_s=idle_s))
        started = loop.time()
        assert await reason_of(fetcher, path, deadline_s=deadline_s) == expected
        assert loop.time() - started < 5, "the whole answer takes longer"


async def test_a_body_that_crawls_is_left(make_fetcher: Callable[..., Any], web: StubWeb) -> None:
    fetcher = make_fetcher(limits=FetchLimits(min_speed_over_s=0.2, min_bytes_per_s=10_000))
    web.raw("/crawl", sends(OK + b"Content-Length: 1000\r\n\r\n", *[b"x"] * 100, pause_s=0.02))
    assert await reason_of(fetcher, "/crawl") == "too_slow"


async def test_bytes_that_unpack_to_nothing_are_bounded_too(make_fetcher: Callable[..., Any], web: StubWeb) -> None:
    fetcher = make_fetcher(limits=FetchLimits(html_max_bytes=100_000))
    empty = gzip.compress(b"") * 1_000
    web.raw("/empty", sends(OK + b"Content-Encoding: gzip\r\nConnection: close\r\n\r\n", *[empty] * 50, close=True))
    assert await reason_of(fetcher, "/empty") == "wire_too_large"


async def test_an_endless_body_is_cut_off(make_fetcher: Callable[..., Any], web: StubWeb) -> None:
    fetcher = make_fetcher(limits=FetchLimits(html_max_bytes=100_000))
    web.raw(
        "/endless", sends(OK + b"Transfer-Encoding: chunked\r\n\r\n", *[b"10000\r\n" + b"z" * 65536 + b"\r\n"] * 50)
    )
    with pytest.raises(TooLarge) as caught:
        await fetcher.get("/endless")
    assert caught.value.reason == "decoded_too_large"


HOP_CASES = [case for case in SSRF if case["category"] == "redirect"]


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in HOP_CASES])
async def test_redirect_cases(case: dict[str, Any], make_fetcher: Callable[..., Any], web: StubWeb) -> None:
    """Chains of the table, with https and the default port replaced by those of the loopback server."""
    config = case.get("config", {})
    policy = UrlPolicy(
        addresses=web.policy.addresses,
        ports=web.policy.ports,
        deny_hosts=tuple(config.get("deny_hosts", ())),
        allow_hosts=tuple(config.get("allow_hosts", ())),
    )
    fetcher = make_fetcher(policy=policy)

    def here(location: str) -> str:
        for host in ("start.test", "other.test", "third.test", "denied.test"):
            location = location.replace(f"https://{host}/", web.url(host, "/"))
        return location

    steps = iter(case["chain"])

    async def answer(request: StubRequest, writer: asyncio.StreamWriter) -> None:
        status, location = next(steps, (200, None))
        given = [location] if isinstance(location, str) else list(location or [])
        lines = [f"HTTP/1.1 {status} X", "Content-Length: 0"]
        lines += [
            f"Refresh: {one.removeprefix('refresh-header:')}" if one.startswith("refresh") else f"Location: {here(one)}"
            for one in given
        ]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")

    web.raw("/", answer)
    own = set(case.get("must_not_send", ()))
    reason = await reason_of(fetcher, "/", host="start.test", validators=tuple((name, "x") for name in own))
    if case["expected"] == "deny":
        assert reason == case["code"]
    else:
        assert reason == "ok"
    if case["expected"] == "stop":
        assert len(web.requests) == 1
    assert not web.internal_hits
    for number, request in enumerate(web.requests):
        assert own & set(request.headers) == (set() if number else own), "what is meant for one site stays with it"
    assert len(web.requests) > 1 or not own


async def test_redirects_can_be_switched_off(fetcher: Any, web: StubWeb) -> None:
    web.redirect("/from", "/to")
    snapshot = await fetcher.get("/from", allow_redirects=False)
    assert snapshot.status == 302
    assert dict(snapshot.headers)["location"] == "/to"
    web.page("/to", "x")
    followed = await fetcher.get("/from")
    assert followed.redirects == (web.url("site.example", "/to"),)


async def test_a_location_with_control_characters_is_refused(fetcher: Any, web: StubWeb) -> None:
    web.redirect("/from", "/t\to")
    assert await reason_of(fetcher, "/from") == "url_control_char"


DNS_CASES = [case for case in SSRF if case["enforce_at"] == "address_policy" and case["resolver"]]


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in DNS_CASES])
async def test_dns_cases(case: dict[str, Any], fetcher: Any, web: StubWeb) -> None:
    """Answers of the table; public ones stand for the loopback stand-in."""
    public = {"93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"}

    def stand_in(answer: Any) -> Any:
        if answer in (None, "timeout"):
            return ["timeout"] if answer else None
        return ["127.9.0.1" if one in public or one.startswith("93.184.") else one for one in answer]

    for host, rounds in case["resolver"].items():
        fetcher.resolver.table[host] = [stand_in(answer) for answer in rounds]
    web.page("/", "x")
    host = case["input"].split("//")[1].split("/")[0]
    reason = await reason_of(fetcher, "/", host=host)
    if case["expected"] == "deny":
        assert reason in {case["code"], "host_denied"}  # a denied name is refused before DNS is asked
        assert not web.connections
    else:
        assert reason == "ok"
    if case["expected"] == "allow_first_then_deny":
        await fetcher.client.aclose()
        fetcher.clock.advance(61)
        assert await reason_of(fetcher, "/", host=host) == case["code"]
    assert not web.internal_hits


async def test_literals_reach_only_what_is_open(fetcher: Any, web: StubWeb) -> None:
    fetcher.resolver.table["localhost"] = [["127.0.0.1"]]
    web.page("/", "x")
    for host in ("127.0.0.1", "2130706433", "[::1]", "[::ffff:127.0.0.1]", "localhost", "0.0.0.0"):
        with pytest.raises(BlockedAddress) as caught:
            await fetcher.get("/", host=host)
        assert "127.0.0.1" not in str(caught.value)
    assert (await fetcher.get("/", host="127.9.0.1")).body == b"x"
    assert not web.internal_hits


async def test_the_socket_refuses_what_the_resolver_let_through(fetcher: Any, web: StubWeb) -> None:
    async def lies(host: str, port: int) -> tuple[str, ...]:
        return ("127.0.0.1",)

    fetcher.vetted.addresses = lies
    assert await reason_of(fetcher, "/") == "address_not_public"
    assert not web.internal_hits


async def test_environment_proxies_are_ignored(fetcher: Any, web: StubWeb, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{web.port}")
    monkeypatch.setenv("NO_PROXY", "")
    web.page("/", "x")
    assert (await fetcher.get("/")).body == b"x"
    assert not web.internal_hits


async def test_failures_are_tried_again_and_then_told(fetcher: Any, web: StubWeb) -> None:
    web.page("/busy", "later", status=503)
    with pytest.raises(NetworkError) as caught:
        await fetcher.get("/busy")
    assert caught.value.reason == "http_503"
    assert web.count("/busy") == 4
    web.page("/gone", "x", status=404)
    with pytest.raises(DeadLink):
        await fetcher.get("/gone")
    assert web.count("/gone") == 1


@pytest.mark.parametrize(("asks", "asked"), [("3", 2), ("30", 1), ("soon", 1)])
async def test_a_short_wait_that_a_site_asks_for_is_waited_for_once(
    fetcher: Any, web: StubWeb, asks: str, asked: int
) -> None:
    web.page("/later", "x", status=429, headers={"Retry-After": asks})
    before = fetcher.clock.monotonic_s()
    assert await reason_of(fetcher, "/later") == "http_429"
    assert web.count("/later") == asked
    waited = fetcher.clock.monotonic_s() - before
    assert (3 <= waited < 6) if asked == 2 else waited < 1.5


async def test_a_failing_host_is_left_alone_for_a_while(fetcher: Any, web: StubWeb) -> None:
    web.page("/busy", "later", status=500)
    for _ in range(5):
        await reason_of(fetcher, "/busy")
    asked = web.count("/busy")
    assert await reason_of(fetcher, "/busy") == "breaker_open"
    assert web.count("/busy") == asked
    web.page("/busy", "fine")
    fetcher.clock.advance(31)
    assert await reason_of(fetcher, "/busy") == "ok"


async def test_refusals_do_not_open_the_breaker(fetcher: Any, web: StubWeb) -> None:
    web.page("/no", "x", status=403)
    for _ in range(8):
        assert await reason_of(fetcher, "/no") == "http_403"


async def test_one_page_a_second_and_a_retry_after(fetcher: Any, web: StubWeb) -> None:
    web.page("/a", "x")
    for _ in range(3):
        await fetcher.get("/a")
    assert fetcher.clock.monotonic_s() == pytest.approx(2.0, abs=0.01)
    web.page("/later", "x", status=429, headers={"Retry-After": "30"})
    assert await reason_of(fetcher, "/later") == "http_429"
    before = fetcher.clock.monotonic_s()
    await fetcher.get("/a")
    assert fetcher.clock.monotonic_s() - before >= 29.9


async def test_domain_lists_of_the_request_hold_at_every_hop(fetcher: Any, web: StubWeb) -> None:
    web.redirect("/from", web.url("other.example", "/to"))
    with pytest.raises(DomainDenied):
        await fetcher.get("/from", exclude_domains=("other.example",))
    with pytest.raises(DomainDenied):
        await fetcher.get("/from", include_domains=("site.example",))
    assert web.count("/to") == 0


async def test_nothing_is_left_open(make_fetcher: Callable[..., Any], web: StubWeb) -> None:
    fetcher = make_fetcher()
    web.raw("/silent", sends(b"", pause_s=5))
    tasks = len(asyncio.all_tasks())
    with pytest.raises(Timeout):
        await fetcher.get("/silent", deadline_s=0.1)
    await fetcher.client.aclose()
    await asyncio.sleep(0.05)
    assert len(asyncio.all_tasks()) - tasks <= 1  # the server's own handler may still sleep


async def test_errors_hold_no_address_and_no_secret(fetcher: Any, web: StubWeb) -> None:
    fetcher.resolver.table["inside.example"] = [["10.11.12.13"]]
    for path in (web.url("inside.example", "/a?api_key=c4n4ry"), web.url("site.example", "/gone?token=c4n4ry")):
        with pytest.raises(PinciteError) as caught:
            await fetcher.get(path)
        told = json.dumps([caught.value.as_dict(), caught.value.context])
        assert "c4n4ry" not in told
        assert "10.11.12.13" not in told
