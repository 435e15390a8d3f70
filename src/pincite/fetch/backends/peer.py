"""Pages that another installation read a while ago, asked for before the site is."""

from pincite.domain.errors import NotFound, PinciteError
from pincite.domain.page import FetchRequest, Hosted, Render, Snapshot
from pincite.fetch.shared_pages import Intake, item_key
from pincite.sharing.items import Item, Kind
from pincite.sharing.peers import Peer, Peers

NAME = "peer"


class PeerBackend:
    """Implements `ports.FetchBackend` over the peers of the settings.

    What a peer gives is checked as if it came from the site: addresses, robots.txt, sizes. Whatever a peer does, the
    next source is asked: `NotFound` is the only error of its own.
    """

    name = NAME

    def __init__(self, peers: Peers, intake: Intake) -> None:
        self._peers = peers
        self._intake = intake

    async def fetch(self, request: FetchRequest) -> Snapshot:
        """The capture of a peer.

        Errors:
            NotFound: no peer has the page, or the request is one that only the site itself can answer.
            BudgetExhausted: a question to a peer is a web request.
            InvalidUrl, BlockedAddress, DomainDenied, RobotsDisallowed: what the site would be refused for as well.
        """
        if not _may_be_shared(request):
            raise NotFound("only the site can answer this", reason="not_shared")
        try:
            key = item_key(request.url)
        except PinciteError:  # of an opened network, where pages have no key
            raise NotFound("a page without a key is not shared", reason="not_shared") from None

        async def accept(peer: Peer, item: Item) -> Snapshot:
            return await self._intake.capture(item, request, peer.name)

        found = await self._peers.find(Kind.CAPTURE, key, accept)
        if found is None:
            raise NotFound("no peer has the page", reason="not_shared")
        return found


def _may_be_shared(request: FetchRequest) -> bool:
    """Whether a copy will do: nobody asked for a new one, for a browser's, a scraper's, or in a language."""
    asks_the_site = request.force_refresh or bool(request.confirms) or bool(request.validators) or not request.persist
    is_plain = request.allow_redirects and not request.prefer_language
    return is_plain and not asks_the_site and request.render is not Render.ALWAYS and request.hosted is not Hosted.ONLY
