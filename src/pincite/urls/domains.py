"""Host names: registrable domains by the Public Suffix List, and domain lists of people."""

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

import ada_url

from pincite.domain.errors import InvalidUrl
from pincite.urls.parse import LOCAL_SCHEME, parse_url

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList


@lru_cache(maxsize=1)
def _suffixes() -> "PublicSuffixList":
    # Reading the bundled list takes tens of milliseconds: only when a domain is asked for.
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()


def is_public_suffix(host: str) -> bool:
    """Whether `host` is a suffix under which others register names (`co.uk`, `github.io`, `com`)."""
    return _suffixes().privatesuffix(host.rstrip(".").lower()) is None


@lru_cache(maxsize=8192)
def registrable_domain(url_or_host: str) -> str:
    """The domain someone registered: `bbc.co.uk` for `https://news.bbc.co.uk/x`. An address is its own domain.

    A page of a local library (`local:NAME/path`) belongs to `local:NAME`.

    Errors:
        InvalidUrl: neither a URL nor a host name.

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
    return _suffixes().privatesuffix(host) or host


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
