"""How workers are woken for runs: within one process, or by Procrastinate on PostgreSQL.

Who may work on a run is decided by the run's own row (lease and epoch, `storage.queue`); a wake-up may be lost or come
twice and nothing is lost or done twice.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import anyio.lowlevel

from pincite.domain.errors import Locked, StorageUnavailable
from pincite.domain.records import Offer
from pincite.runtime.system import default_options, needing

log = logging.getLogger(__name__)

# Hints only: a run that does not wait here is found by the next sweep of the database.
_MAX_WAITING: Final = 10_000


class LocalDispatcher:
    """Implements `ports.Dispatcher`. What does not fit is dropped: the queue offers it again."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], Offer] = {}
        self._news = anyio.Event()

    async def enqueue(self, offer: Offer) -> None:
        """Have this process look at the run; a second call while the first waits changes nothing."""
        if len(self._waiting) < _MAX_WAITING:
            self._waiting.setdefault((offer.scope, offer.run_id), offer)
            self._wake()

    async def serve(self, work: Callable[[Offer], Awaitable[None]], slots: int, stopping: anyio.Event) -> None:
        """Give offers to `work`, so many at a time, until `stopping`; returns when the last one is done."""
        async with anyio.create_task_group() as tasks:
            for _ in range(slots):
                tasks.start_soon(self._consume, work, stopping)
            await stopping.wait()
            self._wake()

    async def _consume(self, work: Callable[[Offer], Awaitable[None]], stopping: anyio.Event) -> None:
        while not stopping.is_set():
            news = self._news
            if not self._waiting:
                await news.wait()
                continue
            # Of equal priority the one that waits longest, which stands first.
            place = max(self._waiting, key=lambda place: self._waiting[place].priority)
            await work(self._waiting.pop(place))

    def _wake(self) -> None:
        self._news.set()
        self._news = anyio.Event()


# By Procrastinate on PostgreSQL: priorities, spreading over workers, LISTEN and NOTIFY.
#
# Its jobs are hints. What it says about a job (done, doing, failed) is not believed: a frozen worker that wakes writes
# `succeeded` over another's work (ADR 0010). So no job is retried, and what dead workers left is only cleared away.

QUEUE: Final = "pincite"
_TASK: Final = "pincite.run"
# One connection listens, one offers; two more for bursts of both.
_POOL: Final = 4
# What a burst of offers opened is closed after so long: one connection stays beside the one that listens.
_IDLE_S: Final = 5.0
# Only behind a pooler that drops LISTEN: notifications come at once.
_POLL_S: Final = 1.0
# Three beats fit into the silence after which a worker counts as dead: one that is lost does no harm.
_HEARTBEAT_S: Final = 10.0
# From then on a dead worker's job is anybody's: its run's lease (20 s) has ended before.
_SILENT_S: Final = 30.0
# Left-over jobs cost a row each and hold nothing up: once a minute is soon enough.
_CLEAR_EVERY_S: Final = 60.0
# Four times that silence: nobody living is cleared away.
_LEFT_OVER_S: Final = 120.0
# A queue that broke off is entered again after a pause, lest a database that is away be asked in a loop.
_AGAIN_AFTER_S: Final = 1.0
_AWAY_HINT: Final = (
    "Check that the database of PINCITE_DATABASE_URL answers and that its user may make tables; then start again. "
    "No queued run is lost."
)
# How long the queue may take to end when its caller is cancelled: it writes down what became of its jobs.
_STOP_AT_MOST_S: Final = 30.0
# Making the tables takes under a second; whoever waits longer waits for a frozen process.
_LOCK_WAIT_S: Final = 20.0
# Key of the advisory lock under which one process makes the tables of Procrastinate (any number, fixed for ever).
_SCHEMA_LOCK: Final = 7_046_252


