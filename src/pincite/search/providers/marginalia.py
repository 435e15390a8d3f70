"""Marginalia Search, an index of small, text-heavy sites. Its key `public` is shared by everybody and often limited.

Contract: https://about.marginalia-search.com/article/api (read 2026-11-22). Answers are CC BY-NC-SA 4.0 unless a
commercial key was bought, so `--source auto` asks it only where a key is set.
"""

from typing import ClassVar

from pincite.apis import ApiSettings
from pincite.domain.search import Query, SearchResponse
from pincite.search.catalogue import CATALOGUE
from pincite.search.provider import ApiProvider, Surroundings, checked
from pincite.search.request import shortened

_CARD = CATALOGUE["marginalia"]
_PUBLIC_KEY = "public"


class Marginalia(ApiProvider):
    """Implements `ports.SearchProvider`."""

    name = "marginalia"
    statuses: ClassVar = {401: "key", 429: "rate", 503: "rate"}  # 503: a key's limit is reached
    pause_s = 60.0

    def __init__(self, settings: ApiSettings, around: Surroundings) -> None:
        super().__init__(settings, around, {"API-Key": settings.api_key or _PUBLIC_KEY})

    async def search(self, query: Query) -> SearchResponse:
        """One page of results; it knows no dates, topics or regions."""
        params = {
            "query": shortened(query.text, _CARD.query_chars),
            "count": str(min(query.max_results, _CARD.max_results)),
        }
        answer = await self.asked(self.api.get("/search", params), query)
        body = checked(answer, answer.object(), "results")
        return self.response(query, self.listed(body.get("results"), snippet="description", score="quality"))
