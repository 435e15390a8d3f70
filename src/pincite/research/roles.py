"""The six roles of a run: one method each. `service` calls them in this order; they never call each other.

A writer may be a drafter as well.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from pincite.domain.plan import (
    Analysis,
    Found,
    Plan,
    Progress,
    Reading,
    ReportMetadata,
    SubQuestion,
    Task,
    Verification,
)
from pincite.domain.report import Report
from pincite.domain.search import SearchResult


class Planner(Protocol):
    """Splits the question and words the queries."""

    async def plan(self, task: Task, progress: Progress) -> Plan:
        """All sub-questions; each one's queries are those to send in the coming round (none: nothing left to ask)."""


class Searcher(Protocol):
    """Turns queries into pages worth reading."""

    async def search(
        self, task: Task, progress: Progress, begin: Callable[[SearchResult], None] | None = None
    ) -> Found:
        """New results of the plan's queries in the order to read them: no page twice, domain rules applied.

        `begin` is called for results that will be read whatever else is found, while other queries still wait.
        """


class Reader(Protocol):
    """Turns results into stored documents."""

    async def begin(self, task: Task, result: SearchResult) -> None:
        """Fetch a page that `read` will be asked for in this round. Never fails for what is the page's fault."""

    async def read(self, task: Task, results: Sequence[SearchResult], progress: Progress) -> Reading:
        """All pages of the run with near-copies marked, and leads for what could not be read."""


class Analyst(Protocol):
    """Finds what answers a sub-question."""

    async def analyse(self, task: Task, sub_question: SubQuestion, progress: Progress) -> Analysis:
        """Claims with quotes from the pages read, best first, and gaps."""


class Verifier(Protocol):
    """Checks claims against their quotes and against each other."""

    async def verify(self, task: Task, analyses: Sequence[Analysis], progress: Progress) -> Verification:
        """A verdict for each claim, conflicts, gaps that stay, and queries that might close them."""


class Seconder(Protocol):
    """Looks for a second, independent source of claims that are to be printed."""

    async def find(self, task: Task, progress: Progress, seconds_left: Callable[[], float | None]) -> Progress:
        """Progress with what was read for it, and with the second sources beside the claims that have one."""


class Writer(Protocol):
    """Makes the report."""

    async def write(self, task: Task, progress: Progress, metadata: ReportMetadata) -> Report:
        """A report that states verified claims only; `insufficient_evidence` when there are none."""


class Drafter(Protocol):
    """Writes what can be written while the rounds still go on."""

    async def draft(self, task: Task, progress: Progress) -> None:
        """Write and tell the parts of `progress`, which are closed; the writer takes them up. Never fails a run."""
