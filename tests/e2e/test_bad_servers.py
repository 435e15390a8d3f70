"""Servers that break, lie or mislead: one typed error each, recorded with its reason, nothing left open."""

import asyncio
import gc
import gzip
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from pincite import errors
from pincite.domain.events import Event, EventType
from pincite.domain.fetch import FetchRequest
from pincite.engine import Engine
from pincite.settings import load_settings
from pincite.testing.web import PUBLIC_NETWORK, PUBLIC_STAND_IN, StubRequest, StubWeb

FACT = "The Halden lighthouse is 31 metres tall and was first lit in 1888."
TEXT = f"<html lang=en><title>Halden</title><main><h1>Halden</h1><p>{FACT} {'Nobody lives there. ' * 40}</p></main>"
BODY = TEXT.encode()
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
GZIP = b"Content-Encoding: gzip\r\n\r\n"
HEADERS = b"".join(b"X-%d: y\r\n" % n for n in range(10_000))

BAD: dict[str, tuple[bytes, str, str]] = {
    "dies in mid-body": (OK + b"Content-Length: 9000\r\n\r\n" + BODY[:200], "NETWORK_ERROR", "body_incomplete"),
    "dies in mid-chunk": (OK + b"Transfer-Encoding: chunked\r\n\r\nfff\r\nabc", "NETWORK_ERROR", "body_incomplete"),
    "dies in mid-gzip": (
        OK + b"Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03",
        "NETWORK_ERROR",
        "body_incomplete",
    ),
    "announces too much": (OK + b"Content-Length: 99999999999\r\n\r\nabc", "TOO_LARGE", "decoded_too_large"),
    "a part of the page": (
        b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-99/9999\r\n\r\n" + BODY[:400],
        "NETWORK_ERROR",
        "body_incomplete",
    ),
    "several choices": (b"HTTP/1.1 300 Multiple Choices\r\nContent-Length: 2\r\n\r\nok", "NETWORK_ERROR", "http_300"),
    "not modified, unasked": (b"HTTP/1.1 304 Not Modified\r\n\r\n", "NETWORK_ERROR", "http_304"),
    "use a proxy": (b"HTTP/1.1 305 Use Proxy\r\nLocation: http://127.0.0.1/\r\n\r\n", "NETWORK_ERROR", "http_305"),
    "a redirect to nowhere": (b"HTTP/1.1 302 Found\r\n\r\n", "NETWORK_ERROR", "redirect_no_location"),
    "a status of nobody": (b"HTTP/1.1 999 Denied\r\nContent-Length: 0\r\n\r\n", "PAGE_BLOCKED", "http_999"),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", "EMPTY_CONTENT", "empty_body"),
    "gzip that is none": (OK + b"Content-Encoding: gzip\r\n\r\n" + BODY, "NETWORK_ERROR", "body_corrupt"),
    "gzip twice": (OK + b"Content-Encoding: gzip, gzip\r\n\r\nx", "UNSUPPORTED_CONTENT_TYPE", "encoding_stacked"),
    "a coding of nobody": (
        OK + b"Content-Encoding: x\r\n\r\nx",
        "UNSUPPORTED_CONTENT_TYPE",
        "encoding_unsupported",
    ),
    "entities in UTF-16": (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\n\r\n"
        + '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "b">]><a>&b;</a>'.encode("utf-16"),
        "PARSE_ERROR",
        "xml_entities",
    ),
    "says nothing": (b"", "NETWORK_ERROR", "disconnected"),
    "speaks no HTTP": (b"SSH-2.0-OpenSSH_9\r\n", "NETWORK_ERROR", "protocol_error"),
    "10,000 headers": (OK + HEADERS + b"\r\n" + BODY, "TOO_LARGE", "headers_too_large"),
    "two lengths": (OK + b"Content-Length: 2\r\nContent-Length: 30\r\n\r\nok", "NETWORK_ERROR", "protocol_error"),
    "a picture as HTML": (OK + b"\r\n\x89PNG\r\n\x1a\n" + b"\x00\x01" * 400, "UNSUPPORTED_CONTENT_TYPE", "binary"),
    "an empty page": (OK + b"Content-Length: 0\r\n\r\n", "EMPTY_CONTENT", "empty_body"),
    "an error page as 200": (
        OK + b"\r\n<html><title>404 - Page not found</title><p>We could not find it.",
        "DEAD_LINK",
        "soft_404",
    ),
    "a challenge as 200": (
        OK + b"\r\n<html><title>Just a moment...</title><noscript>Enable JavaScript</noscript>",
        "PAGE_BLOCKED",
        "challenge",
    ),
    "a broken PDF": (OK.replace(b"text/html", b"application/pdf") + b"\r\n%PDF-1.7 x", "PARSE_ERROR", "pdf_unreadable"),
    "a broken archive": (OK + b"\r\nPK\x03\x04 nothing", "UNSUPPORTED_CONTENT_TYPE", "binary"),
}
LIES: dict[str, bytes] = {
    "a wrong charset": b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-16\r\n\r\n" + BODY,
    "a charset of nobody": b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=klingon\r\n\r\n" + BODY,
    "PDF that is HTML": b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n" + BODY,
    "a picture that is HTML": b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n" + BODY,
    "HTML about PDF": OK + b"\r\n<p>It starts with %PDF-1.7.</p>" + BODY,
    "gzip in two members": OK
    + b"Content-Encoding: gzip\r\n\r\n"
    + gzip.compress(BODY[:300])
    + gzip.compress(BODY[300:]),
    "bytes after gzip": OK + GZIP + gzip.compress(BODY) + b"\0\0POISON",
    "no type": b"HTTP/1.1 200 OK\r\n\r\n" + BODY,
    "bytes after the body": OK + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY + b"HTTP/1.1 200 OK\r\n\r\nPOISON",
}

