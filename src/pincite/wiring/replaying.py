"""What a run that is made again from its record has for front doors: closed ones."""

from pincite.domain.errors import Conflict
from pincite.domain.page import FetchRequest, FetchResult
from pincite.domain.search import Query, SearchResponse


class Unreachable:
    """The front doors of a replay: nothing may be asked that is not on record."""

    async def search(self, query: Query) -> SearchResponse:
        """Errors: Conflict, always."""
        raise Conflict(f"the replay would search for {query.text!r}", reason="replay_miss")

    async def fetch(self, request: FetchRequest) -> FetchResult:
        """Errors: Conflict, always."""
        raise Conflict(f"the replay would fetch {request.url}", reason="replay_miss")
