"""The browser and its containment. Needs a Chromium on the system; says loudly when there is none."""

import gc
import shutil
import socket
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from pincite.domain.errors import BlockedAddress, PinciteError, RobotsDisallowed
from pincite.domain.fetch import FetchRequest
from pincite.fetch.backends.chromium import ChromiumBackend, contained, find_chromium
from pincite.fetch.limits import FetchLimits
from pincite.fetch.politeness import HostTurns
from pincite.fetch.proxies import EgressProxy
from pincite.fetch.robots_gate import RobotsMode
from pincite.testing.web import StubWeb

BROWSER = find_chromium()
needs_browser = pytest.mark.skipif(
    BROWSER is None,
    reason="NO CHROMIUM FOUND: the browser containment was NOT tested. apt install chromium, then run again.",
)


def hostile_page(web: StubWeb) -> str:
    port = web.port
    inside = f"http://127.0.0.1:{port}/"
    return f"""<!doctype html><html><head><title>hostile</title>
<link rel=stylesheet href="{inside}css"><link rel=prefetch href="{inside}prefetch">
<link rel=preconnect href="{inside}">
<link rel=preload as=script href="{inside}preload"><link rel=dns-prefetch href="//dnsprefetch.example">
<link rel=icon href="{inside}icon"><link rel=manifest href="{inside}manifest">
<link rel=modulepreload href="{inside}mod">
<style>@import url({inside}import);body{{background:url({inside}bg)}}
@font-face{{font-family:x;src:url({inside}f)}}</style>
<script src="{inside}script"></script><script src="/redirect-inside"></script>
<link rel=stylesheet href="/redirect-inside"></head><body><p>hello from the page</p>
<img src="{inside}img"><img src="http://localhost:{port}/l"><img src="http://[::1]:{port}/v6">
<img src="http://2130706433:{port}/dword"><img src="/redirect-inside"><img src="http://rebind.example:{port}/r">
<iframe src="{inside}iframe"></iframe><iframe src="/meta-refresh"></iframe><iframe src="file:///etc/passwd"></iframe>
<object data="{inside}object"></object><embed src="{inside}embed"><video src="{inside}video"></video>
<svg><image href="{inside}svg"/></svg><form id=f method=post action="{inside}form" target=fr><input name=a></form>
<iframe name=fr></iframe><script>
var inside = "{inside}";
var tries = [
  () => fetch(inside + 'fetch', {{mode: 'no-cors'}}), () => fetch('/redirect-inside', {{mode: 'no-cors'}}),
  () => {{ var x = new XMLHttpRequest(); x.open('POST', inside + 'xhr'); x.send('a') }},
  () => navigator.sendBeacon(inside + 'beacon', 'x'), () => new WebSocket('ws://127.0.0.1:{port}/ws'),
  () => new EventSource(inside + 'events'),
  () => new Worker(URL.createObjectURL(new Blob(["fetch('" + inside + "worker', {{mode: 'no-cors'}})"]))),
  () => document.getElementById('f').submit(), () => window.open(inside + 'popup'), () => alert('x'),
  () => navigator.serviceWorker.register('/sw.js'),
  () => {{ var pc = new RTCPeerConnection({{iceServers: [{{urls: 'stun:127.0.0.1:{port}'}}]}});
           pc.createDataChannel('x'); pc.createOffer().then(o => pc.setLocalDescription(o)) }},
  () => new WebTransport('https://127.0.0.1:{port}/wt'),
];
tries.forEach(go => {{ try {{ go() }} catch (e) {{}} }});
</script></body></html>"""


def fill(web: StubWeb) -> None:
    web.page("/evil", hostile_page(web))
    web.redirect("/redirect-inside", f"http://127.0.0.1:{web.port}/redirected")
    web.page("/meta-refresh", f'<meta http-equiv=refresh content="0;url=http://127.0.0.1:{web.port}/meta">')
    web.page(
        "/app",
        '<html><head><title>App</title></head><body><div id="root"></div><script>'
        "setTimeout(() => { document.getElementById('root').innerHTML = '<p>Built by a script.</p>' }, 50)"
        "</script></body></html>",
    )
    web.page("/leave", "<p>x</p><script>location.href='/private'</script>")
    web.page("/private", "<p>secret</p>")


