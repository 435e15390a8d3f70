"""Runs a job of the crash tests in a child that can be killed: imports once, then forks for every command.

Commands on stdin, one a line: `run RUN_ID` starts a child and prints its process id. Everything else is in the
environment: STORE (database), PAID (file that notes every paid call), LEASE_S, and for the negative controls
NO_REPLAY and NO_FENCE, which take a part of the ledger away.
"""

import os
import signal
import sys
from contextlib import suppress
from typing import Any

import anyio

from pincite.domain.budget import Usage
from pincite.domain.errors import Locked, RunFenced
from pincite.domain.events import EventType, Json, RunStatus
from pincite.domain.records import Outcome, PlannedCall, RunRecord, SettledCall
from pincite.runtime.lease import Lease, this_worker, with_lease
from pincite.runtime.ledger import RunLedger, call_key
from pincite.runtime.system import SystemClock
from pincite.storage.ledger import SqlCallStore
from pincite.storage.runs import SqlRunStore
from pincite.storage.service import ScopedStorage, open_storage

SCOPE = "crash"
CALL = Usage(web_requests=10)
ESTIMATE = Usage(web_requests=15)
STEP_S = 0.012


def pay(run: RunRecord, key: str) -> None:
    """Note that the bill for a call has started; one write, so that no kill tears it."""
    line = f"{run.run_id} {run.epoch} {key}\n".encode()
    handle = os.open(os.environ["PAID"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, line)
    os.close(handle)


async def call(ledger: RunLedger, run: RunRecord, kind: str, **request: Json) -> Any:
    async def do() -> Outcome:
        pay(run, call_key(kind, request)[0])
        await anyio.sleep(STEP_S)
        return Outcome({"of": kind, **request}, CALL)

    return await ledger.call(kind, request, ESTIMATE, do)


async def pipeline(storage: ScopedStorage, run: RunRecord, lease: Lease) -> None:
    """Two searches, four fetches at once, two analyses at once, one text: nine paid calls."""
    ledger, events = await storage.ledger(run, lease), await storage.events(run)
    if run.epoch > 1:
        await events.emit(EventType.RUN_RESUMED, {})
    await events.emit(EventType.RUN_STARTED, {"question": run.question})
    notes: list[str] = []

    async def read(query: str, n: int) -> None:
        page = await call(ledger, run, "fetch", url=f"https://{query}.example/{n}")
        await events.emit(EventType.PAGE_FETCHED, {"url": page["url"], "query": query})

    async def analyse(query: str) -> None:
        claim = await call(ledger, run, "model", task="analyse", query=query)
        notes.append(claim["query"])
        await events.emit(EventType.CLAIM_PROPOSED, {"query": query})

    for query in ("a", "b"):
        await call(ledger, run, "search", query=query)
        await events.emit(EventType.SEARCH_COMPLETED, {"query": query})
    async with anyio.create_task_group() as tasks:
        for query in ("a", "b"):
            for n in range(2):
                tasks.start_soon(read, query, n)
    async with anyio.create_task_group() as tasks:
        for query in ("a", "b"):
            tasks.start_soon(analyse, query)
    await call(ledger, run, "model", task="write", notes=[*sorted(notes)])
    await events.emit(EventType.RUN_COMPLETED, {"notes": [*sorted(notes)]})


async def many_calls(storage: ScopedStorage, run: RunRecord, lease: Lease) -> None:
    """Two calls in flight at any time, for a long time: what a frozen worker is caught in."""
    ledger = await storage.ledger(run, lease)

    async def one(url: str) -> None:
        await call(ledger, run, "fetch", url=url)

    for n in range(150):
        async with anyio.create_task_group() as tasks:
            for m in range(2):
                tasks.start_soon(one, f"https://x.example/{n}/{m}")


async def work(run_id: str, job: str) -> None:
    clock = SystemClock()
    lease_s = float(os.environ.get("LEASE_S", "20"))
    async with open_storage(os.environ["STORE"], clock) as store:
        storage = store.scope(SCOPE)
        while True:
            lease = Lease(clock, lease_s)
            try:
                run = await storage.runs.take(run_id, this_worker(), lease_s)
                break
            except Locked:
                await anyio.sleep(0.02)
        body = pipeline if job == "run" else many_calls
        try:
            await with_lease(storage.runs, run, clock, lambda: body(storage, run, lease), lease=lease)
            await storage.runs.finish(run_id, run.epoch, RunStatus.COMPLETED)
        except RunFenced:
            return
        except BaseExceptionGroup as group:  # the tasks of the body meet the fence together
            if group.split(RunFenced)[1] is not None:
                raise


def take_away() -> None:
    """The negative controls: without these parts the harness must find faults."""
    if os.environ.get("NO_REPLAY"):

        async def nothing(self: SqlCallStore) -> dict[str, str]:
            return {}

        SqlCallStore.load = nothing  # type: ignore[method-assign]  # this process breaks what it tests
    if os.environ.get("NO_FENCE"):
        reserve, settle = SqlCallStore.reserve, SqlCallStore.settle

        async def reserve_anyhow(self: SqlCallStore, call: PlannedCall) -> None:
            with suppress(RunFenced):
                await reserve(self, call)

        async def settle_anyhow(self: SqlCallStore, call: PlannedCall, settled: SettledCall) -> None:
            with suppress(RunFenced):
                await settle(self, call, settled)

        async def confirm(self: SqlCallStore) -> None:
            return

        async def renew(self: SqlRunStore, run_id: str, epoch: int, lease_s: float) -> bool:
            return False

        SqlCallStore.reserve = reserve_anyhow  # type: ignore[method-assign]  # this process breaks what it tests
        SqlCallStore.settle = settle_anyhow  # type: ignore[method-assign]  # this process breaks what it tests
        SqlCallStore.confirm = confirm  # type: ignore[method-assign]  # this process breaks what it tests
        SqlRunStore.renew = renew  # type: ignore[method-assign]  # this process breaks what it tests


def say(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    take_away()
    say("ready")
    for line in sys.stdin:
        job, run_id = line.split()
        child = os.fork()
        if child == 0:
            anyio.run(work, run_id, job)
            os._exit(0)
        say(child)


if __name__ == "__main__":
    main()
