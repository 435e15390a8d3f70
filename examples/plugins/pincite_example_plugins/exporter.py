"""An export format: the sentences of a report with their numbers, and the addresses behind them, as plain text."""

from collections.abc import Mapping

from pincite import Document, Report


class TextExporter:
    """Implements `pincite.ports.Exporter`."""

    media_type = "text/plain; charset=utf-8"
    # What people choose it by, on the web pages and in the docs.
    title = "Plain text"
    about = "sentences and addresses, nothing else"

    def render(self, report: Report, documents: Mapping[str, Document]) -> bytes:
        """The UTF-8 text."""
        sentences = (
            sentence.text + "".join(f" [{number}]" for number in sentence.references) for sentence in report.sentences()
        )
        sources = (f"[{reference.n}] {reference.title} {reference.url}" for reference in report.references)
        lines = [report.question, "", *sentences, "", *sources]
        return "\n".join([*lines, ""]).encode()