@pytest.fixture
def make_browser(make_fetcher: Callable[..., Any], web: StubWeb) -> Callable[..., ChromiumBackend]:
    fill(web)

    def make(mode: RobotsMode = RobotsMode.OFF, **options: Any) -> ChromiumBackend:
        fetcher = make_fetcher(mode=mode)
        fetcher.resolver.table["rebind.example"] = [["127.9.0.1"], ["127.0.0.1"]]
        limits = FetchLimits(render_total_s=25)
        turns = HostTurns(fetcher.limiter, fetcher.breaker, limits)
        return ChromiumBackend(fetcher.gate, fetcher.vetted, turns, fetcher.clock, limits=limits, **options)

    return make


def udp_listener(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind(("127.0.0.1", port))
    made.setblocking(False)
    return made


@needs_browser
async def test_scripts_build_the_page(make_browser: Callable[..., ChromiumBackend], web: StubWeb) -> None:
    snapshot = await make_browser().fetch(FetchRequest(web.url("site.example", "/app")))
    assert b"Built by a script." in snapshot.body
    assert snapshot.via == "chromium"
    assert snapshot.final_url == web.url("site.example", "/app")
    assert "pincite" in web.requests[-1].headers["user-agent"].lower()


@needs_browser
async def test_a_hostile_page_reaches_nothing_inside(
    make_browser: Callable[..., ChromiumBackend], web: StubWeb
) -> None:
    listener = udp_listener(web.port)
    try:
        snapshot = await make_browser().fetch(FetchRequest(web.url("site.example", "/evil")))
        await anyio.sleep(0.3)
        with pytest.raises(BlockingIOError):
            listener.recv(1)
    finally:
        listener.close()
    assert b"hello from the page" in snapshot.body
    assert b"root:" not in snapshot.body
    assert not web.internal_hits


@needs_browser
async def test_without_the_bypass_flag_the_test_would_notice(
    make_browser: Callable[..., ChromiumBackend], web: StubWeb
) -> None:
    def leaky(proxy: str) -> tuple[str, ...]:
        return tuple(
            flag for flag in contained(proxy) if not flag.startswith(("--proxy-bypass-list", "--host-resolver-rules"))
        )

    await make_browser(arguments=leaky).fetch(FetchRequest(web.url("site.example", "/evil")))
    assert web.internal_hits


@needs_browser
async def test_robots_holds_for_where_scripts_lead(make_browser: Callable[..., ChromiumBackend], web: StubWeb) -> None:
    web.page("/robots.txt", "user-agent: *\ndisallow: /private\n", content_type="text/plain")
    with pytest.raises(RobotsDisallowed):
        await make_browser(RobotsMode.OBEY).fetch(FetchRequest(web.url("site.example", "/leave")))
    assert web.count("/private") == 0


@needs_browser
async def test_a_page_that_eats_memory_is_ended(make_browser: Callable[..., ChromiumBackend], web: StubWeb) -> None:
    web.page(
        "/eats",
        "<p>x</p><script>var kept = []; (function more() { for (var i = 0; i < 4; i++) {"
        "kept.push(new Uint8Array(8e6).fill(7)) } fetch('/a?' + kept.length); setTimeout(more, 20) })()</script>",
    )
    with pytest.raises(PinciteError) as caught:
        await make_browser(memory_mb=400).fetch(FetchRequest(web.url("site.example", "/eats")))
    assert caught.value.reason == "browser_memory"


async def test_a_private_page_starts_no_browser(make_browser: Callable[..., ChromiumBackend]) -> None:
    with pytest.raises(BlockedAddress):
        await make_browser(executable="/nonexistent").fetch(FetchRequest("http://10.0.0.1/"))


async def test_a_missing_browser_is_said(make_browser: Callable[..., ChromiumBackend], web: StubWeb) -> None:
    with pytest.raises(PinciteError) as caught:
        await make_browser(executable="/nonexistent").fetch(FetchRequest(web.url("site.example", "/app")))
    assert caught.value.code in {"NETWORK_ERROR", "EXTRA_NOT_INSTALLED"}


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_driver_that_ends_at_once_is_no_defect_of_ours(
    make_browser: Callable[..., ChromiumBackend], web: StubWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("playwright")
    monkeypatch.setenv("PLAYWRIGHT_NODEJS_PATH", shutil.which("false") or "/bin/false")
    with pytest.raises(PinciteError) as caught:
        await make_browser(executable="/nonexistent").fetch(FetchRequest(web.url("site.example", "/app")))
    assert (caught.value.code, caught.value.reason) == ("NETWORK_ERROR", "browser_failed")
    assert "libatomic" in caught.value.hint
    # Playwright leaves the ended process to the collector; here, while its loop is still there to close it.
    del caught
    gc.collect()


async def ask(proxy: EgressProxy, request: bytes) -> bytes:
    host, _, port = proxy.address.rpartition(":")
    stream = await anyio.connect_tcp(host, int(port))
    async with stream:
        await stream.send(request)
        received = b""
        try:
            while True:
                with anyio.fail_after(2):
                    received += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError, TimeoutError):
            return received


async def test_the_proxy_forwards_what_is_allowed_and_nothing_else(
    make_fetcher: Callable[..., Any], web: StubWeb
) -> None:
    fetcher = make_fetcher()
    web.page("/a", "hello")
    port = web.port
    fetcher.resolver.table["inside.example"] = [["10.0.0.1"]]
    async with EgressProxy(web.policy, fetcher.vetted, idle_s=0.5) as proxy:
        plain = await ask(
            proxy, f"GET http://site.example:{port}/a HTTP/1.1\r\nHost: x\r\nCookie: a=b\r\n\r\n".encode()
        )
        assert plain.endswith(b"hello")
        assert web.requests[-1].headers["host"] == f"site.example:{port}"
        assert "cookie" not in web.requests[-1].headers
        inner = f"GET /a HTTP/1.1\r\nHost: site.example:{port}\r\n\r\n"
        tunnel = await ask(proxy, f"CONNECT site.example:{port} HTTP/1.1\r\n\r\n{inner}".encode())
        assert tunnel.endswith(b"hello")
        for target in (
            f"GET http://127.0.0.1:{port}/",
            f"GET http://localhost:{port}/",
            "GET http://169.254.169.254/latest/",
            f"POST http://site.example:{port}/a",
            "GET ftp://site.example/",
            f"CONNECT 127.0.0.1:{port}",
            f"CONNECT [::1]:{port}",
            "CONNECT inside.example:443",
            "CONNECT site.example:22",
            "CONNECT site.example:1",
            "nonsense",
        ):
            answer = await ask(proxy, f"{target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert answer.startswith(b"HTTP/1.1 403"), target
    assert not web.internal_hits
    assert sum(proxy.refused.values()) == 11


async def test_the_proxy_bounds_connections_and_bytes(make_fetcher: Callable[..., Any], web: StubWeb) -> None:
    fetcher = make_fetcher()
    web.page("/a", "x" * 100_000)
    request = f"GET http://site.example:{web.port}/a HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    async with EgressProxy(web.policy, fetcher.vetted, connections_max=1) as proxy:
        assert (await ask(proxy, request)).startswith(b"HTTP/1.1 200")
        assert (await ask(proxy, request)).startswith(b"HTTP/1.1 403")
    async with EgressProxy(web.policy, fetcher.vetted, bytes_max=50_000) as proxy:
        assert len(await ask(proxy, request)) < 100_000
        assert proxy.refused["bytes_max"]
