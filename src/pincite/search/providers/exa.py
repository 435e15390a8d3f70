"""Exa: POST /search with x-api-key. Restrictions may be relaxed by the engine, so filters are re-checked here."""

from datetime import UTC, datetime, time
from typing import Any, ClassVar

from pincite.apis import Answer, ApiSettings, out_of_credit, wrong_shape
from pincite.domain.errors import PinciteError
from pincite.domain.search import Query, SearchResponse, Topic
from pincite.search.catalogue import CATALOGUE
from pincite.search.provider import ApiProvider, Surroundings, bad_request, checked, key_of, rows_in
from pincite.search.results import Extras, Row, money

_CARD = CATALOGUE["exa"]
_CATEGORY = {Topic.NEWS: "news", Topic.RESEARCH: "publication"}
_QUOTA_TAGS = {"NO_MORE_CREDITS", "API_KEY_BUDGET_EXCEEDED", "TEAM_BUDGET_EXCEEDED"}


class Exa(ApiProvider):
    """Implements `ports.SearchProvider`."""

    name = "exa"
    statuses: ClassVar = {401: "key", 402: "credit", 403: "plan", 429: "rate"}

    def __init__(self, settings: ApiSettings, around: Surroundings) -> None:
        super().__init__(settings, around, {"x-api-key": key_of(self.name, settings)})

    async def search(self, query: Query) -> SearchResponse:
        """One search of type auto with highlights as snippets (part of the price)."""
        answer = await self.asked(self.api.post_json("/search", request_body(query)), query)
        body = checked(answer, answer.object(), "results")
        if "results" not in body:
            raise wrong_shape(self.name, "results are missing")
        codes = [str(row.get("code", ""))[:40].lower() for row in rows_in(self.name, body.get("notices"), "notices")]
        rows = [
            Row(row.get("title"), row.get("url"), _snippet(row), row.get("score"), row.get("publishedDate"))
            for row in rows_in(self.name, body["results"], "results")
        ]
        reported = body.get("costDollars")
        told = money(reported.get("total")) if isinstance(reported, dict) else None
        extras = Extras(cost_usd=self.cost(query, told), reason=f"exa: {', '.join(codes)}" if codes else "")
        return self.response(query, rows, extras)

    def trouble(self, answer: Answer) -> PinciteError:
        """Its tags say more than its statuses: a 403 may be the plan, the money or the request."""
        body = answer.quiet_object()
        inner = body.get("error")
        named = (inner.get("tag") or inner.get("code") or inner.get("type")) if isinstance(inner, dict) else ""
        tag = str(body.get("tag") or named or "").upper()
        if tag in _QUOTA_TAGS:
            return out_of_credit(self.name)
        if answer.status == 403 and tag not in {"", "ACCESS_DENIED", "FEATURE_DISABLED"}:
            return bad_request(self.name, self.said(answer) or tag)
        return super().trouble(answer)


def request_body(query: Query) -> dict[str, Any]:
    """The body: highlights of 400 characters, no text and no images."""
    constraints = query.constraints
    body: dict[str, Any] = {
        "query": query.text,
        "type": "auto",
        "numResults": min(query.max_results, _CARD.max_results),
        "contents": {"highlights": {"maxCharacters": 400}},
    }
    # The engine takes one list or the other; the one left out is applied here to the results.
    if constraints.include_domains:
        body["includeDomains"] = list(constraints.include_domains)
    elif constraints.exclude_domains:
        body["excludeDomains"] = list(constraints.exclude_domains)
    if constraints.since:
        body["startPublishedDate"] = datetime.combine(constraints.since, time.min, UTC).isoformat()
    if constraints.until:
        body["endPublishedDate"] = datetime.combine(constraints.until, time.max, UTC).isoformat(timespec="seconds")
    if query.topic in _CATEGORY:
        body["category"] = _CATEGORY[query.topic]
    if query.region:
        body["userLocation"] = query.region[-2:].upper()
    return body


def _snippet(row: Any) -> Any:
    highlights = row.get("highlights")
    if isinstance(highlights, list) and highlights:
        return " … ".join(text for text in highlights if isinstance(text, str))
    return row.get("summary") or row.get("text")
