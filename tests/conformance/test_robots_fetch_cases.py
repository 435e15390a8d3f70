"""robots.txt: what each way of answering for it comes to, over a loopback server."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.fakes.storage import MemoryCache

from pincite.domain.errors import BlockedAddress, RobotsDisallowed
from pincite.domain.fetch import FetchRequest
from pincite.fetch.client import GuardedClient
from pincite.fetch.limits import ROBOTS_BYTES_MAX
from pincite.fetch.resolver import VettedResolver
from pincite.fetch.robots_gate import Decision, RobotsGate, RobotsMemory, RobotsMode
from pincite.runtime.system import SystemClock
from pincite.testing.clock import FrozenClock
from pincite.testing.web import StubRequest, StubResolver, StubWeb
from pincite.urls import parse_url

CASES = json.loads((Path(__file__).parent / "data" / "robots_cases.json").read_text())["cases"]
FETCH = [pytest.param(case, id=case["name"]) for case in CASES if case["kind"] == "fetch"]
LAST_RULE = b"disallow: /last\n"
# A request without lists of its own, that nobody typed.
ANY = FetchRequest("https://site.example/")


@pytest.fixture
async def web() -> AsyncIterator[StubWeb]:
    async with StubWeb() as running:
        yield running


def generated(size: int) -> bytes:
    line = b"disallow: /p\n"
    head = b"user-agent: *\n"
    filled = head + line * ((size - len(head) - len(LAST_RULE)) // len(line))
    return filled + b"#" * (size - len(filled) - len(LAST_RULE) - 1) + b"\n" + LAST_RULE


def answers(case: dict[str, Any], web: StubWeb) -> Any:
    """The case's responses in order, then the last one again."""
    responses = list(case["responses"])

    async def answer(request: StubRequest, writer: asyncio.StreamWriter) -> None:
        one = responses.pop(0) if len(responses) > 1 else responses[0]
        kind, value = one if isinstance(one, list) else (one, "")
        extra = "".join(f"{name}: {text}\r\n" for name, text in case.get("headers", {}).items()).encode()
        if kind == "gen":
            body = generated(int(value))
        elif kind == "latin1":
            body = value.encode("latin-1")
        elif kind == "utf16":
            body = value.encode("utf-16")
        elif kind == "gen_endless":
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            chunk = b"user-agent: *\ndisallow: /p\n" + b"#" * 65_000 + b"\n"
            for _ in range(100):
                writer.write(b"%x\r\n" % len(chunk) + chunk + b"\r\n")
                await writer.drain()
            return
        elif kind == "incomplete":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nuser-agent: *\nallow: /")
            writer.close()
            return
        elif kind == "read_timeout":
            await asyncio.sleep(5)
            return
        elif kind in {"reset", "tls_error"}:
            writer.transport.abort()
            return
        elif 300 <= kind < 400:
            location = value.replace("http://127.0.0.1/", f"http://127.0.0.1:{web.port}/")
            writer.write(f"HTTP/1.1 {kind} X\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode())
            return
        else:
            writer.write(b"HTTP/1.1 %d X\r\n%sContent-Length: %d\r\n\r\n" % (kind, extra, len(value)) + value.encode())
            return
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    for path in ("/robots.txt", "/", "/r.txt", *(f"/r{n}" for n in range(7))):
        web.raw(path, answer)
    return responses


class Gate:
    """A gate over the loopback web with its clock and resolver at hand."""

    def __init__(self, web: StubWeb, **options: Any) -> None:
        from pincite.fetch.limits import FetchLimits

        self.clock, self.resolver = options.pop("clock", None) or FrozenClock(), StubResolver()
        self.client = GuardedClient(
            web.policy,
            VettedResolver(self.resolver, web.policy, self.clock),
            SystemClock(),
            limits=FetchLimits(idle_s=1.0, connect_s=1.0),
        )
        self.gate = RobotsGate(self.client, web.policy, self.clock, **options)


@pytest.fixture
async def gate(web: StubWeb) -> AsyncIterator[Gate]:
    made = Gate(web)
    yield made
    await made.client.aclose()


@pytest.mark.parametrize("case", FETCH)
async def test_decision(case: dict[str, Any], gate: Gate, web: StubWeb) -> None:
    page = parse_url(web.url("site.example", "/p"))
    first = case["responses"][0]
    if first == "dns_error":
        gate.resolver.table["site.example"] = [None]
    if first == "connect_timeout":
        page = parse_url("http://127.9.0.9:8888/p")  # nobody listens there
    if case["decision"] == "error":
        gate.resolver.table["site.example"] = [["10.0.0.1"]]
        with pytest.raises(BlockedAddress):
            await gate.gate.site(page)
        return
    if "stale" in case:
        web.page("/robots.txt", case["stale"], content_type="text/plain")
        await gate.gate.site(page)
        gate.clock.advance(86_400.0 * case["outage_days"])
    answers(case, web)
    site = await gate.gate.site(page)
    assert site.decision == case["decision"]
    assert not web.internal_hits
    if case["decision"] == "apply_rules":
        assert not site.rules.allows(web.url("site.example", "/p"), "Pincite") or "latin-1" in case["name"]
    if first[0] == "gen":
        whole = first[1] <= ROBOTS_BYTES_MAX
        assert site.rules.allows(web.url("site.example", "/last"), "Pincite") is not whole


@pytest.mark.parametrize(
    "case", [case for case in CASES if "strict_decision" in case], ids=lambda case: str(case["name"])
)
async def test_strict_auth(case: dict[str, Any], web: StubWeb) -> None:
    strict = Gate(web, strict_auth=True)
    answers(case, web)
    site = await strict.gate.site(parse_url(web.url("site.example", "/p")))
    assert site.decision == case["strict_decision"]
    await strict.client.aclose()


async def test_a_hundred_pages_ask_once_per_origin(gate: Gate, web: StubWeb) -> None:
    web.page("/robots.txt", "user-agent: *\ndisallow: /private\n", content_type="text/plain")
    refused = 0

    async def one(n: int) -> None:
        nonlocal refused
        try:
            await gate.gate.admit(web.url("site.example", f"/{'private' if n % 2 else 'open'}/{n}"), ANY)
        except RobotsDisallowed:
            refused += 1

    async with anyio.create_task_group() as group:
        for n in range(100):
            group.start_soon(one, n)
    assert web.count("/robots.txt") == 1
    assert refused == 50
    await gate.gate.admit(web.url("www.site.example", "/open"), ANY)
    assert web.count("/robots.txt") == 2
    gate.clock.advance(86_401)
    await gate.gate.admit(web.url("site.example", "/open"), ANY)
    assert web.count("/robots.txt") == 3


async def test_usage_signals_are_obeyed_unless_told_otherwise(gate: Gate, web: StubWeb) -> None:
    web.page("/robots.txt", "user-agent: *\ncontent-signal: ai-input=no\nallow: /\n", content_type="text/plain")
    with pytest.raises(RobotsDisallowed) as caught:
        await gate.gate.admit(web.url("site.example", "/a"), ANY)
    assert caught.value.reason == "ai_input_no"
    lenient = Gate(web, obey_ai_input=False)
    admission = await lenient.gate.admit(web.url("site.example", "/a"), ANY)
    assert admission.signals == ("ai-input=no",)
    await lenient.client.aclose()


async def test_modes_are_recorded(web: StubWeb) -> None:
    web.page("/robots.txt", "user-agent: *\ndisallow: /\n", content_type="text/plain")
    for mode in (RobotsMode.OFF, RobotsMode.USER_TRIGGERED):
        relaxed, url = Gate(web, mode=mode), web.url("site.example", "/a")
        assert (await relaxed.gate.admit(url, FetchRequest(url, user_triggered=True))).robots == mode.value
        await relaxed.client.aclose()
    assert web.count("/robots.txt") == 0


async def test_only_what_a_person_typed_is_spared(web: StubWeb) -> None:
    web.page("/robots.txt", "user-agent: *\ndisallow: /\n", content_type="text/plain")
    relaxed = Gate(web, mode=RobotsMode.USER_TRIGGERED)
    typed, other = web.url("site.example", "/a"), web.url("other.example", "/a")
    assert (
        await relaxed.gate.admit(web.url("site.example", "/b"), FetchRequest(typed, user_triggered=True))
    ).robots == "user_triggered"
    for url, request in ((typed, FetchRequest(typed)), (other, FetchRequest(typed, user_triggered=True))):
        with pytest.raises(RobotsDisallowed):
            await relaxed.gate.admit(url, request)
    await relaxed.client.aclose()


async def test_rules_are_kept_between_processes(web: StubWeb) -> None:
    web.page("/robots.txt", "user-agent: *\ndisallow: /private\n", content_type="text/plain")
    clock = FrozenClock()
    cache = MemoryCache(clock)

    async def told(path: str) -> str:
        process = Gate(web, memory=RobotsMemory(cache, clock), clock=clock)
        try:
            return (await process.gate.admit(web.url("site.example", path), ANY)).robots
        except RobotsDisallowed as error:
            return error.reason
        finally:
            await process.client.aclose()

    assert [await told("/open"), await told("/open"), await told("/private")] == ["allowed"] * 2 + ["robots_disallowed"]
    assert web.count("/robots.txt") == 1
    clock.advance(86_401)  # a day later it is asked again; what it said applies while it can't be
    web.page("/robots.txt", "x", status=503)
    assert [await told("/open"), await told("/private")] == ["allowed", "robots_disallowed"]
    assert web.count("/robots.txt") >= 2
    clock.advance(60 * 86_400)
    assert await told("/open") == "robots_unreachable"
    web.page("/robots.txt", "", content_type="text/plain")
    assert await told("/open") == "no_rules"  # being unreachable is not kept


async def test_an_unreachable_robots_closes_the_site_for_now(gate: Gate, web: StubWeb) -> None:
    web.page("/robots.txt", "x", status=503, headers={"Retry-After": "60"})
    with pytest.raises(RobotsDisallowed) as caught:
        await gate.gate.admit(web.url("site.example", "/a"), ANY)
    assert caught.value.reason == "robots_unreachable"
    web.page("/robots.txt", "", content_type="text/plain")
    gate.clock.advance(61)
    assert (await gate.gate.admit(web.url("site.example", "/a"), ANY)).robots == "no_rules"
    assert (await gate.gate.site(parse_url(web.url("site.example", "/a")))).decision is Decision.ALLOW_ALL
