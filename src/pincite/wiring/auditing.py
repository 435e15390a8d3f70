"""How an audit comes by the pages that a report cites, under the settings."""

from collections.abc import Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from pincite.domain.errors import StorageUnavailable
from pincite.domain.library import ListedPage
from pincite.domain.page import Document
from pincite.domain.report import ReportEvidence
from pincite.ports import Clock, DocumentStore, Fetch, WebArchive
from pincite.runtime.kept_open import KeptOpen
from pincite.settings import Settings
from pincite.urls.policy import is_internal_name
from pincite.wiring.fetch_door import OFFLINE

if TYPE_CHECKING:
    from pincite.audit.pages import PageReading
    from pincite.audit.recheck import Stored


async def web_archive(settings: Settings, clock: Clock, kept: KeptOpen) -> WebArchive | None:
    """The public archive that is asked about dead addresses; None where nobody may be asked."""
    if settings.profile == OFFLINE or settings.archives == "none":
        return None
    from pincite.fetch.wayback import Wayback

    return await kept.open(aclosing(Wayback(clock, base_url=settings.wayback_base_url, user_agent=settings.agent)))


def page_reading(
    settings: Settings, fetch: Fetch, archive: WebArchive | None, listed: Sequence[ListedPage]
) -> "PageReading":
    """How pages are read: hosts that the operator named count as any other, whatever they are called."""
    from pincite.audit.pages import PageReading

    named = {entry.partition(":")[0].lower().rstrip(".") for entry in settings.resolve}
    opened = bool(settings.allow_networks)
    return PageReading(
        fetch,
        archive=archive,
        is_own=lambda host: host in named or (opened and is_internal_name(host)),
        private=settings.wayback_base_url is not None,
        listed=listed,
    )


def stored_documents(documents: DocumentStore) -> "Stored":
    """Finds what the pages of a report said; None where that is not kept whole, or damaged."""

    async def stored(item: ReportEvidence) -> Document | None:
        try:
            return await documents.get(item.document_id)
        except StorageUnavailable as error:
            if error.reason != "corrupt":
                raise
            return None

    return stored
