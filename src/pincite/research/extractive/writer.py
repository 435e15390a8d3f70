"""Verified claims to a report: direct answer, sections in reading order, numbered references, what is missing."""

from pincite.domain.plan import Imprint, Progress, Task
from pincite.domain.report import Mode, Report
from pincite.research.assembly import assemble
from pincite.research.extractive.outline import content
from pincite.research.extractive.versions import version_labels


class ExtractiveWriter:
    """States verified claims in their own words, in an order a person can follow, and nothing else."""

    async def write(self, task: Task, progress: Progress, imprint: Imprint) -> Report:
        """The report; without a claim that holds it is `insufficient_evidence` and says what was searched."""
        said = content(task, progress, version_labels(progress.pages))
        return assemble(task, progress, imprint, said, mode=Mode.EXTRACTIVE)
