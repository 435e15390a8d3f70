"""Marginalia Search, an index of small, text-heavy sites. Its key `public` is shared by everybody and often limited.

Contract: https://about.marginalia-search.com/article/api (read 2026-11-22). Answers are CC BY-NC-SA 4.0 unless a
commercial key was bought, so `--source auto` asks it only where a key is set.
"""

from pincite.apis.client import Answer, ApiSettings, bad_key, rate_limited, wait_of
from pincite.domain.errors import PinciteError
from pincite.domain.search import Query, SearchResponse
from pincite.search.catalogue import CATALOGUE
from pincite.search.provider import (
    ApiProvider,
    Row,
    Surroundings,
    bad_request,
    build_response,
    checked,
    error_text,
    other_status,
    rows_in,
)
from pincite.search.request import shortened

_CARD = CATALOGUE["marginalia"]
_PUBLIC_KEY = "public"


class Marginalia(ApiProvider):
    """Implements `ports.SearchProvider`."""

    name = "marginalia"

    def __init__(self, settings: ApiSettings, around: Surroundings) -> None:
        super().__init__(settings, around, {"API-Key": settings.api_key or _PUBLIC_KEY})

    async def search(self, query: Query) -> SearchResponse:
        """One page of results; it knows no dates, topics or regions."""
        now = self.around.clock.now()
        params = {
            "query": shortened(query.text, _CARD.query_chars),
            "count": str(min(query.max_results, _CARD.max_results)),
        }
        answer = await self.kept(await self.api.get("/search", params), query)
        if answer.status != 200:
            raise _error(answer, wait_of(answer, now))
        body = checked(answer, answer.object(), "results")
        rows = [
            Row(row.get("title"), row.get("url"), row.get("description"), row.get("quality"))
            for row in rows_in(self.name, body.get("results"), "results")
        ]
        return build_response(self.name, query, rows, now, policy=self.around.policy)


def _error(answer: Answer, wait_s: float | None) -> PinciteError:
    text = error_text(answer.quiet_object())
    if answer.status == 401:
        return bad_key("marginalia", _CARD.key_variable)
    if answer.status in {429, 503}:  # 503 is how it says that a key's limit is reached
        return rate_limited("marginalia", 60.0 if wait_s is None else wait_s)
    if answer.status in {400, 404, 422}:
        return bad_request("marginalia", text)
    return other_status(answer, text, wait_s)
