"""The report as a PDF: the HTML page in print style, the evidence as an appendix. Nothing is loaded from anywhere."""

from collections.abc import Mapping
from typing import Any, NoReturn

from pincite.domain.errors import ExtraNotInstalled, PolicyRefusal
from pincite.domain.page import Document
from pincite.domain.report import Report
from pincite.exports.html import HtmlExporter
from pincite.runtime.system import needing


class PdfExporter:
    """The report for print."""

    media_type = "application/pdf"
    title = "PDF"
    about = "for print: addresses in full, page numbers, the evidence as an appendix"
    needs = "pdf"

    def __init__(self) -> None:
        try:
            with needing("pdf", "PDF files need WeasyPrint"):
                import weasyprint
        except OSError as error:  # the wheel is there, the library it loads is not
            raise ExtraNotInstalled(
                "WeasyPrint can't load Pango",
                hint="Install Pango (Debian, Ubuntu: apt install libpango-1.0-0 libpangoft2-1.0-0)",
            ) from error
        self._weasyprint: Any = weasyprint

    def render(self, report: Report, documents: Mapping[str, Document]) -> bytes:
        """The PDF, tagged for screen readers."""
        page = HtmlExporter().render(report, documents).decode()
        html = self._weasyprint.HTML(string=page, url_fetcher=refuse, media_type="print")
        made: bytes = html.write_pdf(pdf_variant="pdf/ua-1")
        return made


def refuse(url: str, *_: object, **__: object) -> NoReturn:
    """Never fetches: a report must not make its reader's machine call anybody. Errors: PolicyRefusal (always)."""
    raise PolicyRefusal(f"a report loads nothing, not even {url[:100]}", reason="export_loads_nothing")
