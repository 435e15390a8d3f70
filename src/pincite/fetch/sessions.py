"""Headers of the operator's own for single sites, such as the cookie of a login. Never sent anywhere else.

An entry holds for one origin: scheme, host and port must be the same at every hop, so that a redirect to another host,
to a subdomain or to plain HTTP takes nothing along. The values stay out of logs, captures and errors.
"""

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Final

from pincite.domain.errors import InvalidSetting, PinciteError
from pincite.domain.frozen import dataclass
from pincite.urls import ParsedUrl, parse_url

NOTE: Final = "read with a session of the operator's"
_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE: Final = re.compile(r"[\t\x20-\x7e]{1,8000}")
# What frames the message or says who asks is not the operator's to set (RFC 9110 §7.6.1).
_OURS: Final = frozenset(
    "host content-length transfer-encoding connection keep-alive te trailer upgrade expect user-agent "
    "accept-encoding proxy-authorization proxy-connection".split()
)


@dataclass(frozen=True, slots=True)
class SiteSessions:
    """Headers by origin (`https://wiki.example.com`)."""

    by_origin: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)

    @classmethod
    def parsed(cls, setting: Mapping[str, str]) -> "SiteSessions":
        """The sessions that the setting `site_sessions` states: `Name: value`, several on lines of their own.

        A bare host means HTTPS; `http://host` must be written out.

        Errors:
            InvalidSetting: an address or a header that is none; the message never holds a value.
        """
        return cls({_origin(site): _headers(site, text) for site, text in setting.items()})

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that have a session."""
        return tuple(dict.fromkeys(parse_url(origin).host for origin in self.by_origin))

    def of(self, url: ParsedUrl) -> Mapping[str, str]:
        """The headers for exactly this origin; empty for every other."""
        return self.by_origin.get(url.origin, {})


NO_SESSIONS: Final = SiteSessions()


def _origin(site: str) -> str:
    written = site if "://" in site else f"https://{site}"
    try:
        parsed = parse_url(written)
    except PinciteError:
        raise _wrong(site, "is no host and no origin") from None
    if parsed.scheme not in {"http", "https"} or parsed.has_userinfo or parsed.target not in {"", "/"}:
        raise _wrong(site, "is more than an origin")
    return parsed.origin


def _headers(site: str, text: str) -> dict[str, str]:
    headers = {}
    for line in filter(None, (line.strip() for line in text.splitlines())):
        name, colon, value = line.partition(":")
        value = value.strip()
        if not colon or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise _wrong(site, "holds a line that is not Name: value")
        if name.lower() in _OURS:
            raise _wrong(site, f"sets {name}, which is Pincite's to set")
        headers[name] = value
    if not headers:
        raise _wrong(site, "holds no header")
    return headers


def _wrong(site: str, what: str) -> InvalidSetting:
    return InvalidSetting(
        f"site_sessions: the entry {site[:80]!r} {what}",
        hint='Write {"wiki.example.com" = "Cookie: session=..."}.',
        context={"setting": "site_sessions"},
    )
