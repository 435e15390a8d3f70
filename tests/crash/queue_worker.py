"""A worker process that can be killed or frozen: `pincite worker` over one home, noting every call it really makes.

PINCITE_HOME, PINCITE_DATABASE_URL and PINCITE_SOURCE say what it works on, PAID the file of notes, LEASE_S how long it
owns a run, STEP_S how long each call takes at least.
"""

import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping

import anyio

import pincite.execution
import pincite.runtime.lease
from pincite.domain.budget import Usage
from pincite.domain.events import Json
from pincite.domain.records import Outcome
from pincite.jobs import WorkerLimits, open_worker
from pincite.runtime.ledger import RunLedger, call_key
from pincite.settings import load_settings
from pincite.storage.ledger import SqlCallStore


def note_calls() -> None:
    """Have every call that is really made leave a line before it starts."""
    real = RunLedger.call
    step_s = float(os.environ.get("STEP_S", "0.01"))

    async def call(
        self: RunLedger, kind: str, request: Mapping[str, Json], estimate: Usage, do: Callable[[], Awaitable[Outcome]]
    ) -> Json:
        async def noted() -> Outcome:
            store = self._store
            assert isinstance(store, SqlCallStore)
            handle = os.open(os.environ["PAID"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(handle, f"{store._run_id} {store._epoch} {call_key(kind, request)[0]}\n".encode())
            os.close(handle)
            await anyio.sleep(step_s)
            return await do()

        return await real(self, kind, request, estimate, noted)

    RunLedger.call = call  # type: ignore[method-assign]  # this process breaks what it tests


def shorten_lease() -> None:
    lease_s = float(os.environ.get("LEASE_S", "20"))
    vars(pincite.execution)["LEASE_S"] = lease_s
    pincite.runtime.lease.Lease.__init__.__defaults__ = (lease_s,)


async def work() -> None:
    stopping = anyio.Event()

    async def stop() -> None:
        with anyio.open_signal_receiver(signal.SIGTERM) as signals:
            async for _ in signals:
                stopping.set()

    limits = WorkerLimits(int(os.environ.get("SLOTS", "2")), drain_s=float(os.environ.get("DRAIN_S", "5")))
    async with open_worker(load_settings(), limits) as worker, anyio.create_task_group() as tasks:
        tasks.start_soon(stop)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await worker.run(stopping)
        tasks.cancel_scope.cancel()


if __name__ == "__main__":
    note_calls()
    shorten_lease()
    anyio.run(work)
