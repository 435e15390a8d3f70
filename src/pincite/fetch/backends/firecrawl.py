"""Firecrawl: POST /v2/scrape with a bearer key."""

import re
from datetime import datetime
from decimal import Decimal
from typing import Any

from pincite.apis import Answer, ApiSettings, number, rate_limited, wait_of
from pincite.domain.errors import (
    DeadLink,
    DnsError,
    NetworkError,
    PinciteError,
    ProviderBadReply,
    Timeout,
    TlsError,
    UnsupportedContentType,
)
from pincite.domain.fetch import FetchRequest
from pincite.fetch.hosted import HostedScraper, HostedSurroundings, Scraped
from pincite.urls.parse import ParsedUrl

# A day, as pages stay fresh here (`fetch.freshness.PAGE`): its cached copy costs it no visit.
_MAX_AGE_MS = 86_400_000
_WAIT_IN_TEXT = re.compile(r"retry after (\d{1,5})\s?s", re.IGNORECASE)


class FirecrawlScraper(HostedScraper):
    """Implements `ports.FetchBackend`. The page's own HTML is kept where it is given, so that our reader reads it."""

    name = "firecrawl"
    base_url = "https://api.firecrawl.dev"
    unit_usd = page_usd = Decimal("0.00099")  # a credit, Standard plan by the month, read 2026-08

    def __init__(self, settings: ApiSettings, around: HostedSurroundings) -> None:
        headers = {"Authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
        super().__init__(settings, around, headers)

    async def _scrape(self, request: FetchRequest, url: ParsedUrl) -> Scraped:
        body: dict[str, Any] = {
            "url": url.sent,
            "formats": ["rawHtml", "markdown"],
            "onlyMainContent": False,
            "maxAge": 0 if request.force_refresh else _MAX_AGE_MS,
            "storeInCache": False,
            "skipTlsVerification": False,
            "timeout": int(self._settings.deadline_s * 1000),
        }
        if request.prefer_language:
            body["location"] = {"languages": [request.prefer_language]}
        answer = await self._api.post_json("/v2/scrape", body)
        if answer.status != 200:
            raise self._trouble(answer)
        reply = answer.object()
        data = reply.get("data")
        if reply.get("success") is not True or not isinstance(data, dict):
            raise ProviderBadReply("firecrawl: success without data", reason="wrong_shape")
        return _scraped(data, url)

    def _trouble(self, answer: Answer) -> PinciteError:
        """As everywhere; its own code says what a 500 is, its words how long to wait."""
        reply = answer.quiet_object()
        match answer.status:
            case 408 | 504:
                return Timeout("firecrawl gave up on the page", reason="hosted_timeout")
            case 429 if wait_of(answer, self._around.clock.now()) is None:
                told = _WAIT_IN_TEXT.search(str(reply.get("error") or ""))
                return rate_limited(self.name, float(told[1]) if told else None)
            case 500:
                return _engine_error(str(reply.get("code") or ""))
        return super()._trouble(answer)


def _scraped(data: dict[str, Any], url: ParsedUrl) -> Scraped:
    given = data.get("metadata")
    metadata: dict[str, Any] = given if isinstance(given, dict) else {}
    html, markdown = data.get("rawHtml"), data.get("markdown")
    body, content_type = (
        (html, "text/html; charset=utf-8") if isinstance(html, str) and html.strip() else (markdown, "text/markdown")
    )
    if not isinstance(body, str):
        raise ProviderBadReply("firecrawl: neither rawHtml nor markdown", reason="wrong_shape")
    status, used = metadata.get("statusCode"), number(metadata.get("creditsUsed"))
    final, cached = metadata.get("url"), metadata.get("cachedAt")
    return Scraped(
        body=body.encode(),
        content_type=content_type,
        final_url=final if isinstance(final, str) else url.sent,
        status=status if isinstance(status, int) and 100 <= status < 600 else 200,
        fetched_at=_moment(cached) if metadata.get("cacheState") == "hit" else None,
        cost="" if used is None else f"{used:g} credits",
        units=None if used is None else Decimal(str(used)),
    )


def _moment(value: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def _engine_error(code: str) -> PinciteError:
    match code:
        case "SCRAPE_DNS_RESOLUTION_ERROR":
            return DnsError("firecrawl can't look the host up", reason="dns_failed", retryable=False)
        case "SCRAPE_SSL_ERROR":
            return TlsError("firecrawl met a bad certificate", reason="tls_error")
        case "SCRAPE_UNSUPPORTED_FILE_ERROR":
            return UnsupportedContentType("firecrawl can't read this kind of file", reason="hosted_unsupported")
        case "SCRAPE_SITE_ERROR":
            return DeadLink("firecrawl can't load the site", reason="hosted_site_error")
        case _:
            return NetworkError("firecrawl could not get the page", reason="hosted_failed")
