"""Stored evidence on PostgreSQL, as `check` and bundles read it: what one report refers to, loaded at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio

from pincite.domain.errors import InsufficientEvidence, PinciteError, RunNotFound, StorageUnavailable
from pincite.domain.events import Event
from pincite.domain.page import Document, Excerpts, Snapshot
from pincite.domain.report import Report
from pincite.settings import Settings

T = TypeVar("T")


@dataclass(slots=True)
class LoadedEvidence:
    """Implements `ports.EvidenceSource` over what was loaded. What could not be read is raised when it is asked for."""

    snapshots: "dict[str, Snapshot | PinciteError]" = field(default_factory=dict)
    documents: "dict[str, Document | PinciteError]" = field(default_factory=dict)
    kept: "dict[str, Excerpts]" = field(default_factory=dict)

    def snapshot(self, snapshot_id: str) -> Snapshot | None:
        """The capture, or None. Errors: StorageUnavailable (it is damaged)."""
        return _or_raise(self.snapshots.get(snapshot_id))

    def document(self, document_id: str, snapshot_id: str | None = None) -> Document | None:
        """The document, or None. Errors: StorageUnavailable (it is damaged)."""
        return _or_raise(self.documents.get(document_id))

    def excerpts(self, document_id: str, snapshot_id: str | None = None) -> Excerpts | None:
        """What is kept in place of the document, or None."""
        return self.kept.get(document_id)


def is_on_server(settings: Settings) -> bool:
    """Whether evidence is in a PostgreSQL instead of the home."""
    return settings.shared_database is not None


def load_evidence(settings: Settings, report: Any) -> LoadedEvidence:  # report JSON of any shape
    """What the ids in a report lead to. Errors: StorageUnavailable, SchemaMismatch, ExtraNotInstalled."""
    return anyio.run(_load, settings, set(_ids(report)))


def load_run(settings: Settings, run_id: str) -> tuple[Report, Sequence[Event], LoadedEvidence]:
    """The newest report of a run (`last`: of the newest) with its events and evidence.

    Errors: RunNotFound, InsufficientEvidence (the run has no report), StorageUnavailable.
    """
    return anyio.run(_load_run, settings, run_id)


async def _load(settings: Settings, ids: set[str]) -> LoadedEvidence:
    from pincite.wiring.shared import open_shared

    found = LoadedEvidence()
    async with open_shared(settings) as shared:
        mine = (await shared.storage()).scope(settings.scope)
        for one in sorted(ids):
            try:
                if one.startswith("snap_"):
                    snapshot = await mine.snapshots.get(one)
                    found.snapshots |= {} if snapshot is None else {one: snapshot}
                    continue
                document = await mine.documents.get(one)
                found.documents |= {} if document is None else {one: document}
                excerpts = None if document is not None else await mine.documents.excerpts(one)
                found.kept |= {} if excerpts is None else {one: excerpts}
            except StorageUnavailable as error:
                if error.reason != "corrupt":
                    raise
                (found.snapshots if one.startswith("snap_") else found.documents)[one] = error
    return found


async def _load_run(settings: Settings, run_id: str) -> tuple[Report, Sequence[Event], LoadedEvidence]:
    from pincite.domain.codec import to_json
    from pincite.wiring.shared import open_shared

    async with open_shared(settings) as shared:
        runs = (await shared.storage()).scope(settings.scope).runs
        newest = await runs.list(1) if run_id == "last" else ()
        if run_id == "last" and not newest:
            raise RunNotFound("there are no runs yet")
        wanted = newest[0].run_id if newest else (await runs.get(run_id)).run_id
        report, events = await runs.get_report(wanted), await runs.events(wanted)
    if report is None:
        hint = f"pincite runs resume {wanted}"
        raise InsufficientEvidence(f"run {wanted} has no report", reason="no_report", hint=hint)
    return report, events, await _load(settings, set(_ids(to_json(report))))


def _ids(value: Any) -> Iterator[str]:
    match value:
        case str() if value.startswith(("snap_", "doc_")):
            yield value
        case dict():
            for item in value.values():
                yield from _ids(item)
        case list() | tuple():
            for item in value:
                yield from _ids(item)


def _or_raise(found: "T | PinciteError | None") -> "T | None":
    if isinstance(found, PinciteError):
        raise found
    return found
