"""Links that only lead to another link: redirectors of search engines and social sites, AMP caches and viewers."""

import base64
import binascii
import re

from pincite.urls.parse import ParsedUrl, decode, query_value

_GOOGLE = re.compile(r"(?:www\.)?google\.(?:com|[a-z]{2,3}|com?\.[a-z]{2})")
_BY_QUERY: tuple[tuple[re.Pattern[str], str, tuple[str, ...]], ...] = (
    (_GOOGLE, "/url", ("q", "url")),
    (re.compile(r"(?:l|lm)\.facebook\.com"), "/l.php", ("u",)),
    (re.compile(r"l\.(?:instagram|threads)\.(?:com|net)"), "/", ("u",)),
    (re.compile(r"(?:www\.|html\.|lite\.)?duckduckgo\.com"), "/l/", ("uddg",)),
    (re.compile(r"(?:www\.)?youtube\.com"), "/redirect", ("q",)),
    (re.compile(r"out\.reddit\.com"), "/", ("url",)),
    (re.compile(r"t\.umblr\.com"), "/redirect", ("z",)),
    (re.compile(r"(?:www\.)?linkedin\.com"), "/redir/redirect", ("url",)),
    (re.compile(r"steamcommunity\.com"), "/linkfilter/", ("url", "u")),
    (re.compile(r"(?:m\.)?vk\.com"), "/away.php", ("to",)),
    (re.compile(r"[a-z0-9]+\.safelinks\.protection\.outlook\.com"), "/", ("url",)),
)
_AMP_PATH = re.compile(r"/(?:[a-z]/)?(?P<tls>s/)?(?P<rest>[^/]+\.[^/]+(?:/.*)?)", re.DOTALL)
_YAHOO_TARGET = re.compile(r"/RU=(?P<url>[^/]+)/R[KS]=")


def unwrapped(url: ParsedUrl) -> str | None:
    """The text of the URL behind a redirector or an AMP copy, unvetted, or None when this is a page itself."""
    host = url.host.rstrip(".")
    for hosts, path, names in _BY_QUERY:
        if url.path == path and hosts.fullmatch(host):
            return next(filter(None, (query_value(url.query, name) for name in names)), None)
    if host in {"www.bing.com", "bing.com"} and url.path.rstrip("/") == "/ck/a":
        return _bing(query_value(url.query, "u") or "")
    if host == "r.search.yahoo.com" and (match := _YAHOO_TARGET.search(url.path)):
        return decode(match["url"])
    return _amp(url, host)


def _bing(value: str) -> str | None:
    if not value.startswith("a1"):
        return None
    try:
        text = base64.urlsafe_b64decode(value[2:] + "=" * (-len(value[2:]) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    return text if "://" in text else None  # `a1L2ltYWdlcw` is a page of the engine itself


def _amp(url: ParsedUrl, host: str) -> str | None:
    if _GOOGLE.fullmatch(host) and url.path.startswith("/amp/"):
        match = re.fullmatch(r"/(?P<tls>s/)?(?P<rest>.+)", url.path[4:], re.DOTALL)
    elif host.endswith(".cdn.ampproject.org") or host in {"cdn.ampproject.org", "amp.cloudflare.com"}:
        match = _AMP_PATH.fullmatch(url.path)
    else:
        return None
    if match is None:
        return None
    scheme = "https" if match["tls"] else "http"
    return f"{scheme}://{match['rest']}" + (f"?{url.query}" if url.query else "")
