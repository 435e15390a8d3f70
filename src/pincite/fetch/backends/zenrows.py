"""ZenRows: GET /v1/ with the key as a query parameter, so no URL of a call may ever be shown."""

from decimal import Decimal

from pincite.apis import Answer, bad_key, out_of_credit
from pincite.domain.errors import DeadLink, PageBlocked, PinciteError, Timeout
from pincite.domain.fetch import FetchRequest, Render
from pincite.fetch.hosted import HostedScraper, Scraped
from pincite.urls.parse import ParsedUrl

KEY = "ZENROWS_API_KEY"
_NEEDS_MORE = frozenset({"REQS002", "RESP001"})  # says so; could not get the content in the plain mode
_FORBIDDEN_SITE = "REQS001"
_NO_SUCH_HOST = "RESP007"
_QUOTA = frozenset({"AUTH004", "AUTH005", "AUTH010", "AUTH011", "AUTH012"})


class ZenRowsScraper(HostedScraper):
    """Implements `ports.FetchBackend`. The plain mode is tried first; the costly one, once, only when that fails."""

    name = "zenrows"
    base_url = "https://api.zenrows.com"
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
            raise self._trouble(answer)
        return Scraped(
            body=answer.body,
            content_type=answer.headers.get("content-type", "text/html"),
            final_url=answer.headers.get("zr-final-url", url.sent),
            cost=answer.headers.get("x-request-cost", ""),
        )

    def _trouble(self, answer: Answer) -> PinciteError:
        """As everywhere, but that its codes tell the key, the money, the site and the page apart."""
        code = _code(answer)
        match answer.status:
            case 404 | 410:
                gone = "dns_failed" if code == _NO_SUCH_HOST else f"http_{answer.status}"
                return DeadLink("zenrows says the page is gone", reason=gone)
            case 403 if code == "AUTH009":
                return bad_key(self.name, KEY)
            case 504:
                return Timeout("zenrows gave up on the page", reason="hosted_timeout")
            case 403 | 422 | 424:
                return _blocked()
            case 401 | 402 | 413 | 429:
                return super()._trouble(answer)
            case status if status < 500 and code in _QUOTA:
                return out_of_credit(self.name)
            case status if status < 500 and code == _FORBIDDEN_SITE:
                return _blocked()
        return super()._trouble(answer)


def _code(answer: Answer) -> str:
    return str(answer.quiet_object().get("code") or "")


def _blocked() -> PinciteError:
    return PageBlocked("zenrows could not get the page", reason="hosted_refused")
