"""Wikipedia's own search: the MediaWiki action API, without a key. Trouble comes with 200 and an `error` in the body.

Contract: https://www.mediawiki.org/wiki/API:Search, https://www.mediawiki.org/wiki/API:Etiquette (read 2026-11-22):
a user agent that names a contact, one request after the other, GET only, `maxlag` heeded.
"""

from dataclasses import replace
from typing import Any, ClassVar
from urllib.parse import quote, urlsplit

from pincite.apis import Answer, ApiClient, ApiSettings, rate_limited, wrong_shape
from pincite.domain.errors import PinciteError
from pincite.domain.search import Constraints, Query, SearchResponse
from pincite.search.catalogue import CATALOGUE
from pincite.search.provider import ApiProvider, Surroundings, bad_request, checked, error_text, outage, rows_in
from pincite.search.request import with_operators
from pincite.search.results import Row
from pincite.text.tokens import is_stop
from pincite.urls import host_matches

_CARD = CATALOGUE["wikipedia"]
_HEADERS = {"Accept": "application/json"}
_BUSY = frozenset({"ratelimited", "maxlag"})
_PLAIN_IN_TITLES = "()!,:;'/*@"
# What the etiquette asks tools to send: where copies of the database lag behind more, they should come later.
_MAX_LAG_S = "5"
# What the API's etiquette asks for when its copies lag behind and no Retry-After came.
_LAG_WAIT_S = 5.0


class Wikipedia(ApiProvider):
    """Implements `ports.SearchProvider`: the Wikipedia of the query's language, English where none is given."""

    name = "wikipedia"
    statuses: ClassVar = {403: "blocked", 429: "rate"}
    pause_s = 60.0
    blocked_hint = "Set user_agent_contact to your address."

    def __init__(self, settings: ApiSettings, around: Surroundings) -> None:
        super().__init__(settings, around, _HEADERS)
        self._editions: dict[str, ApiClient] = {}

    async def search(self, query: Query) -> SearchResponse:
        """Articles; none where the domains asked for leave Wikipedia out."""
        home, language = self.settings.base_url.rstrip("/"), (query.constraints.language or "en").lower()
        if home == _CARD.base_url and language[:2] != "en":  # a base URL of the operator's own stays as it is
            home = f"https://{language.split('-')[0]}.wikipedia.org"
        include = query.constraints.include_domains
        if include and not host_matches(urlsplit(home).hostname or "", include):
            return self.response(query, ())
        # Its search wants all words, and no article says "how" and "does".
        kept = [word for word in query.text.split() if not is_stop(word.strip("?!.,;:\"'").lower())]
        limits = Constraints(in_title=query.constraints.in_title)
        asked = replace(query, text=" ".join(kept) or query.text, constraints=limits)
        params = {
            "action": "query",
            "list": "search",
            "srsearch": with_operators(asked, _CARD),
            "srlimit": str(min(query.max_results, _CARD.max_results)),
            "srprop": "snippet",
            "format": "json",
            "formatversion": "2",
            "maxlag": _MAX_LAG_S,
        }
        answer = await self.asked(self._client(home).get("/w/api.php", params), query)
        body = answer.object()
        if isinstance(body.get("error"), dict):
            raise self._refusal(answer, body["error"])
        inner = checked(answer, body, "query").get("query", {})
        if not isinstance(inner, dict):
            raise wrong_shape(self.name, "query is not an object")
        found = rows_in(self.name, inner.get("search"), "query.search")
        rows = [
            Row(title, f"{home}/wiki/{quote(title.replace(' ', '_'), safe=_PLAIN_IN_TITLES)}", row.get("snippet"))
            if isinstance(title := row.get("title"), str)
            else Row(title, None, row.get("snippet"))
            for row in found
        ]
        return self.response(query, rows)

    def _refusal(self, answer: Answer, error: dict[str, Any]) -> PinciteError:
        wait_s = self.wait_s(answer)
        if error.get("code") in _BUSY:
            return rate_limited(self.name, _LAG_WAIT_S if wait_s is None else wait_s)
        if str(error.get("code", "")).startswith("internal_api_error"):
            return outage(answer, wait_s)
        return bad_request(self.name, error_text({"message": error.get("info")}))

    async def aclose(self) -> None:
        """Close the connections to all editions."""
        for client in (self.api, *self._editions.values()):
            await client.aclose()

    def _client(self, home: str) -> ApiClient:
        if home == self.settings.base_url.rstrip("/"):
            return self.api
        if home not in self._editions:  # bounded: a language has two or three letters, and queries are checked for it
            settings = replace(self.settings, base_url=home)
            self._editions[home] = ApiClient(self.name, settings, _HEADERS, transport=self.around.transport)
        return self._editions[home]
