"""Checking a stored report against a home, without the database layer."""

import json

from pincite.audit.check import CheckResult, check_report
from pincite.domain.errors import InvalidInput
from pincite.domain.page import Document, Snapshot
from pincite.settings import Settings


def check_stored_report(data: bytes, settings: Settings) -> CheckResult:
    """What checking a report (JSON bytes) against the pages stored in the home finds; no database layer is loaded.

    Errors:
        InvalidInput: not JSON. SchemaMismatch: written by a newer Pincite.
    """
    from pincite.storage.evidence import DATABASE_NAME, EvidenceReader
    from pincite.verification.checker import MechanicalChecker

    try:
        raw = json.loads(data)
    except ValueError as error:
        raise InvalidInput(f"not a report: {error}", reason="not_json") from None
    if not isinstance(raw, dict):
        raise InvalidInput("not a report: a JSON object was expected", reason="not_json")
    database = settings.home / DATABASE_NAME
    if not database.is_file():
        return check_report(raw, NothingStored(), checker=MechanicalChecker())
    with EvidenceReader(database, settings.scope) as evidence:
        return check_report(raw, evidence, checker=MechanicalChecker())


class NothingStored:
    """Implements `ports.EvidenceSource` for a home without a database."""

    def snapshot(self, snapshot_id: str) -> Snapshot | None:
        """None."""
        return None

    def document(self, document_id: str, snapshot_id: str | None = None) -> Document | None:
        """None."""
        return None
