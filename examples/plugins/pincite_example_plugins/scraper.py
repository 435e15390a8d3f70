"""A hosted scraper: a service that fetches a page and answers with its HTML in JSON."""

from decimal import Decimal

from pincite import FetchRequest
from pincite.apis import ApiSettings, rate_limited, wait_of
from pincite.domain.errors import ProviderBadReply
from pincite.fetch.hosted import HostedScraper, HostedSurroundings, Scraped
from pincite.urls.parse import ParsedUrl


class MirrorScraper(HostedScraper):
    """Implements `pincite.ports.FetchBackend`. Addresses and robots.txt are checked before it is asked."""

    name = "mirror"
    base_url = "https://mirror.example"
    page_usd = Decimal("0.001")  # what a page costs where the answer does not say

    def __init__(self, settings: ApiSettings, around: HostedSurroundings) -> None:
        super().__init__(settings, around, {"Accept": "application/json"})

    async def _scrape(self, request: FetchRequest, url: ParsedUrl) -> Scraped:
        answer = await self._api.post_json("/scrape", {"url": url.sent})
        if answer.status == 429:
            raise rate_limited(self.name, wait_of(answer, self._around.clock.now()) or 60.0)
        reply = answer.object()
        if answer.status != 200 or not isinstance(reply.get("html"), str):
            raise ProviderBadReply(f"{self.name}: no page in the answer", reason="wrong_shape")
        return Scraped(body=reply["html"].encode(), content_type="text/html; charset=utf-8", final_url=url.sent)
