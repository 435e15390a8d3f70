"""Firecrawl search: POST /v2/search with a bearer key."""

import re
from datetime import date
from decimal import Decimal
from typing import Any

from pincite.apis.client import (
    Answer,
    ApiSettings,
    bad_key,
    missing_key,
    out_of_credit,
    rate_limited,
    wait_of,
    wrong_shape,
)
from pincite.domain.errors import PinciteError, ProviderAuth, ProviderBadReply, Timeout
from pincite.domain.search import Query, SearchResponse, Topic
from pincite.search.catalogue import CATALOGUE
from pincite.search.provider import (
    ApiProvider,
    Extras,
    Row,
    Surroundings,
    billed,
    build_response,
    checked,
    clean,
    error_text,
    other_status,
    rows_in,
)
from pincite.search.request import google_tbs, shortened

_CARD = CATALOGUE["firecrawl"]
# List price of a credit, as dated in `search.catalogue`.
_USD_PER_CREDIT = Decimal("0.00099")
_WAIT_IN_TEXT = re.compile(r"retry after (\d{1,5})\s?s", re.IGNORECASE)


class Firecrawl(ApiProvider):
    """Implements `ports.SearchProvider`. A self-hosted server needs no key."""

    name = "firecrawl"

    def __init__(self, settings: ApiSettings, around: Surroundings) -> None:
        if not settings.api_key and settings.base_url.rstrip("/") == _CARD.base_url:
            raise missing_key(self.name, _CARD.key_variable)
        headers = {"Authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
        super().__init__(settings, around, headers)

    async def search(self, query: Query) -> SearchResponse:
        """One search of the web or news; pages are not scraped."""
        now = self.around.clock.now()
        body = request_body(query, now.date(), int(self.settings.deadline_s * 1000))
        answer = await self.kept(await self.api.post_json("/v2/search", body), query)
        if answer.status != 200:
            raise _error(answer, wait_of(answer, now))
        reply = answer.object()
        if reply.get("success") is False:
            raise _failure(answer, error_text(reply), wait_of(answer, now))
        data = checked(answer, reply, "data").get("data")
        if not isinstance(data, dict):
            raise wrong_shape(self.name, "data is not an object")
        kind = "news" if query.topic is Topic.NEWS else "web"
        rows = [
            Row(row.get("title"), row.get("url"), row.get("description") or row.get("snippet"), None, row.get("date"))
            for row in rows_in(self.name, data.get(kind), f"data.{kind}")
        ]
        return build_response(
            self.name, query, rows, now, Extras(cost_usd=_cost(reply, query)), policy=self.around.policy
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


def _cost(body: dict[str, Any], query: Query) -> Decimal:
    told = billed(body.get("creditsUsed"), _USD_PER_CREDIT)
    return told if told is not None else _CARD.cost(query.depth) or Decimal(0)


def _failure(answer: Answer, text: str, wait_s: float | None) -> PinciteError:
    """What a 200 that says `success: false` means: its words are all there is."""
    said = text.lower()
    if "credits" in said:
        return out_of_credit("firecrawl")
    if "rate limit" in said or "concurrency limit" in said:
        return rate_limited("firecrawl", _wait(text, wait_s))
    return ProviderBadReply(
        f"firecrawl did not succeed: {clean(text, 160) or 'no reason given'}",
        reason="not_successful",
        context={"provider": "firecrawl", "status": answer.status},
    )


def _wait(text: str, wait_s: float | None) -> float | None:
    told = _WAIT_IN_TEXT.search(text)
    return wait_s if wait_s is not None else float(told[1]) if told else None


def _error(answer: Answer, wait_s: float | None) -> PinciteError:
    text = error_text(answer.quiet_object())
    if answer.status == 401:
        return bad_key("firecrawl", _CARD.key_variable)
    if answer.status == 402:
        return out_of_credit("firecrawl")
    if answer.status == 403:
        return ProviderAuth("firecrawl does not allow this with the key", reason="not_in_plan")
    if answer.status == 408:
        return Timeout("firecrawl gave up on the search", reason="search_answer")
    if answer.status == 429:
        return rate_limited("firecrawl", _wait(text, wait_s))
    return other_status(answer, text, wait_s)
