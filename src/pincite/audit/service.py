"""The audit of anyone's report: parse, read the cited pages, judge every sentence, count."""

from collections.abc import Mapping
from dataclasses import replace

from anyio import to_thread

from pincite.audit.findings import Audit, AuditVerdict
from pincite.audit.inputs import read_report
from pincite.audit.judge import Judge
from pincite.audit.pages import PageReading, Pages, fetched_pages, given_pages
from pincite.audit.parse import ParsedReport, parse_report
from pincite.ports import ClaimChecker


class AuditService:
    """Audits reports. Without `reading` only given pages are looked at."""

    def __init__(self, checker: ClaimChecker, reading: PageReading | None = None) -> None:
        self._checker = checker
        self._reading = reading

    async def audit(self, report: str | bytes, *, sources: Mapping[str, str] | None = None) -> Audit:
        """A verdict on every sentence of the report (Markdown, text, HTML, DOCX, or an answer's JSON).

        `sources` maps URLs (or file names) to the text of their pages; without it the pages are fetched.

        Errors: InvalidInput. A page that can't be read is not an error: its sentences are `could_not_check`.
        """
        parsed = await to_thread.run_sync(_parsed, report)
        if sources is not None or self._reading is None:
            pages = given_pages(parsed.references, sources or {})
        else:
            pages = await fetched_pages(parsed.references, self._reading)
        return await to_thread.run_sync(self._judged, parsed, pages)

    def _judged(self, parsed: ParsedReport, pages: Pages) -> Audit:
        judge = Judge(pages.references, pages.texts, self._checker, report=parsed.text)
        judged = [judge.judge(sentence) for sentence in parsed.sentences]
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
        )


def _parsed(report: str | bytes) -> ParsedReport:
    read = read_report(report)
    return parse_report(read.text, read.annotations)
