"""What operators must see of a run, a line of the log each: begun, trouble on the way, ended. No question, no URL."""

import logging
from typing import Final
from urllib.parse import urlsplit

from pincite.domain.events import Event, EventType

log = logging.getLogger("pincite.runs")

_LINES: Final = {
    EventType.SEARCH_FAILED: "search failed",
    EventType.PAGE_FAILED: "page failed",
    EventType.PAGE_REFUSED: "page refused",
    EventType.MODEL_FAILED: "model failed",
    EventType.ROLE_REPLACED: "model replaced by rules",
    EventType.BUDGET_EXHAUSTED: "cap reached",
}
_MEMBERS: Final = ("role", "model", "code", "reason")


def run_line(said: str, run_id: str, request_id: str, **more: object) -> None:
    """One line with its ids."""
    log.info(said, extra={"run_id": run_id, "request_id": request_id, **more})


def event_line(event: Event, run_id: str, request_id: str) -> None:
    """The line of an event that says what went wrong; of other events none. Of a page only its site is named."""
    if (said := _LINES.get(event.type)) is None:
        return
    told = {name: event.data[name] for name in _MEMBERS if event.data.get(name)}
    url = event.data.get("url")
    site = urlsplit(url).hostname if isinstance(url, str) else None
    run_line(said, run_id, request_id, **told, **({"site": site} if site else {}))
