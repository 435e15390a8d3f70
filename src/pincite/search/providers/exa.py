"""Exa: POST /search with x-api-key. Restrictions may be relaxed by the engine, so filters are re-checked here."""

from datetime import UTC, datetime, time
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
from pincite.domain.errors import PinciteError, ProviderAuth
from pincite.domain.search import Query, SearchResponse, Topic
from pincite.search.catalogue import CATALOGUE
from pincite.search.provider import (
    ApiProvider,
    Extras,
    Row,
    Surroundings,
    bad_request,
    build_response,
    checked,
    error_text,
    money,
    other_status,
    rows_in,
)

_CARD = CATALOGUE["exa"]
_CATEGORY = {Topic.NEWS: "news", Topic.RESEARCH: "publication"}
_QUOTA_TAGS = {"NO_MORE_CREDITS", "API_KEY_BUDGET_EXCEEDED", "TEAM_BUDGET_EXCEEDED"}


class Exa(ApiProvider):
    """Implements `ports.SearchProvider`."""

    name = "exa"

    def __init__(self, settings: ApiSettings, around: Surroundings) -> None:
        if not settings.api_key:
            raise missing_key(self.name, _CARD.key_variable)
        super().__init__(settings, around, {"x-api-key": settings.api_key})

    async def search(self, query: Query) -> SearchResponse:
        """One search of type auto with highlights as snippets (part of the price)."""
        answer = await self.kept(await self.api.post_json("/search", request_body(query)), query)
        now = self.around.clock.now()
        if answer.status != 200:
            raise _error(answer, wait_of(answer, now))
        body = checked(answer, answer.object(), "results")
        if "results" not in body:
            raise wrong_shape(self.name, "results are missing")
        codes = [str(row.get("code", ""))[:40].lower() for row in rows_in("exa", body.get("notices"), "notices")]
        rows = [
            Row(row.get("title"), row.get("url"), _snippet(row), row.get("score"), row.get("publishedDate"))
            for row in rows_in(self.name, body["results"], "results")
        ]
        extras = Extras(cost_usd=_cost(body, query), reason=f"exa: {', '.join(codes)}" if codes else "")
        return build_response(self.name, query, rows, now, extras, policy=self.around.policy)


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


def _cost(body: dict[str, Any], query: Query) -> Decimal:
    reported = body.get("costDollars")
    total = money(reported.get("total")) if isinstance(reported, dict) else None
    return total if total is not None else _CARD.cost(query.depth) or Decimal(0)


def _error(answer: Answer, wait_s: float | None) -> PinciteError:
    body = answer.quiet_object()
    inner = body.get("error")
    named = (inner.get("tag") or inner.get("code") or inner.get("type")) if isinstance(inner, dict) else ""
    tag = str(body.get("tag") or named or "").upper()
    if answer.status == 402 or tag in _QUOTA_TAGS:
        return out_of_credit("exa")
    if answer.status == 401:
        return bad_key("exa", _CARD.key_variable)
    if answer.status == 403 and tag in {"", "ACCESS_DENIED", "FEATURE_DISABLED"}:
        return ProviderAuth("exa does not allow this with the key", reason="not_in_plan", hint="Check the plan of Exa.")
    if answer.status == 429:
        return rate_limited("exa", wait_s)
    if answer.status in {400, 403, 422}:
        return bad_request("exa", error_text(body) or tag)
    return other_status(answer, error_text(body), wait_s)
