"""The references as RIS, which citation managers import."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from pincite.domain.markdown import one_line
from pincite.domain.page import Document
from pincite.domain.report import Reference, Report
from pincite.exports.bibliography import doi, keys, provenance, site


class RisExporter:
    """The reference list in RIS (type ELEC, a web page)."""

    media_type = "application/x-research-info-systems; charset=utf-8"

    def render(self, report: Report, documents: Mapping[str, Document]) -> bytes:
        """The UTF-8 file; RIS ends its lines with CR LF."""
        names = keys(report.references)
        lines = (line for reference in report.references for line in _entry(reference, names[reference.n]))
        return "".join(f"{line}\r\n" for line in lines).encode()


def _entry(reference: Reference, key: str) -> Iterator[str]:
    yield "TY  - ELEC"
    fields = (
        ("ID", key),
        ("TI", reference.title or reference.url),
        ("AU", reference.author or ""),
        ("T2", site(reference.url)),
        ("DA", _day(reference.published_at)),
        ("PY", f"{reference.published_at:%Y}" if reference.published_at else ""),
        ("Y2", _day(reference.accessed_at)),
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


def _day(moment: datetime | None) -> str:
    if moment is None:
        return ""
    return f"{(moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC):%Y/%m/%d}"
