"""Checking a stored report against a home, without the database layer, and the evidence it needs from a server."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, TypeVar

import anyio
from anyio import to_thread

from pincite.audit.check import CheckCounts, CheckResult, CheckStatus, check_report
from pincite.audit.stored import failed
from pincite.domain.errors import (
    InsufficientEvidence,
    InvalidInput,
    ParseError,
    PinciteError,
    RunNotFound,
    SchemaMismatch,
    StorageUnavailable,
)
from pincite.domain.events import Event, Json
from pincite.domain.page import Document, Excerpts, Snapshot
from pincite.domain.report import Report
from pincite.ports import EvidenceSource, Judge
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


async def _load(settings: Settings, ids: set[str]) -> LoadedEvidence:
    from pincite.wiring.stores import open_shared

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
                # A damaged row is what a check is there to tell; a server that does not answer ends it.
                if error.reason != "corrupt":
                    raise
                (found.snapshots if one.startswith("snap_") else found.documents)[one] = error
    return found


async def _load_run(settings: Settings, run_id: str) -> tuple[Report, Sequence[Event], LoadedEvidence]:
    from pincite.domain.codec import to_json
    from pincite.wiring.stores import open_shared

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
        yield anyio.run(_load, settings, set(_ids(raw)))
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


def bundle_of_run(run_id: str, settings: Settings, kept: EvidenceKept = "full") -> bytes:
    """The newest report of a run (`last`: of the newest run) with all that it rests on, as a WACZ.

    Errors:
        RunNotFound, InsufficientEvidence (the run has no report), NotFound (evidence was deleted), StorageUnavailable.
    """
    from pincite.exports.passages import PassagesOnly
    from pincite.exports.wacz import render_bundle
    from pincite.storage.evidence import EvidenceReader
    from pincite.storage.home_files import DATABASE_NAME

    if settings.shared_database is not None:
        report, events, loaded = anyio.run(_load_run, settings, run_id)
        return render_bundle(report, PassagesOnly(report, loaded) if kept == "passages" else loaded, events)
    database = settings.home / DATABASE_NAME
    if not database.is_file():
        raise RunNotFound("there are no runs yet")
    with EvidenceReader(database, settings.scope) as evidence:
        newest = evidence.runs(1) if run_id == "last" else ()
        if run_id == "last" and not newest:
            raise RunNotFound("there are no runs yet")
        wanted = newest[0].run_id if newest else evidence.run(run_id).run_id
        found = evidence.report(wanted)
        if found is None:
            raise InsufficientEvidence(
                f"run {wanted} has no report", reason="no_report", hint=f"pincite runs resume {wanted}"
            )
        source = PassagesOnly(found, evidence) if kept == "passages" else evidence
        return render_bundle(found, source, evidence.events(wanted))
