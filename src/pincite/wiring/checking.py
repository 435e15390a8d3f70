"""Checking a stored report against a home, without the database layer, and the evidence it needs from a server."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, TypeVar

import anyio
from anyio import to_thread

from pincite.audit.check import CheckCounts, CheckResult, CheckStatus, check_report
from pincite.audit.stored import failed
from pincite.domain.errors import InvalidInput, ParseError, PinciteError, SchemaMismatch, StorageUnavailable
from pincite.domain.events import Event, Json
from pincite.domain.excerpts import Excerpts
from pincite.domain.page import Document, Snapshot
from pincite.domain.report import Report
from pincite.ports import DocumentStore, EvidenceSource, Judge, SnapshotStore
from pincite.settings import Settings

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LoadedEvidence:
    """Implements `ports.EvidenceSource` over what was loaded. What could not be read is raised when it is asked for."""

    found: "Mapping[str, Snapshot | Document | Excerpts | PinciteError]" = field(default_factory=dict)

    def snapshot(self, snapshot_id: str) -> Snapshot | None:
        """The capture, or None. Errors: StorageUnavailable (it is damaged)."""
        return self._of(Snapshot, snapshot_id)

    def document(self, document_id: str, snapshot_id: str | None = None) -> Document | None:
        """The document, or None. Errors: StorageUnavailable (it is damaged)."""
        return self._of(Document, document_id)

    def excerpts(self, document_id: str, snapshot_id: str | None = None) -> Excerpts | None:
        """What is kept in place of the document, or None. Errors: StorageUnavailable (it is damaged)."""
        return self._of(Excerpts, document_id)

    def _of(self, kind: type[T], name: str) -> T | None:
        found = self.found.get(name)
        if isinstance(found, PinciteError):
            raise found
        return found if isinstance(found, kind) else None


async def _loaded(snapshots: SnapshotStore, documents: DocumentStore, names: Iterable[str]) -> LoadedEvidence:
    found: dict[str, Snapshot | Document | Excerpts | PinciteError | None] = {}
    for name in sorted(set(names)):
        try:
            if name.startswith("snap_"):
                found[name] = await snapshots.get(name)
            else:
                found[name] = await documents.get(name) or await documents.excerpts(name)
        except StorageUnavailable as error:
            # A damaged row is what a check is there to tell; a server that does not answer ends it.
            if error.reason != "corrupt":
                raise
            found[name] = error
    return LoadedEvidence({name: item for name, item in found.items() if item is not None})


async def _loaded_from_server(settings: Settings, names: Iterable[str]) -> LoadedEvidence:
    from pincite.wiring.stores import open_shared

    async with open_shared(settings) as shared:
        storage = (await shared.storage()).scope(settings.scope)
        return await _loaded(storage.snapshots, storage.documents, names)


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


# APPNOTE.TXT §4.3.7; damaged at the start, a bundle still has its end.
ZIP_START = b"PK\x03\x04"
ZIP_END = b"PK\x05\x06"
# A bundle of ours has no comment behind its directory's end: that stands in the last bytes.
ZIP_TAIL = 1_000
_GIVE = "Other formats are for reading. pincite bundle RUN -o evidence.wacz makes a file that can be checked anywhere."


def check_stored_report(data: bytes, settings: Settings) -> CheckResult:
    """What checking finds: report JSON against the pages of the home, or a bundle, which brings its own.

    No database layer is loaded, unless the evidence is in a PostgreSQL.

    Errors: InvalidInput (not JSON), SchemaMismatch (written by a newer Pincite), ArchiveCorrupt (a zip, but no bundle).
    """
    from pincite.fetch.extractors import extract

    if _is_bundle(data):
        return _check_bundle(data)
    from pincite.exports.codec import duplicate_members

    raw = _parsed(data)
    with _evidence(raw, settings) as evidence:
        result = check_report(raw, evidence, reread=extract)
    # Of a member that stands twice in an object, different readers take different ones.
    twice = tuple(failed("report", f"has the member {name!r} twice in one object") for name in duplicate_members(data))
    return replace(result, status=CheckStatus.FAILED, problems=(*twice, *result.problems)) if twice else result


async def check_with_judge(data: bytes, settings: Settings, judge: Judge, at: datetime) -> CheckResult:
    """As `check_stored_report`, and then each sentence that is not quoted is put before the judge again.

    Errors: as there, and those of a judge's settings; what it does not answer is `unchecked`.
    """
    from pincite.audit.judged_again import ToJudge, judged_again, to_judge
    from pincite.exports.bundle import Bundle

    def statements() -> tuple[ToJudge, ...]:
        if _is_bundle(data):
            try:
                return to_judge((bundle := Bundle(data)).report, bundle)
            # The check before has told what is wrong with it; there is nothing to put before a judge.
            except InvalidInput:
                return ()
        raw = _parsed(data)
        with _evidence(raw, settings) as evidence:
            return to_judge(raw, evidence)

    result = await to_thread.run_sync(check_stored_report, data, settings)
    return await judged_again(result, await to_thread.run_sync(statements), judge, at=at)


def _parsed(data: bytes) -> dict[str, Json]:
    try:
        raw = json.loads(data)
    except ValueError as error:
        raise InvalidInput("this is neither a bundle nor a report as JSON", reason="not_json", hint=_GIVE) from error
    if not isinstance(raw, dict):
        raise InvalidInput("this is no report: a JSON object was expected", reason="not_json", hint=_GIVE)
    return raw


@contextmanager
def _evidence(raw: Mapping[str, Json], settings: Settings) -> Iterator[EvidenceSource]:
    """What the home, or the server, holds of a report's pages."""
    from pincite.storage.evidence import EvidenceReader
    from pincite.storage.home_files import DATABASE_NAME

    database = settings.home / DATABASE_NAME
    if settings.shared_database is not None:
        yield anyio.run(_loaded_from_server, settings, _ids(raw))
    elif not database.is_file():
        yield LoadedEvidence()  # a home without a database: nothing is stored
    else:
        with EvidenceReader(database, settings.scope) as evidence:
            yield evidence


