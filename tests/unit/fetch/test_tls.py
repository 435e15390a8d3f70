"""TLS: right names, right certificates, per host and not per address."""

import ssl
from collections.abc import AsyncIterator
from typing import Any

import pytest
import trustme

from pincite.domain.errors import PinciteError, TlsError
from pincite.fetch.client import GuardedClient
from pincite.fetch.limits import FetchLimits
from pincite.fetch.resolver import VettedResolver
from pincite.runtime.system import SystemClock
from pincite.testing.clock import FrozenClock
from pincite.testing.web import StubResolver, StubWeb
from pincite.urls import parse_url


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
async def secure(authority: trustme.CA) -> AsyncIterator[tuple[StubWeb, GuardedClient, list[str]]]:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("good.example").configure_cert(server)
    names: list[str] = []

    def remember(_: Any, name: str | None, __: Any) -> None:
        names.append(name or "")

    server.sni_callback = remember
    trusted = ssl.create_default_context()
    authority.configure_trust(trusted)
    async with StubWeb(tls=server) as web:
        web.page("/a", "x")
        vetted = VettedResolver(StubResolver(), web.policy, FrozenClock())
        client = GuardedClient(web.policy, vetted, SystemClock(), limits=FetchLimits(connect_s=1.0), tls=trusted)
        async with client:
            yield web, client, names


async def test_host_sni_and_certificate_are_those_of_the_url(secure: tuple[StubWeb, GuardedClient, list[str]]) -> None:
    web, client, names = secure
    answer = await client.get(parse_url(web.url("good.example", "/a")))
    assert answer.body == b"x"
    assert names == ["good.example"]
    assert web.requests[-1].headers["host"] == f"good.example:{web.port}"


async def test_a_warm_connection_never_serves_another_name(secure: tuple[StubWeb, GuardedClient, list[str]]) -> None:
    web, client, _ = secure
    await client.get(parse_url(web.url("good.example", "/a")))
    with pytest.raises(TlsError) as caught:
        await client.get(parse_url(web.url("bad.example", "/a")))
    assert caught.value.reason == "tls_error"
    assert {request.host for request in web.requests} == {"good.example"}


async def test_an_unknown_authority_is_refused(secure: tuple[StubWeb, GuardedClient, list[str]]) -> None:
    web, _, _ = secure
    vetted = VettedResolver(StubResolver(), web.policy, FrozenClock())
    async with GuardedClient(web.policy, vetted, SystemClock()) as plain:
        with pytest.raises(TlsError):
            await plain.get(parse_url(web.url("good.example", "/a")))


async def test_a_handshake_that_never_ends_is_a_timeout() -> None:
    import asyncio

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.9.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with StubWeb() as web:
        policy = web.policy
        policy = type(policy)(addresses=policy.addresses, ports=policy.ports | {port})
        vetted = VettedResolver(StubResolver(), policy, FrozenClock())
        async with GuardedClient(policy, vetted, SystemClock(), limits=FetchLimits(connect_s=0.3)) as client:
            with pytest.raises(PinciteError) as caught:
                await asyncio.wait_for(client.get(parse_url(f"https://slow.example:{port}/")), 2)
            assert caught.value.code in {"TIMEOUT", "TLS_ERROR", "NETWORK_ERROR"}
    server.close()
