"""Pages that are empty without scripts, through a headless Chromium that can reach nothing but our own proxy."""

import os
import secrets
import shutil
import signal
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio

from pincite.domain.errors import BudgetExhausted, ExtraNotInstalled, NetworkError, PinciteError, Timeout, TooLarge
from pincite.domain.fetch import FetchRequest
from pincite.domain.page import Snapshot
from pincite.domain.version import USER_AGENT
from pincite.fetch.captures import capture
from pincite.fetch.limits import FetchLimits
from pincite.fetch.page_failures import failure_of
from pincite.fetch.politeness import HostTurns
from pincite.fetch.proxies import EgressProxy, UpstreamProxy
from pincite.fetch.resolver import VettedResolver
from pincite.fetch.robots_gate import Admission, RobotsGate
from pincite.ports import Clock
from pincite.runtime.system import needing
from pincite.runtime.telemetry import current_meter

if TYPE_CHECKING:
    from playwright.async_api import Browser, Dialog, Frame, Page, Request, Response, Route

# A program that comes with Playwright; seen not to start on Debian's minimal system.
_DRIVER_HINT = (
    "It comes with Playwright and needs libatomic (Debian, Ubuntu: apt install libatomic1), or pass render=never."
)

# Ends a browser that takes too much memory: found by a mark on its command line, its children by their group.

_PROC = Path("/proc")
# A page can take a gigabyte within seconds; looking costs a read of /proc for each process.
_PAUSE_S = 0.5


def group_of(mark: str) -> int | None:
    """The process group of the process that has `mark` on its command line, or None."""
    for entry in _PROC.glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                group = os.getpgid(int(entry.name))
                return group if group != os.getpgrp() else None  # never our own
    return None


def private_mb(group: int) -> float:
    """The memory that the processes of a group share with nobody, in MB.

    Source: proc(5), `statm`: resident minus shared pages.
    """
    pages = 0
    for entry in _PROC.glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            if os.getpgid(int(entry.name)) == group:
                numbers = (entry / "statm").read_text(encoding="ascii").split()
                pages += int(numbers[1]) - int(numbers[2])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def end_above(mark: str, max_mb: float) -> bool:
    """Whether the browser marked `mark` had to be killed for taking more than `max_mb`; returns when it is gone."""
    group = group_of(mark)
    while group is not None:
        used = private_mb(group)
        if used > max_mb:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
            return True
        if used == 0:
            break
        await anyio.sleep(_PAUSE_S)
    return False


T = TypeVar("T")
NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
# Of one page. Heavy pages ask for a hundred things; one that asks for more loads advertisements or loops.
REQUESTS_MAX = 200
# Browser and tabs together; a page that needs more is ended with it (`browser_memory`).
MEMORY_MB = 1_024
# Scripts that fetch the text do so at once; some pages are never idle.
_SETTLE_S = 3.0
_SKIPPED = frozenset({"image", "media", "font", "websocket", "eventsource", "manifest", "ping", "texttrack"})
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


def contained(proxy: str) -> tuple[str, ...]:
    """The arguments that leave Chromium no way around the proxy at `proxy`.

    Without `<-loopback>` in the bypass list Chromium goes straight to loopback and link-local addresses, proxy or not.

    Source: security measurements, browser containment (docs/fetch.md, "Rendering").
    """
    return (
        f"--proxy-server=http://{proxy}",
        "--proxy-bypass-list=<-loopback>",
        f"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE {proxy.rsplit(':', 1)[0]}",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--disable-quic",
        "--dns-prefetch-disable",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-extensions",
        "--no-first-run",
        "--no-pings",
        "--disable-features=WebRTC,MediaRouter,OptimizationHints,Translate,PrefetchProxy",
        f"--js-flags=--max-old-space-size={MEMORY_MB // 2}",
    )


