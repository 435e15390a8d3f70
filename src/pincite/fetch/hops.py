"""The redirect loop: every hop gets the full policy before anything is sent."""

import re
from collections.abc import Awaitable, Callable, Mapping
from html import unescape

from pincite.domain.errors import BlockedAddress, NetworkError, PinciteError, TooManyRedirects
from pincite.domain.frozen import dataclass
from pincite.fetch.captures import Exchange
from pincite.fetch.client import GuardedClient
from pincite.urls.parse import ParsedUrl, parse_url

# Redirects that a page makes itself: `<meta http-equiv=refresh>` and stubs whose only content is where the page went.

# A refresh stands in the head, before any text.
_HEAD_BYTES = 16_000
# Larger bodies are pages, whatever they say first.
_STUB_BYTES = 32_000
# What a page that has only moved says of it fits into this; a page with more is one to be read.
_STUB_CHARS = 400
# A page with text of its own that refreshes later wants to be read first.
_AT_ONCE_S = 1
# "You will be taken there in ten seconds": a stub is one with any pause that a person would sit out.
_LONGEST_S = 30
_NOT_SHOWN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|noscript|template)\b[^<>]*>.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL
)
_TAG = re.compile(r"<[^<>]*>")
_META = re.compile(r"<(?:meta|link)\b([^<>]{1,3000})>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([a-zA-Z-]{1,40})\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+))""")
_REFRESH = re.compile(r"""\s*(\d{1,6})(?:\.\d*)?\s*[;,\s]\s*(?:url\s*=\s*)?["']?([^"'\s][^"'<>]*)""", re.IGNORECASE)
_LINK = re.compile(r"<a\b([^<>]{1,3000})>", re.IGNORECASE)
_GOES = re.compile(
    r"""(?:\blocation(?:\.href)?\s*=\s*|\blocation\.(?:replace|assign)\(\s*)["']([^"'\s]{1,2000})["']""", re.IGNORECASE
)
_TITLE = re.compile(r"<title\b[^<>]*>[^<]*</title\s*>", re.IGNORECASE)
_MOVED = re.compile(r"\b(?:moved|redirect(?:s|ed|ing)?)\b", re.IGNORECASE)


def client_redirect(body: bytes, content_type: str, url: str) -> str:
    """Where the page sends its reader, absolute; nothing when it stays or only loads itself again."""
    if "html" not in content_type.lower():
        return ""
    begins = body[:_STUB_BYTES]
    if len(body) >= _STUB_BYTES and b"http-equiv" not in begins.lower():
        return ""  # most pages: neither a stub nor one that refreshes
    source = begins.decode("utf-8", "replace")
    shown = _NOT_SHOWN.sub(" ", source)
    body_text = _TAG.sub(" ", _TITLE.sub(" ", shown))  # the title is shown in no page
    chars = len(" ".join(unescape(body_text).split()))
    is_stub = len(body) < _STUB_BYTES and chars < _STUB_CHARS
    target = _refreshed(shown[:_HEAD_BYTES], _LONGEST_S if is_stub else _AT_ONCE_S)
    if not target and is_stub:
        target = _moved(source, shown)
    return _elsewhere(target, url) if target else ""


def _refreshed(shown: str, longest_s: int) -> str:
    for match in _META.finditer(shown):
        attributes = _attributes(match.group(1))
        if attributes.get("http-equiv", "").lower() == "refresh":
            refresh = _REFRESH.match(attributes.get("content", ""))
            return refresh.group(2).strip() if refresh and int(refresh.group(1)) <= longest_s else ""
    return ""


def _moved(source: str, shown: str) -> str:
    """The one place that a stub names: by its script, or by its only link where it says so or its canonical does."""
    links = {href for match in _LINK.finditer(shown) if (href := _attributes(match.group(1)).get("href", ""))}
    metas = [_attributes(match.group(1)) for match in _META.finditer(shown)]
    canonical = next((meta.get("href", "") for meta in metas if meta.get("rel", "").lower() == "canonical"), "")
    scripted = set(_GOES.findall(source))
    if len(scripted) == 1 and (links | {canonical}) & scripted:
        return str(scripted.pop())
    if len(links) != 1:
        return ""
    (link,) = links
    return link if link == canonical or _MOVED.search(_TAG.sub(" ", shown)) else ""


def _attributes(text: str) -> dict[str, str]:
    return {name.lower(): unescape(a or b or c) for name, a, b, c in _ATTRIBUTE.findall(text)}


def _elsewhere(target: str, url: str) -> str:
    """The target as an address, when it is another one than the page's own and one of the web."""
    try:
        there, here = parse_url(target, url), parse_url(url)
    except PinciteError:
        return ""
    if there.scheme not in {"http", "https"} or there.href.partition("#")[0] == here.href.partition("#")[0]:
        return ""
    return there.href


# RFC 9110 §15.4: 300 leaves the choice to a reader, 304 is about a copy that one has, 305 and 306 are gone.
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
    # Two targets: a cache in between and we could follow different ones.
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
