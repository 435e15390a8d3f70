"""Serper: POST /search and /news. A bad key is 403; an empty account is 400 with "Not enough credits"."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, ClassVar

from pincite.apis import Answer, ApiSettings, out_of_credit, wrong_shape
from pincite.domain.errors import PinciteError
from pincite.domain.search import Query, SearchResponse, Topic
from pincite.search.catalogue import CATALOGUE
from pincite.search.provider import ApiProvider, Surroundings, checked, key_of, rows_in
from pincite.search.request import google_tbs, quoted, with_operators
from pincite.search.results import Extras, billed

_CARD = CATALOGUE["serper"]
# List price of a credit, as dated in `search.catalogue`.
_USD_PER_CREDIT = Decimal("0.001")
# Queries in one call, by its own documentation.
_BATCH = 100


class Serper(ApiProvider):
    """Implements `ports.BatchSearchProvider`."""

    name = "serper"
    statuses: ClassVar = {401: "key", 403: "key", 429: "rate"}
    batch_size = _BATCH

    def __init__(self, settings: ApiSettings, around: Surroundings) -> None:
        super().__init__(settings, around, {"X-API-KEY": key_of(self.name, settings)})

    async def search(self, query: Query) -> SearchResponse:
        """One page of web or news results."""
        path = "/news" if query.topic is Topic.NEWS else "/search"
        body = request_body(query, self.around.clock.now().date())
        answer = await self.asked(self.api.post_json(path, body), query)
        return self._read(answer, answer.object(), query)

    async def search_many(self, queries: Sequence[Query]) -> Sequence[SearchResponse]:
        """The answers to several queries of one kind (all news or none), by one call. Errors: as `search`."""
        today = self.around.clock.now().date()
        path = "/news" if queries[0].topic is Topic.NEWS else "/search"
        calling = self.api.post_json(path, [request_body(query, today) for query in queries])
        answer = await self.asked(calling, queries[0])
        bodies = answer.json()
        if not isinstance(bodies, list) or len(bodies) != len(queries):
            raise wrong_shape(self.name, "a batch of another length came back")
        if not all(isinstance(body, dict) for body in bodies):
            raise wrong_shape(self.name, "a part of the batch is not an object")
        return tuple(self._read(answer, body, query) for body, query in zip(bodies, queries, strict=True))

    def trouble(self, answer: Answer) -> PinciteError:
        """It says in words that the money is used up."""
        if "credit" in self.said(answer).lower() and answer.status in {400, 402, 429}:
            return out_of_credit(self.name)
        return super().trouble(answer)

    def _read(self, answer: Answer, body: dict[str, Any], query: Query) -> SearchResponse:
        kind = "news" if query.topic is Topic.NEWS else "organic"
        found = checked(answer, body, kind).get(kind)
        rows = self.listed(found, url="link", snippet="snippet", published="date")
        asked = [row.get("question") for row in rows_in(self.name, body.get("peopleAlsoAsk"), "peopleAlsoAsk")]
        related = [row.get("query") for row in rows_in(self.name, body.get("relatedSearches"), "relatedSearches")]
        box = body.get("answerBox")
        said = (box.get("answer") or box.get("snippet")) if isinstance(box, Mapping) and query.include_answer else None
        told = billed(body.get("credits"), _USD_PER_CREDIT)
        # A page of results is ten; more take a second credit (serper.dev).
        cost_usd = _USD_PER_CREDIT * (2 if query.max_results > 10 else 1) if told is None else told
        return self.response(query, rows, Extras(said, [*asked, *related], cost_usd))


def request_body(query: Query, today: date) -> dict[str, Any]:
    """The body; more than ten results would cost two credits and are asked for only when the caller did."""
    body: dict[str, Any] = {
        "q": with_operators(quoted(query, _CARD.query_chars), _CARD),
        "num": min(query.max_results, 100),
    }
    if query.region:
        body["gl"] = query.region[-2:].lower()
    if query.constraints.language:
        body["hl"] = query.constraints.language[:2].lower()
    if tbs := google_tbs(query.constraints.since, query.constraints.until, today):
        body["tbs"] = tbs
    return body