def find_chromium() -> str | None:
    """The path of a Chromium or Chrome of this system, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class ChromiumBackend:
    """Implements `ports.FetchBackend`. A fresh browser, profile and proxy for every page.

    Args:
        gate: policy and robots.txt, for the page asked for, every navigation and the final URL.
        executable: the browser; the system's own by default.
        arguments: makes the containment arguments; only the test of the test passes others.
        memory_mb: a browser that takes more is killed.
    """

    name = "chromium"

    def __init__(  # noqa: PLR0913  # one argument per part that the operator chooses
        self,
        gate: RobotsGate,
        resolver: VettedResolver,
        turns: HostTurns,
        clock: Clock,
        *,
        limits: FetchLimits | None = None,
        executable: str | None = None,
        arguments: Callable[[str], tuple[str, ...]] = contained,
        memory_mb: float = MEMORY_MB,
        upstream: UpstreamProxy | None = None,
        user_agent: str = USER_AGENT,
    ) -> None:
        self.gate = gate
        self._resolver = resolver
        self._turns = turns
        self._clock = clock
        self._limits = limits or FetchLimits()
        self._executable = executable
        self._arguments = arguments
        self._memory_mb = memory_mb
        self._upstream = upstream
        self.user_agent = user_agent

    async def fetch(self, request: FetchRequest) -> Snapshot:
        """The page as its scripts left it, as HTML.

        Errors: the policy errors of `RobotsGate.admit`; ExtraNotInstalled; Timeout `render_deadline`; NetworkError
            `browser_failed`; TooLarge; those of `failure_of`.
        """
        admission = await self.gate.admit(request.url, request)
        deadline_s = min(self._limits.render_total_s, request.deadline_s or self._limits.render_total_s)
        async with self._turns.turn(admission.url.host, admission.delay_s):
            try:
                with anyio.fail_after(deadline_s):
                    async with AsyncExitStack() as stack:
                        snapshot = await self._rendered(request, admission, stack)
            except TimeoutError:
                raise Timeout("the page took too long to render", reason="render_deadline", retryable=False) from None
        if (failure := failure_of(snapshot)) is not None:
            raise failure
        return snapshot

    async def _rendered(self, request: FetchRequest, admission: Admission, stack: AsyncExitStack) -> Snapshot:
        # The proxy first, so that the browser is closed before the only way out of it is.
        proxy = await stack.enter_async_context(
            EgressProxy(self.gate.policy, self._resolver, connections_max=REQUESTS_MAX, upstream=self._upstream)
        )
        mark = f"--pincite-page={secrets.token_hex(8)}"
        browser = await self._launched(proxy.address, mark, stack)
        visit = _BrowserVisit(self, request)
        # The mark is how its processes are found: Chromium hands arguments on to every one it starts.
        response, page, html = await self._watched(mark, lambda: visit.run(browser, admission.url.sent))
        if len(html) > self._limits.html_max_bytes:
            raise TooLarge("the rendered page is too large", reason="decoded_too_large")
        final = await self.gate.admit(page.url, request)  # scripts may have led elsewhere
        # Those that describe what the server sent do not describe the rendered page.
        sent = {"content-type", "content-encoding", "content-length", "transfer-encoding", "etag", "last-modified"}
        kept = [(name, str(value)) for name, value in (await response.all_headers()).items() if name not in sent]
        return capture(
            url=request.url,
            final_url=final.url.sent,
            status=response.status,
            headers=(("content-type", "text/html; charset=utf-8"), *kept),
            body=html.encode("utf-8", "replace"),
            fetched_at=self._clock.now(),
            via=self.name,
            robots=final.robots,
            signals=final.signals,
            redirects=() if final.url == admission.url else (final.url.sent,),
            note="rendered in a browser",
        )

    async def _watched(self, mark: str, do: Callable[[], Awaitable[T]]) -> T:
        """What `do` gives, unless the browser takes too much memory meanwhile. Errors: TooLarge `browser_memory`."""
        ended = False
        outcome: list[T | PinciteError] = []

        async def watch() -> None:
            nonlocal ended
            ended = await end_above(mark, self._memory_mb)

        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            try:
                outcome.append(await do())
            except PinciteError as error:  # raised below, outside the group, which would wrap it
                outcome.append(error)
            group.cancel_scope.cancel()
        if isinstance(outcome[0], PinciteError):
            if ended:
                raise TooLarge("the page takes too much memory to render", reason="browser_memory") from outcome[0]
            raise outcome[0]
        return outcome[0]

    async def _launched(self, proxy: str, mark: str, stack: AsyncExitStack) -> "Browser":
        executable = self._executable or find_chromium()
        if executable is None:
            raise ExtraNotInstalled(
                "there is no Chromium on this system",
                reason="no_browser",
                hint="Install it (Debian, Ubuntu: apt install chromium), or pass render=never.",
            )
        with needing("browser", "rendering needs the browser extra"):
            from playwright.async_api import Error, async_playwright
        try:
            driver = await stack.enter_async_context(async_playwright())
        except Exception as error:  # Playwright has no type for a driver that ends before it says a word
            raise NetworkError(
                "the driver of the browser did not start", reason="browser_failed", hint=_DRIVER_HINT, retryable=False
            ) from error
        try:
            browser = await driver.chromium.launch(
                executable_path=executable,
                headless=True,
                # As root Chromium's sandbox does not start at all.
                chromium_sandbox=os.geteuid() != 0,
                args=[*self._arguments(proxy), mark],
                # Nothing of our environment: keys in it would be a page's to read, were the browser broken into.
                env={"PATH": os.defpath, "HOME": "/nonexistent", "LANG": "C.UTF-8"},
                timeout=self._limits.render_total_s * 1000,
            )
        except Error as error:
            raise NetworkError("the browser did not start", reason="browser_failed", retryable=False) from error
        stack.push_async_callback(browser.close)
        return browser


class _BrowserVisit:
    """One page in one browser: what it may ask for, and until when it is waited for."""

    def __init__(self, backend: ChromiumBackend, request: FetchRequest) -> None:
        self._backend = backend
        self._request = request
        self._requests_left = REQUESTS_MAX
        self._refusal: PinciteError | None = None
        self._meter = current_meter()

    async def run(self, browser: "Browser", url: str) -> "tuple[Response, Page, str]":
        """The response of the main document, the page, and its HTML when it came to rest. Errors: as `go`."""
        from playwright.async_api import Error

        try:
            page = await self.open(browser)
            response = await self.go(page, url)
            return response, page, await page.content()
        except Error:
            raise self._refusal or NetworkError(
                "the browser broke off", reason="browser_failed", retryable=False
            ) from None

    async def open(self, browser: "Browser") -> "Page":
        """A page in an incognito context without service workers, downloads, permissions or popups."""
        context = await browser.new_context(
            user_agent=self._backend.user_agent,
            service_workers="block",
            accept_downloads=False,
            permissions=[],
            locale=self._request.prefer_language or None,
        )
        page = await context.new_page()
        context.on("page", _closed)
        page.on("dialog", _dismissed)
        await context.route("**/*", self._decide)
        await context.route_web_socket("**/*", lambda socket: socket.close())
        return page

    async def go(self, page: "Page", url: str) -> "Response":
        """The response of the main document, when the network is quiet or a moment later.

        Errors: the refusal of a navigation; NetworkError `browser_failed`.
        """
        from playwright.async_api import Error
        from playwright.async_api import TimeoutError as BrowserTimeout

        try:
            # The deadline of the whole rendering ends it; a second clock here would give another error for the same
            # thing.
            response = await page.goto(url, wait_until="domcontentloaded", timeout=0)
            try:
                await page.wait_for_load_state("networkidle", timeout=_SETTLE_S * 1000)
            except BrowserTimeout:
                pass  # a page that never rests is taken as it is
        except Error:
            raise self._refusal or NetworkError(
                "the browser could not load the page", reason="browser_failed", retryable=False
            ) from None
        if self._refusal is not None:
            raise self._refusal
        if response is None:
            raise NetworkError("the browser loaded nothing", reason="browser_failed", retryable=False)
        return response

    async def _decide(self, route: "Route") -> None:
        """Let a request through or not: the second layer, before the proxy."""
        request = route.request
        self._requests_left -= 1
        # What is not read is not loaded: pictures and fonts are most of a page's bytes, and a POST may change
        # something.
        if self._requests_left < 0 or request.resource_type in _SKIPPED or request.method not in _READING:
            await route.abort()
            return
        if not request.url.startswith(("http://", "https://")):
            await route.abort()
            return
        if request.is_navigation_request():
            frame = _frame_of(request)
            # Only where the page itself goes: frames in it are held by the proxy, and robots.txt is for pages.
            if frame is None or (frame.parent_frame is None and not await self._navigable(request.url)):
                await route.abort()
                return
        try:
            if self._meter is not None:
                self._meter.count()
        except BudgetExhausted as error:
            self._refusal = self._refusal or error
            await route.abort()
            return
        await route.continue_()

    async def _navigable(self, url: str) -> bool:
        try:
            await self._backend.gate.admit(url, self._request)
        except PinciteError as error:
            self._refusal = self._refusal or error
            return False
        return True


async def _closed(popup: "Page") -> None:
    from playwright.async_api import Error

    with suppress(Error):  # it may have closed itself
        await popup.close()


async def _dismissed(dialog: "Dialog") -> None:
    from playwright.async_api import Error

    with suppress(Error):
        await dialog.dismiss()


def _frame_of(request: "Request") -> "Frame | None":
    """The frame a request is for; None while a popup has none yet."""
    from playwright.async_api import Error

    try:
        return request.frame
    except Error:
        return None
