"""Calls to a hosted scraper: an origin the operator stated, trusted exactly. No redirect, no proxy, nothing logged."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import anyio

from pincite.domain.errors import (
    InvalidSetting,
    NetworkError,
    ProviderAuth,
    ProviderBadReply,
    ProviderQuota,
    RateLimited,
    Timeout,
    TlsError,
    TooLarge,
)
from pincite.fetch.limits import USER_AGENT
from pincite.runtime.metering import count_request

_MAX_BYTES = 52_000_000
_CONNECT_S = 5.0


@dataclass(frozen=True, slots=True)
class HostedSettings:
    """What the operator states for one scraper. The key shows in no `repr`."""

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    deadline_s: float = 30.0


@dataclass(frozen=True, slots=True)
class HostedAnswer:
    """Status, headers (lower-case names) and body of one call."""

    scraper: str
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    def object(self) -> dict[str, Any]:
        """The body as a JSON object. Errors: ProviderBadReply."""
        found = self.quiet_object()
        if found is None:
            raise ProviderBadReply(f"{self.scraper} answered {self.status} without a JSON object", reason="not_json")
        return found

    def quiet_object(self) -> dict[str, Any] | None:
        """The body as a JSON object, or None."""
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None


class HostedApi:
    """One scraper's API. Opened on first use, closed by whoever made it."""

    def __init__(self, scraper: str, settings: HostedSettings, headers: Mapping[str, str] | None = None) -> None:
        parts = urlsplit(settings.base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query:
            raise InvalidSetting(
                f"the base URL of {scraper} must be http(s)://host[:port][/path]",
                hint=f"Set PINCITE_{scraper.upper()}_BASE_URL.",
            )
        self._scraper = scraper
        self._base = settings.base_url.rstrip("/")
        self._deadline_s = settings.deadline_s
        self._headers = {"User-Agent": USER_AGENT, **(headers or {})}
        self._session: aiohttp.ClientSession | None = None

    async def aclose(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def post_json(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> HostedAnswer:
        """The answer to POST. Errors: NetworkError, Timeout, TlsError, TooLarge, ProviderBadReply."""
        return await self._call("POST", path, {"json": dict(body), "headers": dict(headers or {})})

    async def get(self, path: str, params: Mapping[str, str]) -> HostedAnswer:
        """The answer to GET. Errors: as `post_json`."""
        return await self._call("GET", path, {"params": dict(params)})

    async def _call(self, method: str, path: str, options: dict[str, Any]) -> HostedAnswer:
        count_request()
        try:
            with anyio.fail_after(self._deadline_s):
                async with self._opened().request(
                    method, self._base + path, allow_redirects=False, **options
                ) as response:
                    if 300 <= response.status < 400:
                        raise ProviderBadReply(
                            f"{self._scraper} answered with a redirect, which is not followed", reason="redirected"
                        )
                    body = bytearray()
                    async for chunk in response.content.iter_any():
                        body += chunk
                        if len(body) > _MAX_BYTES:
                            raise TooLarge(f"{self._scraper} sent too much", reason="decoded_too_large")
                    headers = {name.lower(): value for name, value in response.headers.items()}
                    return HostedAnswer(self._scraper, response.status, headers, bytes(body))
        except TimeoutError:
            raise Timeout(f"{self._scraper} did not answer in time", reason="hosted_deadline") from None
        except aiohttp.ClientSSLError:
            raise TlsError(f"{self._scraper} has no valid certificate", reason="tls_error") from None
        except (aiohttp.ClientError, OSError):  # their texts may hold the URL, and that the key
            raise NetworkError(f"{self._scraper} can't be reached", reason="hosted_unreachable") from None

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                headers=self._headers,
                trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S),
            )
        return self._session


def bad_key(scraper: str) -> ProviderAuth:
    """The error for a missing or wrong key."""
    return ProviderAuth(f"{scraper} does not accept the key", reason="bad_key", hint=f"Set {scraper.upper()}_API_KEY.")


def out_of_credit(scraper: str) -> ProviderQuota:
    """The error for an account without credit."""
    return ProviderQuota(f"{scraper} says the account is out of credit", reason="out_of_credit")


def rate_limited(scraper: str, retry_after_s: float | None) -> RateLimited:
    """The error for too many calls."""
    return RateLimited(f"{scraper} asks to slow down", reason="hosted_rate", retry_after_s=retry_after_s)
