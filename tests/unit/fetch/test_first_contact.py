"""A site that can't be reached is told as what it is, at once; robots.txt refuses only by what it says."""

import socket
import ssl
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import trustme

from pincite.domain.errors import DeadLink, DnsError, NetworkError, PinciteError, RobotsDisallowed, TlsError
from pincite.fetch.robots_gate import RobotsMode
from pincite.testing.web import PUBLIC_STAND_IN, StubWeb
from pincite.urls import UrlPolicy


def closed_port() -> int:
    with socket.socket() as free:
        free.bind((PUBLIC_STAND_IN, 0))
        port: int = free.getsockname()[1]
        return port


async def failure(fetcher: Any, url: str) -> PinciteError:
    with pytest.raises(PinciteError) as caught:
        await fetcher.get(url)
    return caught.value


async def test_a_refused_connection(make_fetcher: Callable[..., Any], web: StubWeb) -> None:
    port = closed_port()
    fetcher = make_fetcher(mode=RobotsMode.OBEY, policy=_with_port(web, port))
    began_s = fetcher.clock.monotonic_s()
    for _ in range(2):  # the second time from what is known: no new attempt, the same words
        error = await failure(fetcher, f"http://site.example:{port}/a")
        assert (type(error), error.reason) == (NetworkError, "connect_failed")
        assert error.retryable
    assert fetcher.resolver.asked == ["site.example"]
    assert fetcher.clock.monotonic_s() == began_s, "nobody waited"


@pytest.mark.parametrize(("answer", "expected"), [(None, DeadLink), (["timeout"], DnsError)])
async def test_an_unknown_name(
    make_fetcher: Callable[..., Any], web: StubWeb, answer: list[str] | None, expected: type[PinciteError]
) -> None:
    fetcher = make_fetcher(mode=RobotsMode.OBEY)
    fetcher.resolver.table["site.example"] = [answer]
    error = await failure(fetcher, web.url("site.example", "/a"))
    assert isinstance(error, expected), "no such host, or nobody who could say"
    fetcher.resolver.table.pop("site.example")  # the network is back
    fetcher.clock.advance(60)
    web.page("/a", "<p>Here it is.</p>")
    assert (await fetcher.get("/a")).status == 200


async def test_a_certificate_of_nobody(make_fetcher: Callable[..., Any]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("site.example").configure_cert(context)
    async with StubWeb(tls=context) as secure:
        fetcher = make_fetcher(mode=RobotsMode.OBEY, policy=secure.policy)
        error = await failure(fetcher, secure.url("site.example", "/a"))
    assert (type(error), error.reason) == (TlsError, "tls_error")


async def test_what_robots_txt_says_is_still_a_refusal(make_fetcher: Callable[..., Any], web: StubWeb) -> None:
    fetcher = make_fetcher(mode=RobotsMode.OBEY)
    for status, reason in ((200, "robots_disallowed"), (503, "robots_unreachable")):
        web.page("/robots.txt", "user-agent: *\ndisallow: /\n", status=status, content_type="text/plain")
        error = await failure(fetcher, web.url(f"s{status}.example", "/a"))
        assert (type(error), error.reason) == (RobotsDisallowed, reason)


def _with_port(web: StubWeb, port: int) -> UrlPolicy:
    return replace(web.policy, ports=frozenset({*web.policy.ports, port}))
