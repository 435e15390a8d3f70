"""The audit of anyone's report: parse, read the cited pages, judge every sentence, count."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from anyio import to_thread

from pincite.audit.findings import Audit, AuditVerdict
from pincite.audit.inputs import read_report
from pincite.audit.judging import Auditor
from pincite.audit.pages import PageReading, fetched_pages, given_pages
from pincite.audit.parse import ParsedReport, parse_report
from pincite.ports import Judge


class AuditService:
    """Audits reports.

    Args:
        judge: who judges meaning; without one, what is in other words than its source is `unchecked`.
        reading: how pages are come by; without it only given pages are looked at.
        now: the time, for the record of judgements.
    """

    def __init__(
        self,
        judge: Judge | None = None,
        reading: PageReading | None = None,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._judge = judge
        self._reading = reading
        self._now = now

    async def audit(
        self, report: str | bytes, *, sources: Mapping[str, str] | None = None, strict: bool = False
    ) -> Audit:
        """A verdict on every sentence of the report (Markdown, text, HTML, DOCX, or an answer's JSON).

        `sources` maps URLs (or file names) to the text of their pages; without it the pages are fetched. `strict`:
        partly supported sentences count as wrong.

        Errors: InvalidInput. A page that can't be read is not an error: its sentences are `could_not_check`.
        """
        parsed = await to_thread.run_sync(_parsed, report)
        if sources is not None or self._reading is None:
            pages = await to_thread.run_sync(given_pages, parsed.references, sources or {})
        else:
            pages = await fetched_pages(parsed.references, self._reading)
        auditor = await to_thread.run_sync(
            lambda: Auditor(pages.references, pages.documents, self._judge, report=parsed.text, at=self._now())
        )
        judged = await auditor.audit(parsed.sentences)
        sentences = tuple(item.sentence for item in judged)
        cited = [0] * len(pages.references)
        for sentence in sentences:
            if sentence.outcome is not AuditVerdict.NOT_A_CLAIM or sentence.references:
                for index in sentence.references:
                    cited[index] += 1
        references = tuple(
            replace(reference, cited=count) for reference, count in zip(pages.references, cited, strict=True)
        )
        return Audit(
            parsed.text,
            sentences,
            references,
            sum(item.checked for item in judged),
            sum(item.supporting for item in judged),
            judge=self._judge.name if self._judge is not None else "",
            strict=strict,
        )


def _parsed(report: str | bytes) -> ParsedReport:
    read = read_report(report)
    return parse_report(read.text, read.annotations)
