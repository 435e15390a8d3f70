"""ZenRows: GET /v1/ with the key as a query parameter, so no URL of a call may ever be shown."""

from decimal import Decimal

from pincite.domain.errors import (
    DeadLink,
    NetworkError,
    PageBlocked,
    PinciteError,
    ProviderBadReply,
    Timeout,
    TooLarge,
)
from pincite.domain.page import FetchRequest, Render
from pincite.fetch.hosted import HostedScraper, HostedSurroundings, Scraped
from pincite.fetch.hosted_api import HostedAnswer, HostedApi, HostedSettings, bad_key, out_of_credit, rate_limited
from pincite.urls.parse import ParsedUrl

BASE_URL = "https://api.zenrows.com"
_NEEDS_MORE = "REQS002"
_QUOTA = frozenset({"AUTH004", "AUTH005", "AUTH010", "AUTH011", "AUTH012"})


class ZenRowsScraper(HostedScraper):
    """Implements `ports.FetchBackend`. The plain mode is tried first; the costly one only when ZenRows asks for it."""

    name = "zenrows"
    unit_usd = Decimal(0)  # whether X-Request-Cost counts money or credits is not documented: booked by the page
    page_usd = Decimal("0.007")  # the dearest mode of the Developer plan, read 2026-05

    def __init__(self, settings: HostedSettings, around: HostedSurroundings) -> None:
        super().__init__(HostedApi(self.name, settings), around)
        self._key = settings.api_key or ""

    async def _scrape(self, request: FetchRequest, url: ParsedUrl) -> Scraped:
        params = {"url": url.sent, "apikey": self._key}
        if request.render is Render.ALWAYS:
            params["js_render"] = "true"
        answer = await self._api.get("/v1/", params)
        if answer.status == 400 and _code(answer) == _NEEDS_MORE and "js_render" not in params:
            answer = await self._api.get("/v1/", {**params, "mode": "auto"})
        if answer.status != 200:
            raise _error(answer)
        return Scraped(
            body=answer.body,
            content_type=answer.headers.get("content-type", "text/html"),
            final_url=answer.headers.get("zr-final-url", url.sent),
            cost=answer.headers.get("x-request-cost", ""),
        )


def _code(answer: HostedAnswer) -> str:
    return str((answer.quiet_object() or {}).get("code") or "")


def _error(answer: HostedAnswer) -> PinciteError:  # a table
    code = _code(answer)
    match answer.status:
        case 401:
            return bad_key("zenrows")
        case 402:
            return out_of_credit("zenrows")
        case 403:
            return bad_key("zenrows") if code in {"AUTH009", "BLK0001"} else _blocked()
        case 404 | 410:
            return DeadLink("zenrows says the page is gone", reason="http_404")
        case 413:
            return TooLarge("the page is larger than the ZenRows plan allows", reason="hosted_too_large")
        case 422 | 424:
            return _blocked()
        case 429:
            return rate_limited("zenrows", None)
        case 504:
            return Timeout("zenrows gave up on the page", reason="hosted_timeout")
        case status if status >= 500:
            return NetworkError(f"zenrows failed ({status})", reason="hosted_failed")
        case status if code in _QUOTA:
            return out_of_credit("zenrows")
        case status:
            return ProviderBadReply(f"zenrows refused the call ({status})", reason="bad_request", retryable=False)


def _blocked() -> PinciteError:
    return PageBlocked("zenrows could not get the page", reason="hosted_refused")
