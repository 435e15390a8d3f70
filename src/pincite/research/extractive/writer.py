"""Verified claims to a report: direct answer, sections in reading order, numbered references, what is missing."""

from pincite.domain.plan import Imprint, Progress, Task
from pincite.domain.report import Mode, Report
from pincite.research.assembly import Content, Line, assemble
from pincite.research.extractive.outline import Draft, draft


class ExtractiveWriter:
    """States verified claims in their own words, in an order a person can follow, and nothing else."""

    async def write(self, task: Task, progress: Progress, imprint: Imprint) -> Report:
        """The report; without a claim that holds it is `insufficient_evidence` and says what was searched."""
        return assemble(task, progress, imprint, _content(draft(task, progress)), mode=Mode.EXTRACTIVE)


def _content(drafted: Draft) -> Content:
    answer = tuple(Line(prefix + item.claim.text, (item,)) for prefix, item in drafted.answer)
    sections = tuple(
        (heading, tuple(Line(item.claim.text, (item,)) for item in items)) for heading, items in drafted.sections
    )
    return Content(answer, sections, drafted.gaps)