HOSTS = tuple(f"bad{number}.example" for number in range(len(BAD)))
"""One for each bad answer: they are tried again side by side, as the politeness of one host would not let them."""


@pytest.fixture
async def web() -> AsyncIterator[StubWeb]:
    async with StubWeb() as running:
        for number, answer in enumerate([*(bad[0] for bad in BAD.values()), *LIES.values()]):
            running.raw(f"/{number}", _sends(answer))
        running.redirect("/round", "/and-round")
        running.redirect("/and-round", "/round")
        for hop in range(7):
            running.redirect(f"/hop{hop}", f"/hop{hop + 1}")
        yield running


def _sends(answer: bytes) -> Any:
    async def send(request: StubRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()
        writer.close()

    return send


def engine(web: StubWeb, home: Path) -> Engine:
    fields = {
        "home": home,
        "allow_networks": (PUBLIC_NETWORK,),
        "allow_ports": (web.port,),
        "resolve": tuple(f"{host}:{web.port}:{PUBLIC_STAND_IN}" for host in ("site.example", *HOSTS)),
        "requests_per_s_per_host": 1000.0,
        "breaker_failures": 1000,
        "max_pages": 100,
        "pages_per_round": 100,
    }
    return Engine.from_settings(load_settings(fields, environ={}, files=()))


async def test_each_bad_answer_is_one_typed_error_on_record(web: StubWeb, tmp_path: Path) -> None:
    expected = {web.url(HOSTS[n], f"/{n}"): (code, reason) for n, (_, code, reason) in enumerate(BAD.values())}
    expected[web.url("site.example", "/round")] = ("TOO_MANY_REDIRECTS", "redirect_loop")
    expected[web.url("site.example", "/hop0")] = ("TOO_MANY_REDIRECTS", "too_many_redirects")
    tasks = asyncio.all_tasks()
    async with engine(web, tmp_path) as opened:

        async def refused(url: str, code: str, reason: str) -> None:
            with pytest.raises(errors.PinciteError) as caught:
                await opened.fetch(FetchRequest(url, persist=False))
            assert (caught.value.code, caught.value.reason) == (code, reason), url
            assert "127." not in str(caught.value)

        async with anyio.create_task_group() as fetches:
            for url, why in expected.items():
                fetches.start_soon(refused, url, *why)
        told: list[Event] = []
        report = await opened.research("How tall is the lighthouse?", urls=tuple(expected), on_event=told.append)
    failed = {str(e.data["url"]): (e.data["code"], e.data["reason"]) for e in told if e.type is EventType.PAGE_FAILED}
    assert failed == expected
    leads = {lead.url: lead.reason for lead in report.leads}
    assert leads
    assert leads.items() <= {url: reason for url, (_, reason) in expected.items()}.items()
    assert not report.references
    assert not report.claims
    assert (report.metrics.pages_failed, report.metrics.dead_links) == (len(expected), 1)
    assert report.metrics.pages_discarded == {"empty_body": 2}
    await _nothing_left(web, tasks)


async def test_what_a_server_says_of_its_page_is_not_believed(web: StubWeb, tmp_path: Path) -> None:
    tasks = asyncio.all_tasks()
    async with engine(web, tmp_path) as opened:
        for number in range(len(BAD), len(BAD) + len(LIES)):
            page = await opened.fetch(web.url("site.example", f"/{number}"))
            assert FACT in page.content
            assert "POISON" not in page.content
    await _nothing_left(web, tasks)


async def _nothing_left(web: StubWeb, tasks: set[Any]) -> None:
    """No connection is open and no task runs that was not there before; a socket nobody closed would warn here."""
    gc.collect()
    for _ in range(50):
        left = [task for task in asyncio.all_tasks() - tasks if "StubWeb" not in repr(task)]
        if not left and not web._open:
            return
        await asyncio.sleep(0.02)
    raise AssertionError((left, web._open))
