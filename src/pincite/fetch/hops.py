"""The redirect loop: every hop gets the full policy before anything is sent."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import anyio

from pincite.domain.errors import BlockedAddress, NetworkError, Timeout, TooManyRedirects
from pincite.fetch.client import GuardedClient
from pincite.fetch.client_redirects import client_redirect
from pincite.fetch.exchange import Exchange
from pincite.urls.parse import ParsedUrl, parse_url

REDIRECTS = frozenset({301, 302, 303, 307, 308})
Admit = Callable[[str], Awaitable[ParsedUrl]]


@dataclass(frozen=True, slots=True)
class Visit:
    """Where a chain of redirects ended, and what was there."""

    exchange: Exchange
    final: ParsedUrl
    redirects: tuple[str, ...]


async def visit(  # noqa: PLR0913  # what a caller may set of one request
    client: GuardedClient,
    start: ParsedUrl,
    admit: Admit,
    *,
    redirects_max: int,
    headers: Mapping[str, str] | None = None,
    max_bytes: int | None = None,
    cut: bool = False,
    downgrade: bool = False,
    of_pages: bool = False,
) -> Visit:
    """The answer at the end of at most `redirects_max` redirects. 300, 305, 309 and Refresh headers are never followed.

    Args:
        client: sends one request at a time.
        start: where to start; already admitted.
        admit: gives the canonical URL of a further hop, or raises.
        redirects_max: 0 gives the first answer back, whatever it is.
        headers: request headers; conditional ones go to the first URL only.
        max_bytes: size limit for every answer.
        cut: keep what came before the limit instead of refusing.
        downgrade: whether https may lead to http.
        of_pages: whether a page that only sends its reader on (`client_redirect`) counts as a redirect.

    Errors:
        TooManyRedirects: `too_many_redirects`, `redirect_loop`.
        NetworkError: `redirect_no_location`, `redirect_ambiguous`.
        BlockedAddress: `redirect_downgrade`; and everything `admit` and the client raise.
    """
    here = start
    seen = {here.sent}
    trail: list[str] = []
    while True:
        exchange = await client.get(here, headers=headers, max_bytes=max_bytes, cut=cut)
        if redirects_max == 0:
            return Visit(exchange, here, tuple(trail))
        if exchange.status in REDIRECTS:
            location = _location(exchange, here)
        elif of_pages and exchange.status == 200:
            location = client_redirect(exchange.body, exchange.header("content-type"), here.sent)
        else:
            location = ""
        if not location:
            return Visit(exchange, here, tuple(trail))
        target = await admit(location)
        if target.sent in seen and target.sent != here.sent:
            raise TooManyRedirects("the redirects lead in a circle", reason="redirect_loop")
        if len(trail) >= redirects_max:
            raise TooManyRedirects(f"more than {redirects_max} redirects", reason="too_many_redirects")
        if here.scheme == "https" and target.scheme == "http" and not downgrade:
            raise BlockedAddress(
                "the redirect leads from https to http",
                reason="redirect_downgrade",
                hint="Give the http:// URL itself if you want to read it.",
            )
        seen.add(target.sent)
        trail.append(target.sent)
        here, headers = target, _kept(headers)


def _location(exchange: Exchange, here: ParsedUrl) -> str:
    given = set(exchange.all_headers("location"))
    if len(given) > 1:
        raise NetworkError("the redirect names two targets", reason="redirect_ambiguous", retryable=False)
    location = next(iter(given), "").strip()
    if not location:
        raise NetworkError("the redirect names no target", reason="redirect_no_location", retryable=False)
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in location):
        return location  # parsing would drop tabs and line ends silently; `admit` must see and refuse them
    return parse_url(location, here.href).href


def _kept(headers: Mapping[str, str] | None) -> dict[str, str]:
    """What a redirect may carry on: nothing that identifies, nothing conditional."""
    dropped = {"authorization", "cookie", "proxy-authorization", "if-none-match", "if-modified-since"}
    return {name: value for name, value in (headers or {}).items() if name.lower() not in dropped}


async def within_deadline(seconds: float, visiting: Callable[[], Awaitable[Visit]]) -> Visit:
    """The visit, ended after `seconds` in all.

    Errors:
        Timeout: `deadline_total`.
    """
    try:
        with anyio.fail_after(seconds):
            return await visiting()
    except TimeoutError:
        raise Timeout(f"not done within {seconds:g} seconds", reason="deadline_total") from None
