"""What operators see, from the settings: logs without secrets, traces to a collector, the log of calls."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from importlib.util import find_spec
from secrets import token_hex
from typing import TYPE_CHECKING, Final, get_args
from urllib.parse import unquote, urlsplit

import anyio
import anyio.to_thread
from pydantic import SecretStr

from pincite.domain.errors import ExtraNotInstalled, PinciteError
from pincite.domain.events import Json
from pincite.domain.records import CallRecord, LoggedCall
from pincite.ports import Clock, RunStore
from pincite.runtime.system import install_extra
from pincite.runtime.telemetry import Mask, caller, configure_logs, masked, masker
from pincite.settings import Settings, environment_names, load_settings
from pincite.urls.masking import mask_typed

if TYPE_CHECKING:
    from pincite.storage.database import Database
    from pincite.storage.service import SharedTables
    from pincite.storage.tool_log import TableToolLog

# Written in batches: a reader of the log sees a call within a second.
BEHIND_S: Final = 0.8
# A bound on memory while the disk is away; the oldest go first.
MAX_WAITING: Final = 20_000
# A log is for what was asked, not for pages that came along with it.
MAX_TEXT: Final = 2_000
# The last batch takes milliseconds; a disk that hangs must not keep a process from ending.
_CLOSE_S: Final = 10.0


class ToolLog:
    """Takes notes of calls. Closed by whoever made it.

    Args:
        write: stores a batch; called in a thread of the log's own. A batch that can't be written is given up, after an
            error that may pass it is tried again until the log is closed.
        behind_s: how long a note may wait for others.
    """

    def __init__(self, write: Callable[[Sequence[LoggedCall]], None], *, behind_s: float = BEHIND_S) -> None:
        self._write = write
        self._behind_s = behind_s
        self._waiting: deque[LoggedCall] = deque(maxlen=MAX_WAITING)
        self._lock = threading.Lock()
        self._noted = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self.lost = 0

    def note(self, call: LoggedCall) -> None:
        """Have the call written soon. Where notes come faster than they can be written, the oldest go."""
        # Cut here and not when it is written: what waits is held in memory.
        self._waiting.append(replace(call, request=shortened(call.request)))
        self._noted.set()
        if self._thread is None:
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="pincite-tool-log", daemon=True)
                    self._thread.start()

    def close(self) -> None:
        """Write what is waiting, and end. Blocks for a moment."""
        self._closing.set()
        self._noted.set()
        if self._thread is not None:
            self._thread.join(_CLOSE_S)

    def _run(self) -> None:
        while True:
            self._noted.wait()
            # Some more may come while it waits: one write for all of them.
            if not self._closing.wait(self._behind_s):
                self._noted.clear()
            self._write_waiting()
            if self._closing.is_set() and not self._waiting:
                return

    def _write_waiting(self) -> None:
        """Write what is there; not kept beyond that, for the next call may be hours away."""
        batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
        if not batch:
            return
        try:
            self._write(batch)
        except PinciteError as error:  # a log that can't be written must not stop the work it tells of
            self._give_up(batch, again=error.retryable and not self._closing.is_set())

    def _give_up(self, batch: Sequence[LoggedCall], *, again: bool) -> None:
        # What came meanwhile stays: of a log the newest is worth most.
        room = MAX_WAITING - len(self._waiting) if again else 0
        kept = batch[max(0, len(batch) - room) :] if room > 0 else ()
        self.lost += len(batch) - len(kept)
        self._waiting.extendleft(reversed(kept))
        if kept:
            self._noted.set()


def shortened(value: Json) -> Json:
    """Plain JSON whose texts are at most `MAX_TEXT` characters long."""
    match value:
        case str():
            return value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]}… ({len(value)} characters)"
        case list():
            return [shortened(item) for item in value]
        case dict():
            return {name: shortened(item) for name, item in value.items()}
        case _:
            return value


def observe(settings: Settings) -> None:
    """Configure logs and traces of this process; called once by a surface that runs for long.

    Errors: ExtraNotInstalled (traces without the SDK).
    """
    configure_logs(mask_of(settings), level=settings.log_level, as_json=settings.log_format == "json")
    export_spans(settings)


def export_spans(settings: Settings) -> None:
    """Send spans to the collector of the settings, if there is one. Errors: ExtraNotInstalled (the SDK is missing)."""
    if not settings.otel_endpoint:
        return
    if find_spec("opentelemetry.sdk") is None or find_spec("opentelemetry.exporter") is None:
        raise ExtraNotInstalled("traces need the SDK of OpenTelemetry", hint=f"Run: {install_extra('otel')}")
    from opentelemetry import trace

    from pincite.wiring.traces import send_spans

    trace.set_tracer_provider(send_spans(settings.otel_endpoint, mask_of(settings)(settings.otel_endpoint)))


def mask_of(settings: Settings) -> Mask:
    """What takes every secret of the settings out of a text, and what looks like one in it."""
    return masker((form for value in settings.secrets for form in _forms_of(value)), mask_typed)


def _forms_of(text: str) -> Iterator[str]:
    yield text
    yield from (part.strip() for part in text.split(","))  # several keys of one provider
    if "://" in text:
        with suppress(ValueError):  # such as a bracket that is not closed: then the whole is all there is
            password = urlsplit(text).password or ""
            yield from (password, unquote(password))


def mask_of_environment() -> Mask:
    """As `mask_of`, for a process that may have no valid settings: then what its environment says of secrets counts."""
    try:
        return mask_of(load_settings())
    except PinciteError:
        secret = (
            name
            for name, field in Settings.model_fields.items()
            if SecretStr in (field.annotation, *get_args(field.annotation))
        )
        given = (os.environ.get(variable, "") for name in secret for variable in environment_names(name))
        return masker((form for text in given for form in _forms_of(text)), mask_typed)


# The surface of the calls that runs make.
OF_RUNS = "run"


@dataclass(slots=True)
class Note:
    """What became of a call, told while it is under way."""

    request: Json
    outcome: str = "cancelled"  # until the block has ended: a cancellation passes no `except Exception`
    cost_usd: Decimal = Decimal(0)
    tokens_in: int = 0
    tokens_out: int = 0
    run_id: str = ""


class CallLog:
    """Notes every call of an engine, and reads them back. Nothing is opened before the first of either.

    The log is in the database where many machines use it, otherwise in a file of the home.

    Args:
        database: that of the process, if anything has opened it so far.
    """

    def __init__(self, settings: Settings, clock: Clock, database: "Callable[[], Database | None]") -> None:
        self._settings = settings
        self._clock = clock
        self._database = database
        self._log: ToolLog | None = None
        self._moved = False
        self._mask = mask_of(settings)

    @contextmanager
    def noted(self, tool: str, request: Json, *, run_id: str = "") -> Iterator[Note]:
        """Note the call made within the block: when, by whom, how long it took, how it ended."""
        note = Note(request, run_id=run_id)
        at, started = self._clock.now(), self._clock.monotonic_s()
        try:
            yield note
            if note.outcome == "cancelled":
                note.outcome = "ok"
        except PinciteError as error:
            note.outcome = error.code.lower()
            raise
        finally:
            who = caller()
            self._opened().note(
                LoggedCall(
                    id=f"call_{token_hex(12)}",
                    at=at,
                    surface=who.surface,
                    tool=tool,
                    request=masked(note.request, self._mask),
                    outcome=note.outcome,
                    latency_ms=round((self._clock.monotonic_s() - started) * 1000, 3),
                    cost_usd=note.cost_usd,
                    tokens_in=note.tokens_in,
                    tokens_out=note.tokens_out,
                    run_id=note.run_id,
                    session_id=who.session_id,
                    request_id=who.request_id,
                )
            )

    async def read(
        self,
        runs: RunStore,
        limit: int,
        *,
        before: tuple[datetime, str] | None = None,
        tool: str | None = None,
        run_id: str | None = None,
        session_id: str | None = None,
    ) -> tuple[LoggedCall, ...]:
        """The newest calls first, those that runs made among them; `before` is time and id of a call."""
        found = await anyio.to_thread.run_sync(
            lambda: self._store.read(limit, before=before, tool=tool, run_id=run_id, session_id=session_id)
        )
        made: list[tuple[str, CallRecord]] = []
        if session_id is None and run_id is None:
            made = list(await runs.latest_calls(limit, before=before, kind=tool))
        elif run_id is not None and session_id is None:
            made = [(run_id, call) for call in await runs.calls(run_id) if tool in (None, call.kind)]
        inside = (_of_run(id_, call, self._mask) for id_, call in made)
        wanted = (call for call in inside if before is None or (call.at, call.id) < before)
        return tuple(sorted((*found, *wanted), key=lambda call: (call.at, call.id), reverse=True)[:limit])

    async def forget(self, run_id: str | None = None) -> int:
        """Remove what is kept of a run, or every call of the scope; how many went."""
        if run_id is None:
            self.close()
            self._log = None
        return await anyio.to_thread.run_sync(self._store.forget, run_id)

    def close(self) -> None:
        """Write what is waiting."""
        if self._log is not None:
            self._log.close()

    def _opened(self) -> ToolLog:
        if self._log is None:
            self._log = ToolLog(self._store.write)
        return self._log

    @cached_property
    def _store(self) -> "TableToolLog":
        from pincite.storage.tool_log import FILE_NAME, TableToolLog, file_log

        keep = timedelta(days=self._settings.log_keep_days)
        if self._settings.shared_database is not None:
            return TableToolLog(self._tables, self._clock, keep)
        return file_log(self._settings.home / FILE_NAME, self._settings.scope, self._clock, keep)

    @contextmanager
    def _tables(self) -> "Iterator[SharedTables]":
        """In the database of the process, or one of this block where nothing needed it so far; in a thread."""
        from pincite.storage.database import opened_now
        from pincite.storage.service import SharedTables

        opened, place = self._database(), self._settings.shared_database
        with opened_now(place or "", self._clock) if opened is None else nullcontext(opened) as database:
            self._move_file(database)
            yield SharedTables(database, self._settings.scope)

    def _move_file(self, database: "Database") -> None:
        """Take over what the home's file has of the time before the database was shared."""
        if not self._moved:
            from pincite.storage.service import SharedTables
            from pincite.storage.tool_log import FILE_NAME, add_calls, move_log

            path = self._settings.home / FILE_NAME
            move_log(path, lambda scope, batch: add_calls(SharedTables(database, scope), batch))
            self._moved = True


def _of_run(run_id: str, call: CallRecord, mask: Mask) -> LoggedCall:
    return LoggedCall(
        id=call.key,
        at=call.started_at,
        surface=OF_RUNS,
        tool=call.kind,
        request=masked(call.request, mask),
        outcome=call.status,
        latency_ms=call.latency_ms or 0.0,
        cost_usd=call.used.cost_usd,
        tokens_in=call.used.tokens_in,
        tokens_out=call.used.tokens_out,
        run_id=run_id,
    )
