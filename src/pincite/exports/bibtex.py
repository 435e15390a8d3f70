"""The references as a biblatex file (`@online`, with the date of access)."""

from collections.abc import Mapping

from pincite.domain.markdown import day, one_line
from pincite.domain.page import Document
from pincite.domain.report import Reference, Report
from pincite.exports.bibliography import doi, keys, provenance

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

    def render(self, report: Report, documents: Mapping[str, Document]) -> bytes:
        """The UTF-8 `.bib` file."""
        names = keys(report.references)
        return "\n".join(_entry(reference, names[reference.n]) for reference in report.references).encode()


def _entry(reference: Reference, key: str) -> str:
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
