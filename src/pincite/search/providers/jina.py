"""Jina Search: POST to s.jina.ai for links without page contents. "No results" is a 422 there."""

from typing import Any

from pincite.apis.client import Answer, ApiSettings, bad_key, missing_key, out_of_credit, rate_limited, wait_of
from pincite.domain.errors import PageBlocked, PinciteError
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
    other_status,
    rows_in,
)

_CARD = CATALOGUE["jina"]


class Jina(ApiProvider):
    """Implements `ports.SearchProvider`. The price a token is not published, so a money cap refuses it."""

    name = "jina"

    def __init__(self, settings: ApiSettings, around: Surroundings) -> None:
        if not settings.api_key:
            raise missing_key(self.name, _CARD.key_variable)
        headers = {
            "Authorization": f"Bearer {settings.api_key}",
            "Accept": "application/json",
            "X-Respond-With": "no-content",
        }
        super().__init__(settings, around, headers)

    async def search(self, query: Query) -> SearchResponse:
        """One page of results without their contents."""
        answer = await self.kept(await self.api.post_json("/", request_body(query)), query)
        now = self.around.clock.now()
        if answer.status == 422 and "no search results" in error_text(answer.quiet_object()).lower():
            return build_response(self.name, query, (), now, policy=self.around.policy)
        if answer.status != 200:
            raise _error(answer, wait_of(answer, now))
        body = checked(answer, answer.object(), "data")
        rows = [
            Row(row.get("title"), row.get("url"), row.get("description"), None, row.get("date"))
            for row in rows_in(self.name, body.get("data"), "data")
        ]
        extras = Extras(reason="jina: price not known")
        return build_response(self.name, query, rows, now, extras, policy=self.around.policy)


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


def _error(answer: Answer, wait_s: float | None) -> PinciteError:
    body = answer.quiet_object()
    text = _message(body)
    if answer.status == 401:
        return bad_key("jina", _CARD.key_variable)
    if answer.status == 402:
        return out_of_credit("jina")
    if answer.status == 429:
        return rate_limited("jina", wait_s)
    if answer.status in {400, 409, 422}:
        return bad_request("jina", text)
    if answer.status in {403, 451}:
        return PageBlocked("jina refuses this search", reason="provider_blocked")
    return other_status(answer, text, wait_s)


def _message(body: dict[str, Any]) -> str:
    """The message of an error body."""
    return error_text({"message": body.get("message") or body.get("readableMessage")})
