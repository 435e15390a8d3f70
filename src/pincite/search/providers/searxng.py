"""SearXNG on the operator's own instance. 403 is a setting there; no results with silent engines is an outage."""

from typing import Any, ClassVar

from pincite.apis import Answer, ApiSettings
from pincite.domain.errors import InvalidSetting, PinciteError, SearchProviderUnavailable
from pincite.domain.search import Query, SearchResponse, Topic
from pincite.search.catalogue import CATALOGUE
from pincite.search.provider import ApiProvider, Surroundings, checked
from pincite.search.request import time_range, with_operators
from pincite.search.results import Extras, clean

_CARD = CATALOGUE["searxng"]
_CATEGORY = {Topic.GENERAL: "general", Topic.NEWS: "news", Topic.RESEARCH: "science", Topic.CODE: "it"}
_JSON_FIX = "In the instance's settings.yml set  search: formats: [html, json]  and restart it."


class SearXng(ApiProvider):
    """Implements `ports.SearchProvider`."""

    name = "searxng"
    statuses: ClassVar = {429: "rate"}
    pause_s = 60.0

    def __init__(self, settings: ApiSettings, around: Surroundings) -> None:
        # The instance's limiter wants these headers in this form, or it answers 429.
        headers = {"Accept": "text/html,application/json;q=0.9", "Accept-Language": "en,*;q=0.5"}
        super().__init__(settings, around, headers)

    async def search(self, query: Query) -> SearchResponse:
        """The instance's first page of merged results."""
        # Marks by which a query could pick engines or leave the instance (`!g`, `:fr`) are taken off.
        asked = with_operators(query, _CARD).split()
        params = {
            "q": " ".join(filter(None, (word.lstrip("!:?") for word in asked))),
            "format": "json",
            "categories": _CATEGORY[query.topic],
        }
        if query.constraints.language:
            params["language"] = query.constraints.language
        if span := time_range(query.constraints.since, query.constraints.until, self.around.clock.now().date()):
            params["time_range"] = span
        answer = await self.asked(self.api.get("/search", params), query)
        if "html" in answer.headers.get("content-type", ""):
            raise InvalidSetting("searxng answered with HTML", reason="json_disabled", hint=_JSON_FIX)
        body = checked(answer, answer.object(), "results")
        rows = self.listed(body.get("results"), snippet="content", score="score", published="publishedDate|pubdate")
        if not rows and body.get("unresponsive_engines"):
            raise SearchProviderUnavailable(
                f"searxng: none of its engines answered ({_engines(body)})", reason="engines_unresponsive"
            )
        said = _answer(body) if query.include_answer else None
        return self.response(query, rows, Extras(said, body.get("suggestions")))

    def trouble(self, answer: Answer) -> PinciteError:
        """As by its statuses; 403 is a setting of the instance."""
        if answer.status == 403:
            return InvalidSetting("this SearXNG does not give out JSON", reason="json_disabled", hint=_JSON_FIX)
        return super().trouble(answer)


def _answer(body: dict[str, Any]) -> Any:
    answers = body.get("answers")
    first = answers[0] if isinstance(answers, list) and answers else None
    return first.get("answer") if isinstance(first, dict) else first


def _engines(body: dict[str, Any]) -> str:
    entries = body["unresponsive_engines"]
    if not isinstance(entries, list):
        return "unknown"
    texts = (": ".join(str(part) for part in entry) if isinstance(entry, list) else str(entry) for entry in entries[:6])
    return clean("; ".join(texts), 200)
