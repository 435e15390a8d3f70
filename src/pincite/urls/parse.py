"""One URL parser for checking and for sending (ada, which follows the WHATWG standard), and names of hosts.

Anything that decides about a URL works on a `ParsedUrl`, and what is sent is its `href`. Registrable domains go by the
Public Suffix List.
"""

from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

import ada_url

from pincite.domain.errors import InvalidUrl
from pincite.domain.frozen import dataclass

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList


# Pages of local libraries without a published address are `local:NAME/path`: no URL, never fetched.
LOCAL_SCHEME = "local:"

DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST_IPV4, _HOST_IPV6 = 1, 2


@dataclass(frozen=True, slots=True)
class ParsedUrl:
    """A canonical URL and its parts. `host` has no brackets; `port` is the effective one (0 when unknown)."""

    href: str
    scheme: str
    host: str
    port: int
    path: str
    query: str
    fragment: str
    has_userinfo: bool
    is_literal: bool
    has_default_port: bool

    @property
    def origin(self) -> str:
        """Scheme, host and port as one string: `https://site.example:8443`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.has_default_port else f":{self.port}")

    @property
    def sent(self) -> str:
        """The canonical URL without its fragment: exactly what goes over the wire."""
        return self.href.split("#", 1)[0]

    @property
    def target(self) -> str:
        """Path and query as they stand in the request line."""
        return self.path + (f"?{self.query}" if self.query else "")


# A page's address is looked at six times on its way; an address has at most 8,192 characters.
@lru_cache(maxsize=1024)
def parse_url(url: str, base: str | None = None) -> ParsedUrl:
    """The URL as browsers understand it, relative to `base` where one is given.

    Errors: InvalidUrl (reason `url_invalid`).

    Source: WHATWG URL Standard.
    """
    try:
        parsed = ada_url.URL(url) if base is None else ada_url.URL(url, base)
        href = parsed.href
    except ValueError:  # includes lone surrogates, which can't be encoded
        raise InvalidUrl("this is not a URL", reason="url_invalid") from None
    scheme = parsed.protocol[:-1]
    host = parsed.hostname
    explicit_port = parsed.port
    literal = int(parsed.host_type)
    return ParsedUrl(
        href=href,
        scheme=scheme,
        host=host[1:-1] if literal == _HOST_IPV6 else host,
        port=int(explicit_port) if explicit_port else DEFAULT_PORTS.get(scheme, 0),
        path=parsed.pathname,
        query=parsed.search[1:] if "?" in href else "",
        fragment=parsed.hash[1:] if "#" in href else "",
        has_userinfo="@" in href and bool(parsed.username or parsed.password),
        is_literal=literal in {_HOST_IPV4, _HOST_IPV6},
        has_default_port=not explicit_port,
    )


def decode(text: str) -> str:
    """Percent-decoding as UTF-8; bytes that are not UTF-8 become the replacement character."""
    return unquote_to_bytes(text).decode("utf-8", "replace")


def query_value(query: str, name: str) -> str | None:
    """The first decoded value of `name`, or None."""
    for piece in query.split("&"):
        key, _, value = piece.partition("=")
        if piece and decode(key.replace("+", " ")) == name:
            return decode(value.replace("+", " "))
    return None


@cache
def _suffixes(foreign: bool) -> "PublicSuffixList":
    # Only when a domain is asked for. The library would put 10,000 rules into the form of IDNA; 500 are not in it
    # as they stand, and those are of no use where no label of a host is in it.
    from publicsuffixlist import PSLFILE, PublicSuffixList, encode_idn

    lines = Path(PSLFILE).read_text(encoding="utf-8").split("\n")
    rules = [line for line in lines if line and not line.startswith("//")]
    if foreign:
        others = [rule for rule in rules if not rule.isascii()]
        rules += [("!" if rule[0] == "!" else "") + encode_idn(rule.lstrip("!")) for rule in others]
    return PublicSuffixList(rules, accept_encoded_idn=False)


def _registered(host: str) -> str | None:
    """The shortest name in a host that somebody may register."""
    return _suffixes("xn--" in host).privatesuffix(host)


def is_public_suffix(host: str) -> bool:
    """Whether `host` is a suffix under which others register names (`co.uk`, `github.io`, `com`)."""
    return _registered(host.rstrip(".").lower()) is None


@lru_cache(maxsize=8192)
def registrable_domain(url_or_host: str) -> str:
    """The domain someone registered: `bbc.co.uk` for `https://news.bbc.co.uk/x`. An address is its own domain.

    A page of a local library (`local:NAME/path`) belongs to `local:NAME`.

    Errors: InvalidUrl (neither a URL nor a host name).

    Source: Public Suffix List, both sections, the copy bundled with `publicsuffixlist`.
    """
    if url_or_host.startswith(LOCAL_SCHEME):
        return url_or_host.partition("/")[0]
    parsed = parse_url(url_or_host if "://" in url_or_host else f"http://{url_or_host}/")
    if not parsed.host:
        raise InvalidUrl("this URL has no host", reason="url_invalid")
    host = parsed.host.rstrip(".")
    if parsed.is_literal:
        return host
    return _registered(host) or host


@lru_cache(maxsize=4096)
def _entry(text: str) -> tuple[str, bool, bool]:
    """A list entry as (host, matches itself, matches subdomains)."""
    entry = text.strip().lower()
    own, below = True, True
    if entry.startswith("="):
        entry, below = entry[1:], False
    elif entry.startswith(("*.", ".")):
        entry, own = entry.lstrip("*."), False
    if "://" in entry:
        entry = parse_url(entry).host
    return ada_url.idna_to_ascii(entry).decode().strip(".") or entry.strip("."), own, below


def host_matches(host: str, entries: Iterable[str]) -> bool:
    """Whether a domain list names `host`.

    `site.example` means the host and everything below it, `=site.example` the host alone, `*.site.example` only what
    is below.
    """
    host = host.rstrip(".").lower()
    for text in entries:
        name, own, below = _entry(text)
        if name and ((own and host == name) or (below and host.endswith("." + name))):
            return True
    return False
