"""Evidence cut to the passages that a report quotes: for bundles that are passed on to others."""

from collections.abc import Mapping
from dataclasses import replace

from pincite.domain.page import Document, Excerpts, Kept, Snapshot, excerpts_of
from pincite.domain.report import Report
from pincite.ports import EvidenceSource


class PassagesOnly:
    """Implements `ports.EvidenceSource`: of each page the windows around its quotes, and the hash of the whole.

    Args:
        report: whose quotes are kept.
        evidence: the pages, whole or as far as they are kept.
    """

    def __init__(self, report: Report, evidence: EvidenceSource) -> None:
        self._evidence = evidence
        self._spans = _spans(report)

    def snapshot(self, snapshot_id: str) -> Snapshot | None:
        """The capture without its body, or None. Errors: StorageUnavailable."""
        found = self._evidence.snapshot(snapshot_id)
        return None if found is None else replace(found, body=b"", kept=Kept.EXCERPTS)

    def document(self, document_id: str, snapshot_id: str | None = None) -> Document | None:
        """None: no text is passed on whole."""
        return None

    def excerpts(self, document_id: str, snapshot_id: str | None = None) -> Excerpts | None:
        """The quotes of the document with what stands around them, or None. Errors: StorageUnavailable."""
        document = self._evidence.document(document_id, snapshot_id)
        if document is None:
            return self._evidence.excerpts(document_id, snapshot_id)
        return excerpts_of(document, self._spans.get(document_id, ()))


def _spans(report: Report) -> Mapping[str, tuple[tuple[int, int], ...]]:
    quotes = [item for claim in report.claims for item in claim.evidence]
    quotes += [item for conflict in report.conflicts for side in conflict.sides for item in side.evidence]
    found: dict[str, tuple[tuple[int, int], ...]] = {}
    for item in quotes:
        found[item.document_id] = (*found.get(item.document_id, ()), (item.start, item.end))
    return found
