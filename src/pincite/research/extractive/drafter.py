"""What can be told of a question while other parts of it are still being searched."""

from pincite.domain.plan import Progress, Task
from pincite.ports import EventSink
from pincite.research.telling import tell_section

# A first look while the search goes on.
_SENTENCES = 6


class ExtractiveDrafter:
    """Implements `roles.Drafter`: tells the claims of closed parts, each part once; the report orders them in the end.

    Args:
        events: where it is told.
    """

    def __init__(self, events: EventSink) -> None:
        self._events = events
        self._told: set[str] = set()

    async def draft(self, task: Task, progress: Progress) -> None:
        """Tell each part of `progress` that was not told yet: its surest claims, in their own words."""
        for part in progress.plan.sub_questions:
            mine = [item for item in progress.claims if item.printable and item.claim.sub_question == part.text]
            lines = list(dict.fromkeys(item.claim.text for item in mine if not item.unresolved))[:_SENTENCES]
            if lines and part.sub_question_id not in self._told:
                self._told.add(part.sub_question_id)
                await tell_section(self._events, part.heading or part.text, lines, early=True)
