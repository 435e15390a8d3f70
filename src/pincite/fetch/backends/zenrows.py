"""ZenRows: GET /v1/ with the key as a query parameter, so no URL of a call may ever be shown."""

from datetime import datetime
from decimal import Decimal

from pincite.apis.client import Answer, bad_key, out_of_credit, rate_limited, wait_of
from pincite.domain.errors import (
    DeadLink,
    NetworkError,
    PageBlocked,
    PinciteError,
    ProviderBadReply,
    Timeout,
    TooLarge,
)
from pincite.domain.fetch import FetchRequest, Render
from pincite.fetch.hosted import HostedScraper, Scraped
from pincite.urls.parse import ParsedUrl

BASE_URL = "https://api.zenrows.com"
KEY = "ZENROWS_API_KEY"
_NEEDS_MORE = frozenset({"REQS002", "RESP001"})  # says so; could not get the content in the plain mode
_FORBIDDEN_SITE = "REQS001"
_NO_SUCH_HOST = "RESP007"
_QUOTA = frozenset({"AUTH004", "AUTH005", "AUTH010", "AUTH011", "AUTH012"})


class ZenRowsScraper(HostedScraper):
    """Implements `ports.FetchBackend`. The plain mode is tried first; the costly one, once, only when that fails."""

    name = "zenrows"
    unit_usd = Decimal(0)  # whether X-Request-Cost counts money or credits is not documented: booked by the page
    page_usd = Decimal("0.007")  # the dearest mode of the Developer plan, read 2026-05

    async def _scrape(self, request: FetchRequest, url: ParsedUrl) -> Scraped:
        params = {"url": url.sent, "apikey": self._settings.api_key or ""}
        if request.render is Render.ALWAYS:
            params["js_render"] = "true"
        answer = await self._api.get("/v1/", params)
        if _code(answer) in _NEEDS_MORE and answer.status in {400, 422} and "js_render" not in params:
            answer = await self._api.get("/v1/", {**params, "mode": "auto"})
        if answer.status != 200:
            raise _error(answer, self._around.clock.now())
        return Scraped(
            body=answer.body,
            content_type=answer.headers.get("content-type", "text/html"),
            final_url=answer.headers.get("zr-final-url", url.sent),
            cost=answer.headers.get("x-request-cost", ""),
        )


def _code(answer: Answer) -> str:
    return str(answer.quiet_object().get("code") or "")


def _error(answer: Answer, now: datetime) -> PinciteError:  # a table
    code = _code(answer)
    match answer.status:
        case 401:
            return bad_key("zenrows", KEY)
        case 402:
            return out_of_credit("zenrows")
        case 403:
            return bad_key("zenrows", KEY) if code == "AUTH009" else _blocked()
        case 404 | 410:
            gone = "dns_failed" if code == _NO_SUCH_HOST else f"http_{answer.status}"
            return DeadLink("zenrows says the page is gone", reason=gone)
        case 413:
            return TooLarge("the page is larger than the ZenRows plan allows", reason="hosted_too_large")
        case 422 | 424:
            return _blocked()
        case 429:
            return rate_limited("zenrows", wait_of(answer, now))
        case 504:
            return Timeout("zenrows gave up on the page", reason="hosted_timeout")
        case status if status >= 500:
            return NetworkError(f"zenrows failed ({status})", reason="hosted_failed")
        case _ if code in _QUOTA:
            return out_of_credit("zenrows")
        case _ if code == _FORBIDDEN_SITE:
            return _blocked()
        case status:
            return ProviderBadReply(f"zenrows refused the call ({status})", reason="bad_request", retryable=False)


def _blocked() -> PinciteError:
    return PageBlocked("zenrows could not get the page", reason="hosted_refused")
