"""Tavily: POST /search with a bearer key. Quota is 432 and 433, not 402."""

from decimal import Decimal
from typing import Any, ClassVar

from pincite.apis import ApiSettings
from pincite.domain.search import Depth, Query, SearchResponse, Topic
from pincite.search.catalogue import CATALOGUE
from pincite.search.provider import ApiProvider, Surroundings, checked, key_of
from pincite.search.request import quoted, shortened
from pincite.search.results import Extras, billed

# Country names for engines that take a name instead of a code. Source: ISO 3166-1 short names.
_LISTED = (
    "ar argentina, at austria, au australia, be belgium, br brazil, ca canada, ch switzerland, cl chile, cn "
    "china, co colombia, cz czech republic, de germany, dk denmark, ee estonia, eg egypt, es spain, fi finland, "
    "fr france, gb united kingdom, gr greece, hk hong kong, hr croatia, hu hungary, id indonesia, ie ireland, il "
    "israel, in india, is iceland, it italy, jp japan, ke kenya, kr south korea, lt lithuania, lu luxembourg, lv "
    "latvia, mx mexico, my malaysia, ng nigeria, nl netherlands, no norway, nz new zealand, pe peru, ph "
    "philippines, pk pakistan, pl poland, pt portugal, ro romania, rs serbia, ru russia, sa saudi arabia, se "
    "sweden, sg singapore, si slovenia, sk slovakia, th thailand, tr turkey, tw taiwan, ua ukraine, uk united "
    "kingdom, us united states, vn vietnam, za south africa"
)
_NAMES = {code: name for code, _, name in (entry.partition(" ") for entry in _LISTED.split(", "))}

# List price of a credit, as dated in `search.catalogue`.
_USD_PER_CREDIT = Decimal("0.008")
_CARD = CATALOGUE["tavily"]


class Tavily(ApiProvider):
    """Implements `ports.SearchProvider`."""

    name = "tavily"
    statuses: ClassVar = {401: "key", 403: "key", 432: "credit", 433: "credit", 429: "rate"}

    def __init__(self, settings: ApiSettings, around: Surroundings) -> None:
        super().__init__(settings, around, {"Authorization": f"Bearer {key_of(self.name, settings)}"})

    async def search(self, query: Query) -> SearchResponse:
        """One search, basic (1 credit) or advanced (2)."""
        answer = await self.asked(self.api.post_json("/search", request_body(query)), query)
        body = checked(answer, answer.object(), "results")
        rows = self.listed(body.get("results"), snippet="content", score="score", published="published_date")
        usage = body.get("usage")
        told = billed(usage.get("credits") if isinstance(usage, dict) else None, _USD_PER_CREDIT)
        extras = Extras(body.get("answer"), body.get("follow_up_questions"), self.cost(query, told))
        return self.response(query, rows, extras)


def request_body(query: Query) -> dict[str, Any]:
    """The body: no raw content and no images are ever asked for."""
    constraints = query.constraints
    body: dict[str, Any] = {
        "query": shortened(quoted(query, _CARD.query_chars).text, _CARD.query_chars),
        "max_results": min(query.max_results, _CARD.max_results),
        "search_depth": "advanced" if query.depth is Depth.ADVANCED else "basic",
        "topic": "news" if query.topic is Topic.NEWS else "general",
        "include_answer": query.include_answer,
        "include_raw_content": False,
        "include_images": False,
        "include_usage": True,
    }
    if query.exact:
        body["exact_match"] = True
    if constraints.include_domains:
        body["include_domains"] = list(constraints.include_domains[:300])
    if constraints.exclude_domains:
        body["exclude_domains"] = list(constraints.exclude_domains[:150])
    if constraints.since:
        body["start_date"] = constraints.since.isoformat()
    if constraints.until:
        body["end_date"] = constraints.until.isoformat()
    # A two-letter code or the end of `de-CH`, as a name; countries that it doesn't list are left out.
    country = _NAMES.get((query.region or "")[-2:].lower())
    if country and body["topic"] == "general":
        body["country"] = country
    return body
