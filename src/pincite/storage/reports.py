"""Versions of reports in the database, with their claims, evidence and citations as rows of their own."""

import json
import zlib
from typing import Any

from pincite.domain.codec import from_json, to_json
from pincite.domain.errors import PinciteError, StorageUnavailable
from pincite.domain.report import Report
from pincite.storage import retention
from pincite.storage.database import Transaction
from pincite.storage.schema import citations, claims, evidence, reports


def put_report(tx: Transaction, report: Report) -> None:
    """Store this version; the same version replaces itself."""
    retention.delete_report(tx, report.run_id, report.version)
    tx.insert(
        reports,
        content=zlib.compress(json.dumps(to_json(report), ensure_ascii=False).encode()),
        **_columns(report, "run_id version report_id status title created_at"),
    )
    place = {"run_id": report.run_id, "report_version": report.version}
    told = [
        place | {"claim_id": claim.id} | _columns(claim, "text type confidence verdict independent_sources")
        for claim in report.claims
    ]
    quoted = [
        place
        | {"claim_id": claim.id, "n": n, "start_offset": item.start, "end_offset": item.end}
        | _columns(item, "document_id snapshot_id url quote relation reference_n")
        for claim in report.claims
        for n, item in enumerate(claim.evidence, 1)
    ]
    cited = "n url title snapshot_id accessed_at published_at excerpt"
    tx.insert_many(claims, told)
    tx.insert_many(evidence, quoted)
    tx.insert_many(citations, [place | _columns(entry, cited) for entry in report.references])


def _columns(value: object, names: str) -> dict[str, Any]:
    """The members of a value that columns are called after."""
    return {name: getattr(value, name) for name in names.split()}


def get_report(tx: Transaction, run_id: str, version: int | None) -> Report | None:
    """The newest version (or this one), or None. Errors: StorageUnavailable (damaged)."""
    query = tx.select(reports, reports.c.content).where(reports.c.run_id == run_id)
    if version is not None:
        query = query.where(reports.c.version == version)
    row = tx.first(query.order_by(reports.c.version.desc()).limit(1))
    return None if row is None else report_of(row.content)


def report_of(content: bytes) -> Report:
    """The report in a row of `reports`. Errors: StorageUnavailable (it is damaged)."""
    try:
        return from_json(Report, json.loads(zlib.decompress(content)))
    except (zlib.error, ValueError, PinciteError) as error:
        raise StorageUnavailable(f"the stored report can't be read: {error}", reason="corrupt") from error
