"""The operator's proxy: every connection goes through it, to vetted addresses only; the environment's is ignored."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from pincite.domain.errors import BlockedAddress, InvalidSetting, NetworkError
from pincite.fetch.proxies import UpstreamProxy
from pincite.settings import load_settings
from pincite.testing.web import StubWeb


@dataclass
class Proxy:
    """A CONNECT proxy that notes what it was asked for."""

    port: int = 0
    answer: bytes = b"HTTP/1.1 200 OK\r\n\r\n"
    asked: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(head)
        writer.write(self.answer)
        if b" 200 " in self.answer:
            host, _, port = head.split(" ")[1].rpartition(":")
            there, back = await asyncio.open_connection(host, int(port))
            back.write(await reader.readuntil(b"\r\n\r\n"))
            writer.write(await there.read(65_536))
            back.close()
        writer.close()


@pytest.fixture
async def proxy() -> AsyncIterator[Proxy]:
    made = Proxy()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    yield made
    server.close()


async def test_the_proxy_is_asked_for_the_vetted_address(
    proxy: Proxy, web: StubWeb, make_fetcher: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    web.page("/a", "<title>A</title>")
    upstream = UpstreamProxy.of(f"http://me:se%2Fcret@127.0.0.1:{proxy.port}")
    assert "cret" not in repr(upstream)
    fetcher = make_fetcher(client={"proxy": upstream})
    assert b"<title>A</title>" in (await fetcher.get("/a")).body
    assert proxy.asked[0].startswith(f"CONNECT 127.9.0.1:{web.port} HTTP/1.1")
    assert "Proxy-Authorization: Basic bWU6c2UvY3JldA==" in proxy.asked[0]
    assert web.requests[0].host == "site.example"
    direct = make_fetcher()
    assert (await direct.get("/a")).status == 200  # the environment's proxy is nobody's business
    assert len(proxy.asked) == 1


async def test_what_is_refused_never_reaches_the_proxy(
    proxy: Proxy, web: StubWeb, make_fetcher: Callable[..., Any]
) -> None:
    fetcher = make_fetcher(client={"proxy": UpstreamProxy.of(f"http://127.0.0.1:{proxy.port}")})
    fetcher.resolver.table["inside.example"] = [["10.0.0.7"]]
    for url in (web.url("inside.example", "/"), f"http://127.0.0.1:{web.port}/"):
        with pytest.raises(BlockedAddress):
            await fetcher.get(url)

    async def lies(host: str, port: int) -> tuple[str, ...]:
        return ("127.0.0.1",)

    fetcher.vetted.addresses = lies
    with pytest.raises(BlockedAddress):
        await fetcher.get("/a")
    assert not proxy.asked, "what the resolver let through is looked at again"


@pytest.mark.parametrize("answer", [b"HTTP/1.1 403 No\r\n\r\n", b"SSH-2.0\r\n\r\n", b""])
async def test_a_proxy_that_does_not_connect_is_a_network_error(
    proxy: Proxy, make_fetcher: Callable[..., Any], answer: bytes
) -> None:
    proxy.answer = answer
    fetcher = make_fetcher(client={"proxy": UpstreamProxy.of(f"http://127.0.0.1:{proxy.port}")})
    with pytest.raises(NetworkError) as caught:
        await fetcher.get("/a")
    assert "127.0.0.1" not in str(caught.value)


def test_the_environment_counts_only_where_it_is_asked_for() -> None:
    environ = {"HTTPS_PROXY": "http://proxy.example:8080"}
    assert load_settings({}, environ=environ, files=()).fetch_proxy is None
    asked = load_settings({"fetch_proxy": "environment"}, environ=environ, files=()).fetch_proxy
    assert asked is not None
    assert asked.get_secret_value() == "http://proxy.example:8080"


@pytest.mark.parametrize("url", ["proxy:3128", "https://p.example", "socks5://p:1", "http://p:99999", "http://p:1/x"])
def test_a_proxy_of_another_form_is_a_bad_setting(url: str) -> None:
    with pytest.raises(InvalidSetting):
        UpstreamProxy.of(url)
