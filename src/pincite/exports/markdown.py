"""The report as a Markdown file."""

from collections.abc import Mapping

from pincite.domain.markdown import CitationStyle, render_markdown
from pincite.domain.page import Document
from pincite.domain.report import Report


class MarkdownExporter:
    """The report to be read, in one of the two citation styles."""

    media_type = "text/markdown; charset=utf-8"

    def __init__(self, style: CitationStyle = "[n]") -> None:
        self._style: CitationStyle = style

    def render(self, report: Report, documents: Mapping[str, Document]) -> bytes:
        """The UTF-8 Markdown."""
        return render_markdown(report, self._style).encode()
