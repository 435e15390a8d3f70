"""The identity of a page for deduplication, caching and counting. What is sent is never changed by this."""

import re

from pincite.domain.errors import InvalidUrl
from pincite.urls.domains import is_public_suffix
from pincite.urls.parse import LOCAL_SCHEME, ParsedUrl, parse_url
from pincite.urls.policy import vet_url
from pincite.urls.tracking import GIT_HOSTS, MOBILE_HOSTS, SITE_NAMES, WIKIS, is_tracking
from pincite.urls.works import work_of
from pincite.urls.wrappers import unwrapped

_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_SESSION_PATH = re.compile(r";(?:jsessionid|phpsessid|sid)=[^/;]*", re.IGNORECASE)
_INDEX = re.compile(r"/(?:index\.(?:html?|php)|default\.aspx?)$", re.IGNORECASE)
_UNWRAPS_MAX = 5


def url_key(url: str) -> str:
    """The identity of the page behind `url`: a work id where the URL names one, else the normalised URL.

    Two URLs with one key are one page. Idempotent. `local:NAME/path` identities of local libraries stand for
    themselves.

    Errors:
        InvalidUrl: not an http or https URL.
        BlockedAddress: a redirector that leads to an address that may not be fetched.
    """
    text = url.strip(" ")
    if text.startswith(LOCAL_SCHEME):
        return text.split("#", 1)[0]
    if _is_work(text):
        return text
    parsed = _page(text)
    return work_of(parsed) or _normalised(parsed)


def page_key(url: str) -> str:
    """As `url_key`, without works: the abstract and the PDF of one paper are two pages. For caches.

    Errors: those of `url_key`.
    """
    text = url.strip(" ")
    return text.split("#", 1)[0] if text.startswith(LOCAL_SCHEME) else _normalised(_page(text))


def _is_work(text: str) -> bool:
    return text.startswith(("doi:", "arxiv:", "pmid:", "pmcid:", "rfc:"))


def _page(text: str) -> ParsedUrl:
    parsed = parse_url(text)
    for _ in range(_UNWRAPS_MAX):
        inner = unwrapped(parsed) if parsed.scheme in {"http", "https"} else None
        if inner is None:
            break
        parsed = parse_url(vet_url(inner))  # what a redirector names gets the full policy
    if parsed.scheme not in {"http", "https"}:
        raise InvalidUrl("only http and https URLs name a page", reason="scheme_denied")
    return parsed


def _normalised(url: ParsedUrl) -> str:
    host = _host(url)
    path = _decoded(url.path)
    query = _decoded(url.query) if url.query else ""
    if _is_wiki(host):
        path = path.replace("%20", "_")
    if host == "youtu.be" and path.strip("/"):
        host, query, path = "youtube.com", f"v={path.strip('/')}" + (f"&{query}" if query else ""), "/watch"
    query = _query(query, host)
    path = _path(path, host, bare=not query)
    scheme = "https" if url.has_default_port else url.scheme
    authority = f"[{host}]" if ":" in host else host
    port = "" if url.has_default_port else f":{url.port}"
    fragment = f"#{url.fragment}" if url.fragment.startswith("!") else ""
    return f"{scheme}://{authority}{port}{path}" + (f"?{query}" if query else "") + fragment


def _host(url: ParsedUrl) -> str:
    host = url.host
    if url.is_literal:
        return host
    host = host.rstrip(".")
    rest = host.removeprefix("www.")
    if rest != host and "." in rest and not is_public_suffix(rest):
        host = rest
    head, middle, tail = host.partition(".m.")
    if middle and tail in WIKIS:
        return f"{head}.{tail}"
    return MOBILE_HOSTS.get(host, host)


def _is_wiki(host: str) -> bool:
    return host.partition(".")[2] in WIKIS


def _path(path: str, host: str, *, bare: bool) -> str:
    """The path without session ids, index files and trailing slashes, until nothing more can go."""
    while True:
        shorter = _SESSION_PATH.sub("", path) if ";" in path else path
        if bare:
            shorter = _INDEX.sub("/", shorter)
        shorter = shorter.rstrip("/") or "/"
        if host in GIT_HOSTS and shorter.count("/") == 2:
            shorter = shorter.removesuffix(".git")
        if shorter == path:
            return path
        path = shorter


def _query(query: str, host: str) -> str:
    if not query:
        return ""
    site = next((names for name, names in SITE_NAMES.items() if host == name or host.endswith("." + name)), frozenset())
    kept = []
    for piece in query.split("&"):
        name = piece.partition("=")[0]
        if piece and not is_tracking(name) and name.lower() not in site:
            kept.append((name, piece))
    return "&".join(piece for _, piece in sorted(kept, key=lambda pair: pair[0]))


def _decoded(text: str) -> str:
    """Unreserved characters decoded, other escapes in upper case; repeated, since decoding can spell a new escape.

    Source: RFC 3986 §6.2.2.1 and §6.2.2.2.
    """
    while "%" in text:
        plainer = _ESCAPE.sub(_unescaped, text)
        if plainer == text:
            break
        text = plainer
    return text


def _unescaped(match: re.Match[str]) -> str:
    value = int(match[1], 16)
    return chr(value) if value in _UNRESERVED else match[0].upper()