class ProcrastinateDispatcher:
    """Implements `ports.Dispatcher` for all workers on one PostgreSQL. Made by `open_procrastinate`."""

    def __init__(self, app: Any, *, listen: bool) -> None:  # a procrastinate.App, imported late
        self._app = app
        self._listen = listen
        self._hand_out: Callable[[Offer, anyio.Event], object] | None = None
        self._task = app.task(name=_TASK, queue=QUEUE)(self._run)

    async def enqueue(self, offer: Offer) -> None:
        """Have a worker look at the run. Errors: StorageUnavailable."""
        from procrastinate.exceptions import AlreadyEnqueued, ConnectorException

        job = self._task.configure(queueing_lock=f"{offer.scope}/{offer.run_id}", priority=offer.priority)
        try:
            await job.defer_async(scope=offer.scope, run_id=offer.run_id, priority=offer.priority)
        except AlreadyEnqueued:
            return
        except ConnectorException as error:
            raise _away("the queue can't be reached", error) from error

    async def serve(self, work: Callable[[Offer], Awaitable[None]], slots: int, stopping: anyio.Event) -> None:
        """Give offers to `work`, so many at a time, until `stopping`; returns when the last one is done.

        A worker that the database forgot (frozen for long, or the database was away) starts anew. Work runs in tasks
        of this call, not in those of the queue: whoever is cancelled here ends it, and waits for its end.
        """

        async def done(offer: Offer, ended: anyio.Event) -> None:
            try:
                await work(offer)
            except Exception:  # the border of a job: a defect ends this one and not the worker
                log.exception("run %s broke its job", offer.run_id)
            finally:
                ended.set()

        async with anyio.create_task_group() as tasks:
            self._hand_out = lambda offer, ended: tasks.start_soon(done, offer, ended)
            tasks.start_soon(self._clear_left_overs, stopping)
            try:
                while not stopping.is_set():
                    await self._serve_once(slots, stopping)
                    await anyio.lowlevel.checkpoint()  # it is shielded: here a cancelled caller is met
            finally:
                self._hand_out = None
            tasks.cancel_scope.cancel()

    async def _serve_once(self, slots: int, stopping: anyio.Event) -> None:
        from procrastinate.worker import Worker

        worker: Any = Worker(
            self._app,
            queues=[QUEUE],
            concurrency=slots,
            listen_notify=self._listen,
            delete_jobs="always",
            install_signal_handlers=False,
            fetch_job_polling_interval=_POLL_S,
            update_heartbeat_interval=_HEARTBEAT_S,
            stalled_worker_timeout=_SILENT_S,
        )

        # Cancelled itself, it would leave its tasks behind; so it is told to stop, and cancelled when it does not.
        held = anyio.CancelScope(shield=True)

        async def stop() -> None:
            try:
                await stopping.wait()
            except anyio.get_cancelled_exc_class():
                held.deadline = anyio.current_time() + _STOP_AT_MOST_S
                raise
            finally:
                worker.stop()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop)
            try:
                with held:
                    await worker.run()
            except Exception as error:  # the border to the queue: whatever broke there, begin anew
                log.warning("the queue broke off and is begun anew: %s", type(error).__name__)
                with anyio.move_on_after(_AGAIN_AFTER_S):
                    await stopping.wait()
            tasks.cancel_scope.cancel()

    async def _run(self, scope: str, run_id: str, priority: int = 0) -> None:
        if self._hand_out is None:  # just being stopped; the run's own row offers it anew
            return
        ended = anyio.Event()
        self._hand_out(Offer(scope, run_id, priority), ended)
        await ended.wait()

    async def _clear_left_overs(self, stopping: anyio.Event) -> None:
        """Remove the jobs of workers that are gone; their runs are offered anew by the runs' own rows."""
        from procrastinate.exceptions import ProcrastinateException
        from procrastinate.jobs import Status

        while not stopping.is_set():
            await anyio.sleep(_CLEAR_EVERY_S)
            try:
                for job in await self._app.job_manager.get_stalled_jobs(seconds_since_heartbeat=_LEFT_OVER_S):
                    await self._app.job_manager.finish_job(job, Status.FAILED, delete_job=True)
            except ProcrastinateException as error:
                log.warning("left-over jobs could not be cleared: %s", type(error).__name__)


@asynccontextmanager
async def open_procrastinate(url: str, *, listen: bool) -> AsyncIterator[ProcrastinateDispatcher]:
    """The dispatcher on this database, its tables made where they are missing; closed at the end.

    Args:
        url: `postgresql://...`
        listen: whether workers are woken by LISTEN; off behind a transaction pooler, where they poll each second.

    Errors:
        ExtraNotInstalled. StorageUnavailable. Locked (another process has been making the tables for too long).
    """
    with needing("worker", "workers need Procrastinate"):
        from procrastinate import App, PsycopgConnector
        from procrastinate.exceptions import ConnectorException
    # It warns of every job that a stopping worker leaves, and shows a trace for each statement while the database is
    # away; what matters of it is said above, once.
    logging.getLogger("procrastinate").setLevel(logging.CRITICAL)
    await _make_tables(url)
    connector = PsycopgConnector(
        conninfo=url, min_size=1, max_size=_POOL, max_idle=_IDLE_S, kwargs=default_options(url)
    )
    app = App(connector=connector)
    try:
        await app.open_async()
    except ConnectorException as error:
        raise _away("the queue can't be reached", error) from error
    try:
        yield ProcrastinateDispatcher(app, listen=listen)
    finally:
        with anyio.move_on_after(_STOP_AT_MOST_S, shield=True):
            await app.close_async()


async def _make_tables(url: str) -> None:
    import psycopg
    from procrastinate.schema import SchemaManager

    try:
        async with await psycopg.AsyncConnection.connect(url, **default_options(url)) as connection:
            wait_ms = str(int(_LOCK_WAIT_S * 1000))  # one that is frozen while it makes them must not freeze all
            await connection.execute("SELECT set_config('lock_timeout', %s, true)", (wait_ms,))
            await connection.execute(f"SELECT pg_advisory_xact_lock({_SCHEMA_LOCK})".encode())
            found = await (await connection.execute("SELECT to_regclass('procrastinate_jobs')")).fetchone()
            if found is None or found[0] is None:
                await connection.execute(SchemaManager.get_schema())
    except psycopg.errors.LockNotAvailable as error:
        raise Locked("another process is making the queue's tables", reason="database_locked") from error
    except psycopg.Error as error:
        raise _away("the queue's tables can't be made", error) from error


def _away(what: str, error: Exception) -> StorageUnavailable:
    # The first line alone: what follows in messages of PostgreSQL may quote values.
    said = next(iter(str(error).strip().splitlines()), "no answer")
    return StorageUnavailable(f"{what}: {said}", reason="connection_lost", hint=_AWAY_HINT, retryable=True)
