"""The report as `report.json` in the published shape: what `pincite check` reads."""

from collections.abc import Mapping

from pincite.domain.page import Document
from pincite.domain.report import Report
from pincite.exports.codec import dump_report


class JsonExporter:
    """The whole report for programs."""

    media_type = "application/json"

    def render(self, report: Report, documents: Mapping[str, Document]) -> bytes:
        """The bytes of `report.json`."""
        return dump_report(report)
