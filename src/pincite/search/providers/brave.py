"""Brave Search: GET /web/search and /news/search. 429 may mean a second's limit or the month's quota."""

from typing import Any

from pincite.apis import Answer, ApiSettings, bad_key, number, out_of_credit, rate_limited
from pincite.domain.errors import PinciteError, ProviderAuth
from pincite.domain.search import Query, SearchResponse, Topic
from pincite.search.catalogue import CATALOGUE
from pincite.search.health import numbers_in
from pincite.search.provider import ApiProvider, Surroundings, bad_request, checked, key_of
from pincite.search.request import quoted, with_operators
from pincite.search.results import Extras

_CARD = CATALOGUE["brave"]
# Brave's own limit on `q`, beside 400 characters.
_QUERY_WORDS = 50
_VERSION_PATH = "/res/v1"


class Brave(ApiProvider):
    """Implements `ports.SearchProvider`."""

    name = "brave"

    def __init__(self, settings: ApiSettings, around: Surroundings) -> None:
        headers = {"X-Subscription-Token": key_of(self.name, settings), "Accept": "application/json"}
        super().__init__(settings, around, headers)
        # Gateways are configured without the version path, the engine's own base URL has it.
        self._prefix = "" if settings.base_url.rstrip("/").endswith(_VERSION_PATH) else _VERSION_PATH

    async def search(self, query: Query) -> SearchResponse:
        """One page of web or news results."""
        news = query.topic is Topic.NEWS
        path = f"{self._prefix}/{'news' if news else 'web'}/search"
        today = self.around.clock.now().date().isoformat()
        answer = await self.asked(self.api.get(path, request_params(query, today)), query)
        left, reset = _windows(answer, "remaining"), _windows(answer, "reset")
        if self.around.slow_down is not None and left and reset and left[0] == 0:
            await self.around.slow_down(reset[0])
        body = checked(answer, answer.object(), "results" if news else "web")
        web = body if news else body.get("web") or {}
        found = web.get("results") if isinstance(web, dict) else web
        rows = self.listed(found, snippet="description", published="page_age|age")
        return self.response(query, rows, Extras(cost_usd=self.cost(query, None)))

    def trouble(self, answer: Answer) -> PinciteError:
        """Its codes say more than its statuses: a 429 is the rate or the month's quota."""
        body = answer.quiet_object()
        error: Any = body.get("error") or body.get("errors") or {}
        error = error[0] if isinstance(error, list) and error else error
        error = error if isinstance(error, dict) else {}
        meta = error.get("meta")
        code, component = str(error.get("code", "")), str(meta.get("component", "")) if isinstance(meta, dict) else ""
        if answer.status in {401, 403} or component == "authentication" or code.startswith("SUBSCRIPTION_TOKEN"):
            return bad_key(self.name, _CARD.key_variable)
        if code == "OPTION_NOT_IN_PLAN":
            return ProviderAuth(
                "brave does not allow this with the key", reason="not_in_plan", hint="Check the plan of Brave."
            )
        if answer.status == 429:
            left, limit, reset = (_windows(answer, name) for name in ("remaining", "limit", "reset"))
            month_is_used_up = len(left) > 1 and len(limit) > 1 and left[1] == 0 and limit[1] > 0
            if isinstance(meta, dict):
                quota, used = number(meta.get("quota_limit")), number(meta.get("quota_current"))
                month_is_used_up = month_is_used_up or bool(quota and used is not None and used >= quota)
            if code == "QUOTA_LIMITED" or month_is_used_up:
                return out_of_credit(self.name)
            wait_s = self.wait_s(answer)
            return rate_limited(self.name, wait_s if wait_s is not None else reset[0] if reset else 1.0)
        if answer.status >= 500:
            return super().trouble(answer)
        return bad_request(self.name, error.get("detail") or code or self.said(answer))


def request_params(query: Query, today: str) -> dict[str, str]:
    """The parameters; highlighting marks in the snippets are switched off."""
    constraints = query.constraints
    params = {
        "q": with_operators(quoted(query, _CARD.query_chars), _CARD, max_words=_QUERY_WORDS),
        "count": str(min(query.max_results, _CARD.max_results)),
        "text_decorations": "false",
    }
    if query.topic is not Topic.NEWS:
        params["result_filter"] = "web"
    if constraints.since or constraints.until:
        since = constraints.since.isoformat() if constraints.since else "1990-01-01"
        params["freshness"] = f"{since}to{constraints.until.isoformat() if constraints.until else today}"
    if constraints.language:
        params["search_lang"] = constraints.language[:2].lower()
    if query.region:
        params["country"] = query.region[-2:].upper()
    return params


def _windows(answer: Answer, name: str) -> list[float]:
    return numbers_in(answer.headers.get(f"x-ratelimit-{name}", ""))
