"""Jina Search: POST to s.jina.ai for links without page contents. "No results" is a 422 there."""

from typing import Any, ClassVar

from pincite.apis import Answer, ApiSettings
from pincite.domain.search import Query, SearchResponse, Topic
from pincite.search.catalogue import CATALOGUE
from pincite.search.provider import ApiProvider, Surroundings, checked, error_text, key_of
from pincite.search.results import Extras

_CARD = CATALOGUE["jina"]


class Jina(ApiProvider):
    """Implements `ports.SearchProvider`. The price a token is not published, so a money cap refuses it."""

    name = "jina"
    statuses: ClassVar = {401: "key", 402: "credit", 403: "blocked", 429: "rate", 451: "blocked"}

    def __init__(self, settings: ApiSettings, around: Surroundings) -> None:
        headers = {
            "Authorization": f"Bearer {key_of(self.name, settings)}",
            "Accept": "application/json",
            "X-Respond-With": "no-content",
        }
        super().__init__(settings, around, headers)

    async def search(self, query: Query) -> SearchResponse:
        """One page of results without their contents."""
        answer = await self.kept(await self.api.post_json("/", request_body(query)), query)
        if answer.status == 422 and "no search results" in error_text(answer.quiet_object()).lower():
            return self.response(query, ())
        if answer.status != 200:
            raise self.trouble(answer)
        body = checked(answer, answer.object(), "data")
        rows = self.listed(body.get("data"), snippet="description", published="date")
        return self.response(query, rows, Extras(reason="jina: price not known"))

    def said(self, answer: Answer) -> str:
        """The message; its other members hold numbers and names of errors."""
        body = answer.quiet_object()
        return error_text({"message": body.get("message") or body.get("readableMessage")})


def request_body(query: Query) -> dict[str, Any]:
    """The body; dates have no filter there and are checked on the results."""
    body: dict[str, Any] = {
        "q": " ".join([query.text, *(f"-site:{domain}" for domain in query.constraints.exclude_domains[:10])]),
        "num": min(query.max_results, _CARD.max_results),
    }
    if query.topic is Topic.NEWS:
        body["type"] = "news"
    if query.constraints.include_domains:
        body["site"] = list(query.constraints.include_domains)
    if query.constraints.file_type:
        body["filetype"] = query.constraints.file_type
    if query.constraints.in_title:
        body["intitle"] = query.constraints.in_title
    if query.region:
        body["gl"] = query.region[-2:].lower()
    if query.constraints.language:
        body["hl"] = query.constraints.language[:2].lower()
    return body
