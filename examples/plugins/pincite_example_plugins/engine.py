"""A search engine: finds RFCs by the words of their titles."""

from decimal import Decimal

from pincite import Query, SearchResponse
from pincite.apis import ApiSettings
from pincite.domain.search import SearchResult
from pincite.runtime.limiter import Rate
from pincite.search.catalogue import Price, ProviderCard
from pincite.search.provider import Surroundings

_TITLES = {
    8446: "The Transport Layer Security (TLS) Protocol Version 1.3",
    9000: "QUIC: A UDP-Based Multiplexed and Secure Transport",
    9110: "HTTP Semantics",
    9309: "Robots Exclusion Protocol",
}


class Rfcs:
    """Implements `pincite.ports.SearchProvider`. One with an HTTP API derives from `ApiProvider`."""

    name = "rfcs"
    # Without a card the price is unknown, and what may cost anything is not asked under a cap on dollars.
    card = ProviderCard(
        name="rfcs",
        title="RFCs by title",
        base_url="",
        key_variable="",
        native=(),
        max_results=10,
        rates=(Rate(10, 1, burst=10),),
        price=Price(Decimal(0), Decimal(0)),
        needs_key=False,
    )

    def __init__(self, settings: ApiSettings, around: Surroundings) -> None:
        self._clock = around.clock

    async def search(self, query: Query) -> SearchResponse:
        """RFCs with a word of the query in their title, those with most of them first."""
        wanted = set(query.text.lower().split())
        found = {number: len(wanted & set(title.lower().split())) for number, title in _TITLES.items()}
        best = sorted((number for number in found if found[number]), key=lambda number: -found[number])
        results = tuple(
            SearchResult(
                title=_TITLES[number],
                url=f"https://www.rfc-editor.org/rfc/rfc{number}.html",
                snippet=f"RFC {number}: {_TITLES[number]}",
                provider=self.name,
                rank=rank,
            )
            for rank, number in enumerate(best[: query.max_results], 1)
        )
        return SearchResponse(query=query.text, results=results)