def _is_bundle(data: bytes) -> bool:
    """Whether it begins or ends as a zip does: a damaged first byte must not turn a bundle into a broken report."""
    return data.startswith(ZIP_START) or (ZIP_END in data[-ZIP_TAIL:] and data.lstrip()[:1] != b"{")


def _check_bundle(data: bytes) -> CheckResult:
    """What checking a bundle finds: its files first, then the report in it against the pages in it."""
    from pincite.exports.bundle import Bundle
    from pincite.fetch.extractors import extract

    bundle = Bundle(data)
    damage = tuple(failed(found.where, found.what) for found in bundle.problems())
    try:
        result = check_report(bundle.report, bundle, reread=extract)
    except (ParseError, InvalidInput, SchemaMismatch) as error:
        if isinstance(error, SchemaMismatch) and not damage:
            raise
        broken = failed("report", error.message)
        return CheckResult(CheckStatus.FAILED, CheckCounts(), (*damage, broken))
    status = CheckStatus.FAILED if damage else result.status
    return replace(result, status=status, problems=(*damage, *result.problems))


# What a bundle carries of the pages: all of them, or the passages that are quoted with what stands around them.
EvidenceKept = Literal["full", "passages"]


async def bundle_of(
    report: Report, events: Sequence[Event], snapshots: SnapshotStore, documents: DocumentStore, kept: EvidenceKept
) -> bytes:
    """A run's report and events with all that the report rests on, as a WACZ.

    Errors: NotFound (evidence was deleted), StorageUnavailable.
    """
    from pincite.domain.codec import to_json
    from pincite.exports.passages import PassagesOnly
    from pincite.exports.wacz import render_bundle

    evidence = await _loaded(snapshots, documents, _ids(to_json(report)))
    source = PassagesOnly(report, evidence) if kept == "passages" else evidence
    return await to_thread.run_sync(render_bundle, report, source, events)
