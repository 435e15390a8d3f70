"""What an engine keeps: runs with their events, calls, reports and evidence, the log and the cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pincite.domain.errors import InsufficientEvidence, InvalidInput, NotFound, RunNotFound
from pincite.domain.events import Event, RunStatus
from pincite.domain.excerpts import Excerpts
from pincite.domain.frozen import dataclass
from pincite.domain.page import Document, Snapshot
from pincite.domain.records import CallRecord, LoggedCall, RunRecord
from pincite.settings import Settings
from pincite.wiring.parts import Parts, open_parts
from pincite.wiring.stores import CacheCleared, CacheStats, Shared

if TYPE_CHECKING:
    from pincite.domain.report import Report
    from pincite.ports import Judge, LanguageModel
    from pincite.wiring.checking import EvidenceKept
    from pincite.wiring.sharing import Exported, Imported


@dataclass(frozen=True, slots=True)
class RunView:
    """A run with all that was recorded of it."""

    record: RunRecord
    events: tuple[Event, ...]
    report: Report | None


class Archive:
    """Runs and reports of one scope, and how they leave: shown, exported, bundled, deleted. Base of `Engine`.

    Args:
        settings: those in force (`pincite.settings.load_settings`).
        shared: what all engines of a process use together.
        model: serves roles instead of the models of the settings: a fake, or an adapter of your own.
        judge: judges instead of the judge of the settings.
    """

    def __init__(
        self,
        settings: Settings,
        shared: Shared | None = None,
        *,
        model: LanguageModel | None = None,
        judge: Judge | None = None,
    ) -> None:
        self.settings = settings
        self._shared = shared
        self._model = model
        self._judge = judge
        self._stack = AsyncExitStack()
        self._opened: Parts | None = None

    def over(self, shared: Shared) -> Self:
        """The same, not open yet, over what all engines of a process share."""
        return type(self)(self.settings, shared, model=self._model, judge=self._judge)

    async def __aenter__(self) -> Self:
        self._opened = await self._stack.enter_async_context(
            open_parts(self.settings, self._shared, self._model, self._judge)
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened = None
        await self._stack.__aexit__(kind, error, trace)

    @property
    def _parts(self) -> Parts:
        if self._opened is None:
            raise InvalidInput("the engine is not open", hint="Use it as: async with Engine.from_settings() as engine:")
        return self._opened

    async def runs(
        self,
        limit: int = 50,
        *,
        before: tuple[datetime, str] | None = None,
        project: str | None = None,
        status: RunStatus | None = None,
    ) -> Sequence[RunRecord]:
        """The newest runs first (of a project, of a status); with `before` (time and id of a run) those after it."""
        return await (await self._parts.runs()).list(limit, before=before, project=project, status=status)

    async def run(self, run_id: str) -> RunRecord:
        """Where a run stands. Errors: RunNotFound."""
        return await (await self._parts.runs()).get(await self._resolve(run_id))

    async def events(self, run_id: str, after: int = 0, limit: int | None = None) -> Sequence[Event]:
        """The stored events of a run numbered above `after`, in order; the first `limit` of them."""
        return await (await self._parts.runs()).events(run_id, after, limit)

    async def calls(self, run_id: str) -> Sequence[CallRecord]:
        """Every search, page and model call of a run, with its outcome, latency and bill. Errors: RunNotFound."""
        return await (await self._parts.runs()).calls((await self.run(run_id)).run_id)

    async def snapshot(self, snapshot_id: str) -> tuple[Snapshot, Document | None]:
        """A stored capture with what was read out of it. Errors: NotFound."""
        found = await (await self._parts.snapshots()).get(snapshot_id)
        if found is None:
            raise NotFound(f"there is no snapshot {snapshot_id[:80]}")
        return found, await (await self._parts.documents()).newest_for_snapshot(snapshot_id)

    async def view(self, run_id: str) -> RunView:
        """A run with its events and report. Errors: RunNotFound."""
        wanted = await self._resolve(run_id)
        store = await self._parts.runs()
        return RunView(await store.get(wanted), tuple(await store.events(wanted)), await store.get_report(wanted))

    async def newest_report(self, run_id: str) -> Report | None:
        """The newest version of a run's report, or None while it has none. Errors: RunNotFound."""
        return await (await self._parts.runs()).get_report((await self.run(run_id)).run_id)

    async def report(self, run_id: str) -> Report:
        """The newest version of a run's report.

        Errors: RunNotFound, InsufficientEvidence (the run has none; resume it).
        """
        record = await self.run(run_id)
        found = await (await self._parts.runs()).get_report(record.run_id)
        if found is None:
            raise InsufficientEvidence(
                f"run {record.run_id} has no report: it is {record.status}",
                reason="no_report",
                hint=f"pincite runs resume {record.run_id}",
            )
        return found

    async def reading(self, document_id: str) -> Document | Excerpts | None:
        """The text that quotes were cut from, what is kept of it, or None when nothing is (any more)."""
        stored = await self._parts.documents()
        return await stored.get(document_id) or await stored.excerpts(document_id)

    async def cancel(self, run_id: str) -> RunStatus:
        """Ask whoever works on the run to stop, or cancel it at once where nobody does. Errors: RunNotFound."""
        return await (await self._parts.runs()).cancel(await self._resolve(run_id))

    async def delete(self, run_id: str) -> str:
        """The id of the run that was forgotten, with what only it used. Errors: RunNotFound, Locked."""
        wanted = await self._resolve(run_id)
        await (await self._parts.runs()).delete(wanted)
        # The log is a file of its own in a home: no transaction spans both.
        await self._parts.log.forget(wanted)
        return wanted

    async def export(self, report: Report, format_: str) -> bytes:
        """The report as a file of that format (`md`, `json`, `html`, `pdf`, `docx`, `csv`, `csl.json`, `bib`, `ris`).

        Errors: InvalidInput (no such format), ExtraNotInstalled.
        """
        exporter = self._parts.exporter(format_)
        return exporter.render(report, await self._documents_of(report))

    async def bundle(self, run_id: str, kept: EvidenceKept = "passages") -> bytes:
        """The report of a run with its evidence as a WACZ, which `pincite check` verifies anywhere.

        Errors: RunNotFound, InsufficientEvidence (no report), NotFound (evidence was deleted), StorageUnavailable.
        """
        from pincite.wiring.checking import bundle_of

        report, parts = await self.report(run_id), self._parts
        events = await self.events(report.run_id)
        return await bundle_of(report, events, await parts.snapshots(), await parts.documents(), kept)

    async def share_export(self, path: Path) -> Exported:
        """Write a signed bundle of what this scope may share: captures with their bodies, and search answers.

        Errors:
            ShareRefused (`scope_private`: the scope is not in `share_scopes`), InvalidInput (the file can't be
            written), ExtraNotInstalled.
        """
        return await (await self._parts.sharing()).export(path)

    async def share_import(self, path: Path, *, key: str | None = None) -> Imported:
        """Take in a bundle of another installation, signed with `key` or with that of a peer in `share_peers`.

        Addresses, sizes, hashes, dates and robots.txt are checked again here, and the text is read anew from the
        body. What does not hold is left out and counted; it changes nothing.

        Errors:
            ShareRefused (the file as a whole does not hold), InvalidInput (no such file), InvalidSetting,
            ExtraNotInstalled.
        """
        return await self._parts.take_in(path, key)

    async def shared_item(self, kind: str, key: str) -> bytes | None:
        """What a peer that asks is given, signed: a `capture` or an `answer` by its key; None where there is none.

        Errors: ShareRefused (`scope_private`), ExtraNotInstalled.
        """
        return await (await self._parts.sharing()).item(kind, key)

    async def share_key(self) -> str:
        """What others put into their settings to know this installation by; made at first use.

        Errors: ExtraNotInstalled, StorageUnavailable (`share_key`).
        """
        return (await self._parts.sharing()).key

    def vet_format(self, format_: str) -> None:
        """Return when reports can be exported in that format. Errors: InvalidInput, ExtraNotInstalled."""
        self._parts.exporter(format_)

    async def log(
        self,
        limit: int = 50,
        *,
        before: tuple[datetime, str] | None = None,
        tool: str | None = None,
        run_id: str | None = None,
        session_id: str | None = None,
    ) -> Sequence[LoggedCall]:
        """The newest calls first, through whichever surface, those that runs made among them; a second behind.

        With `before` (time and id of a call) those that come after it in that order.
        """
        runs = await self._parts.runs()
        return await self._parts.log.read(runs, limit, before=before, tool=tool, run_id=run_id, session_id=session_id)

    async def cache_stats(self) -> CacheStats:
        """What the cache and the captured pages take up."""
        return await self._parts.cache_stats()

    async def clear_cache(self) -> CacheCleared:
        """Empty the cache and forget the captures that no run refers to; what went. Runs and reports stay whole."""
        return await self._parts.clear_cache()

    async def _resolve(self, run_id: str) -> str:
        # `last` at every door is the newest run of the scope, so that a command can follow another without copying an
        # id.
        if run_id != "last":
            return run_id
        newest = await (await self._parts.runs()).list(1)
        if not newest:
            raise RunNotFound("there are no runs yet")
        return newest[0].run_id

    async def _documents_of(self, report: Report) -> Mapping[str, Document]:
        wanted = {evidence.document_id for claim in report.claims for evidence in claim.evidence}
        stored = await self._parts.documents()
        found = {document_id: await stored.get(document_id) for document_id in sorted(wanted)}
        return {document_id: document for document_id, document in found.items() if document is not None}
