"""Reports without layout: the Markdown, the published JSON that `pincite check` reads, the claims as CSV."""

import csv
import io
from collections.abc import Iterator, Mapping

from pincite.domain.markdown import CitationStyle, render_markdown
from pincite.domain.page import Document
from pincite.domain.report import Reference, Report, ReportClaim, ReportEvidence
from pincite.domain.report_words import day, one_line
from pincite.exports.codec import dump_report


class JsonExporter:
    """The whole report for programs."""

    media_type = "application/json"
    title = "JSON"
    about = "for programs, and for pincite check"

    def render(self, report: Report, documents: Mapping[str, Document]) -> bytes:
        """The bytes of `report.json`."""
        return dump_report(report)


class MarkdownExporter:
    """The report to be read, in one of the two citation styles."""

    media_type = "text/markdown; charset=utf-8"
    title = "Markdown"
    about = "plain text with [n] marks"

    def __init__(self, style: CitationStyle = "[n]") -> None:
        self._style: CitationStyle = style

    def render(self, report: Report, documents: Mapping[str, Document]) -> bytes:
        """The UTF-8 Markdown."""
        return render_markdown(report, self._style).encode()


# The claims of a report as a table: one row per claim and passage, for a spreadsheet; then a row per refused one.
#
# UTF-8 with a byte order mark, without which the common spreadsheets take it for Latin-1. Cells that a spreadsheet
# would run as a formula get an apostrophe in front.

COLUMNS = (
    *("claim", "verdict", "type", "confidence", "independent_sources", "relation", "reference", "title", "url"),
    *("published", "accessed", "quote", "start", "end", "claim_id", "document_id", "snapshot_id", "body_sha256"),
    *("proof", "judge", "likelihood", "beyond", "why"),
)

_FORMULA_START = ("=", "+", "-", "@")


class CsvExporter:
    """The claims table (RFC 4180)."""

    media_type = "text/csv; charset=utf-8"
    title = "Table of claims"
    about = "one row per claim and passage"

    def render(self, report: Report, documents: Mapping[str, Document]) -> bytes:
        """The table with a header row."""
        out = io.StringIO(newline="")
        writer = csv.writer(out, lineterminator="\r\n")
        writer.writerow(COLUMNS)
        references = {reference.n: reference for reference in report.references}
        for claim in report.claims:
            writer.writerows(_rows(claim, references))
        for refused in report.rejected_claims:
            blank = [""] * (len(COLUMNS) - 4)
            writer.writerow([cell(refused.text), refused.verdict, *blank, cell(refused.beyond), cell(refused.why)])
        return out.getvalue().encode("utf-8-sig")


def _rows(claim: ReportClaim, references: Mapping[int, Reference]) -> Iterator[list[str | int | float]]:
    head: list[str | int | float] = [
        cell(claim.text),
        claim.verdict,
        claim.type,
        claim.confidence,
        claim.independent_sources,
    ]
    likelihood = "" if claim.likelihood is None else claim.likelihood
    proof = [claim.proof or "", cell(claim.judge), likelihood, cell(claim.beyond), ""]
    for evidence in claim.evidence:
        yield [*head, *_passage(evidence, references.get(evidence.reference_n or 0), claim.id), *proof]
    if not claim.evidence:
        yield [*head, *([""] * 9), cell(claim.id), "", "", "", *proof]


def _passage(evidence: ReportEvidence, reference: Reference | None, claim_id: str) -> list[str | int]:
    return [
        evidence.relation,
        evidence.reference_n or "",
        cell(reference.title if reference else ""),
        cell(evidence.url),
        day(reference.published_at) if reference and reference.published_at else "",
        day(reference.accessed_at) if reference else "",
        cell(evidence.quote),
        evidence.start,
        evidence.end,
        cell(claim_id),
        cell(evidence.document_id),
        cell(evidence.snapshot_id),
        cell(evidence.body_sha256),
    ]


def cell(text: str) -> str:
    """`text` on one line as no spreadsheet runs it.

    Source: OWASP, CSV Injection.
    """
    line = one_line(text)
    return "'" + line if line.startswith(_FORMULA_START) else line
