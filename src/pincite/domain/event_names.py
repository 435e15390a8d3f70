"""Other names for what happens in a run, for programs that were written against them; docs/events.md has the table."""

from typing import Final, Literal

from pincite.domain.events import EventType

EventNames = Literal["own", "spec"]

SPEC_NAMES: Final[dict[EventType, str]] = {
    EventType.SEARCH_STARTED: "tool_call",
    EventType.PAGE_REQUESTED: "tool_call",
    EventType.PAGE_FETCHED: "fetch_result",
    EventType.PAGE_FAILED: "fetch_result",
    EventType.PAGE_REFUSED: "fetch_result",
    EventType.CHUNK_MADE: "chunk_made",
    EventType.CLAIM_PROPOSED: "claim_made",
    EventType.CLAIM_VERIFIED: "verify_result",
    EventType.CLAIM_REJECTED: "verify_result",
    EventType.REPORT_COMPLETED: "writer_finalized",
}
"""Types that the other vocabulary has no word for keep their own name."""


def event_name(type_: EventType, names: EventNames = "own") -> str:
    """The name of a type of event in a vocabulary."""
    return SPEC_NAMES.get(type_, str(type_)) if names == "spec" else str(type_)
