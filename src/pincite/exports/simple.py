"""Reports without layout, and their references for citation managers.

The Markdown, the published JSON that `pincite check` reads, the claims as CSV; biblatex, CSL-JSON and RIS.
"""

import csv
import io
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from urllib.parse import unquote, urlsplit

from pincite.domain.events import Json
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


_DOI_HOSTS = frozenset({"doi.org", "dx.doi.org", "www.doi.org"})


def site(url: str) -> str:
    """The host of `url` without `www.`, or the empty string when there is none."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:  # an address that no parser takes is still a reference
        return ""
    return host.removeprefix("www.")


def doi(url: str) -> str:
    """The DOI that `url` resolves, or the empty string."""
    if site(url) not in _DOI_HOSTS:
        return ""
    path = unquote(urlsplit(url).path).strip("/")
    return path if path.startswith("10.") else ""


def keys(references: Iterable[Reference]) -> dict[int, str]:
    """A citation key for each reference number: author or site, year, first long word; distinct."""
    chosen: dict[int, str] = {}
    taken: set[str] = set()
    for reference in references:
        year = (reference.published_at or reference.accessed_at).year
        name = _ascii((reference.author or "").split(",")[0].split(" ")[-1]) or _ascii(
            site(reference.url).split(".")[0]
        )
        word = next((w for w in map(_ascii, reference.title.split()) if len(w) > 3), "")
        base = f"{name or 'source'}{year}{word}"
        key = base
        suffix = 2
        while key in taken:
            key, suffix = f"{base}-{suffix}", suffix + 1
        taken.add(key)
        chosen[reference.n] = key
    return chosen


def provenance(reference: Reference) -> str:
    """The note of an entry: where the text was come by and the capture it was read from."""
    return "; ".join(filter(None, (reference.note, f"snapshot {reference.snapshot_id}")))


def _ascii(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]", "", plain.lower())


_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
    }
)
_URL = str.maketrans({character: f"%{ord(character):02X}" for character in '{}\\"<>^` '})


class BibtexExporter:
    """The reference list for LaTeX."""

    media_type = "application/x-bibtex; charset=utf-8"
    title = "BibTeX"
    about = "biblatex `@online`, with the date of access"

    def render(self, report: Report, documents: Mapping[str, Document]) -> bytes:
        """The UTF-8 `.bib` file."""
        names = keys(report.references)
        return "\n".join(_biblatex_entry(reference, names[reference.n]) for reference in report.references).encode()


def _biblatex_entry(reference: Reference, key: str) -> str:
    fields = {
        "title": f"{{{_latex(reference.title or reference.url)}}}",
        # One more pair of braces: a name as it stands, not "Given Family" to be split.
        "author": f"{{{_latex(reference.author)}}}" if reference.author else "",
        "date": day(reference.published_at) if reference.published_at else "",
        "url": one_line(reference.url).translate(_URL),
        "urldate": day(reference.accessed_at),
        "doi": one_line(doi(reference.url)).translate(_URL),
        "note": _latex(provenance(reference)),
    }
    lines = (f"  {name} = {{{value}}}," for name, value in fields.items() if value)
    return "\n".join((f"@online{{{key},", *lines, "}", ""))


def _latex(text: str) -> str:
    return one_line(text).translate(_LATEX)


class CslJsonExporter:
    """The reference list as an array of CSL items.

    Source: CSL-JSON schema 1.0, item type `webpage`.
    """

    media_type = "application/vnd.citationstyles.csl+json"
    title = "CSL-JSON"
    about = "citation managers, pandoc"

    def render(self, report: Report, documents: Mapping[str, Document]) -> bytes:
        """The array as UTF-8 JSON."""
        names = keys(report.references)
        items = [_item(reference, names[reference.n]) for reference in report.references]
        return (json.dumps(items, ensure_ascii=False, indent=2) + "\n").encode()


def _item(reference: Reference, key: str) -> dict[str, Json]:
    item: dict[str, Json] = {"id": key, "type": "webpage", "title": one_line(reference.title or reference.url)}
    if reference.author:
        item["author"] = [{"literal": one_line(reference.author)}]
    if reference.published_at:
        item["issued"] = _date(reference.published_at)
    item["accessed"] = _date(reference.accessed_at)
    if name := site(reference.url):
        item["container-title"] = one_line(name)
    item["URL"] = one_line(reference.url)
    if number := doi(reference.url):
        item["DOI"] = one_line(number)
    item["note"] = one_line(provenance(reference))
    return item


def _date(moment: datetime) -> dict[str, Json]:
    return {"date-parts": [[int(part) for part in day(moment).split("-")]]}


class RisExporter:
    """The reference list in RIS (type ELEC, a web page)."""

    media_type = "application/x-research-info-systems; charset=utf-8"
    title = "RIS"
    about = "citation managers"

    def render(self, report: Report, documents: Mapping[str, Document]) -> bytes:
        """The UTF-8 file; RIS ends its lines with CR LF."""
        names = keys(report.references)
        lines = (line for reference in report.references for line in _ris_entry(reference, names[reference.n]))
        return "".join(f"{line}\r\n" for line in lines).encode()


def _ris_entry(reference: Reference, key: str) -> Iterator[str]:
    published = day(reference.published_at) if reference.published_at else ""
    yield "TY  - ELEC"
    fields = (
        ("ID", key),
        ("TI", reference.title or reference.url),
        ("AU", reference.author or ""),
        ("T2", site(reference.url)),
        ("DA", published.replace("-", "/")),
        ("PY", published[:4]),
        ("Y2", day(reference.accessed_at).replace("-", "/")),
        ("UR", reference.url),
        ("DO", doi(reference.url)),
        ("AB", reference.excerpt),
        ("N1", provenance(reference)),
    )
    for tag, value in fields:
        if line := one_line(value):
            yield f"{tag}  - {line}"
    yield "ER  - "
    yield ""
