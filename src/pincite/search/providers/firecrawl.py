"""Firecrawl search: POST /v2/search with a bearer key."""

import re
from datetime import date
from decimal import Decimal
from typing import Any, ClassVar

from pincite.apis import Answer, ApiSettings, out_of_credit, wrong_shape
from pincite.domain.errors import PinciteError, ProviderBadReply, Timeout
from pincite.domain.search import Query, SearchResponse, Topic
from pincite.search.catalogue import CATALOGUE
from pincite.search.provider import ApiProvider, Surroundings, checked, key_of
from pincite.search.request import google_tbs, shortened
from pincite.search.results import Extras, billed, clean

_CARD = CATALOGUE["firecrawl"]
# List price of a credit, as dated in `search.catalogue`.
_USD_PER_CREDIT = Decimal("0.00099")
_WAIT_IN_TEXT = re.compile(r"retry after (\d{1,5})\s?s", re.IGNORECASE)


class Firecrawl(ApiProvider):
    """Implements `ports.SearchProvider`. A self-hosted server needs no key."""

    name = "firecrawl"
    statuses: ClassVar = {401: "key", 402: "credit", 403: "plan", 429: "rate"}

    def __init__(self, settings: ApiSettings, around: Surroundings) -> None:
        needs_key = bool(settings.api_key) or settings.base_url.rstrip("/") == _CARD.base_url
        headers = {"Authorization": f"Bearer {key_of(self.name, settings)}"} if needs_key else {}
        super().__init__(settings, around, headers)

    async def search(self, query: Query) -> SearchResponse:
        """One search of the web or news; pages are not scraped."""
        body = request_body(query, self.around.clock.now().date(), int(self.settings.deadline_s * 1000))
        answer = await self.asked(self.api.post_json("/v2/search", body), query)
        reply = answer.object()
        if reply.get("success") is False:
            raise self._failure(answer)
        data = checked(answer, reply, "data").get("data")
        if not isinstance(data, dict):
            raise wrong_shape(self.name, "data is not an object")
        kind = "news" if query.topic is Topic.NEWS else "web"
        rows = self.listed(data.get(kind), snippet="description|snippet", published="date")
        return self.response(
            query, rows, Extras(cost_usd=self.cost(query, billed(reply.get("creditsUsed"), _USD_PER_CREDIT)))
        )

    def trouble(self, answer: Answer) -> PinciteError:
        """As by its statuses; 408 is its own deadline."""
        if answer.status == 408:
            return Timeout("firecrawl gave up on the search", reason="search_answer")
        return super().trouble(answer)

    def wait_s(self, answer: Answer) -> float | None:
        """What its header says, else what its words say."""
        told = _WAIT_IN_TEXT.search(self.said(answer))
        wait_s = super().wait_s(answer)
        return wait_s if wait_s is not None else float(told[1]) if told else None

    def _failure(self, answer: Answer) -> PinciteError:
        """What a 200 that says `success: false` means: its words are all there is."""
        said = self.said(answer)
        if "credits" in said.lower():
            return out_of_credit(self.name)
        if "rate limit" in said.lower() or "concurrency limit" in said.lower():
            return self.limited(answer)
        return ProviderBadReply(
            f"firecrawl did not succeed: {clean(said, 160) or 'no reason given'}",
            reason="not_successful",
            context={"provider": self.name, "status": answer.status},
        )


def request_body(query: Query, today: date, timeout_ms: int) -> dict[str, Any]:
    """The body: links only, nothing is scraped."""
    constraints = query.constraints
    body: dict[str, Any] = {
        "query": shortened(query.text, _CARD.query_chars),
        "limit": min(query.max_results, _CARD.max_results),
        "sources": ["news" if query.topic is Topic.NEWS else "web"],
        "timeout": timeout_ms,
    }
    if query.topic is Topic.RESEARCH:
        body["categories"] = ["research"]
    elif constraints.file_type == "pdf":
        body["categories"] = ["pdf"]
    if constraints.include_domains:
        body["includeDomains"] = list(constraints.include_domains)
    elif constraints.exclude_domains:
        body["excludeDomains"] = list(constraints.exclude_domains)
    if tbs := google_tbs(constraints.since, constraints.until, today):
        body["tbs"] = tbs
    if query.region:
        body["country"] = query.region[-2:].upper()
    return body
