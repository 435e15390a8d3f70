"""The real research run in a child that can be killed: imports once, then forks for every command.

`run RUN_ID` resumes that run; a run must have been started before (`start` on the engine). HOME_FOLDER is the home,
SOURCE the library, PAID the file that notes every outside call that is really made.
"""

import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping

import anyio

import pincite.research.extractive.analyst
import pincite.storage.service
from pincite.domain.budget import Usage
from pincite.domain.events import Json
from pincite.domain.records import Outcome
from pincite.engine import Engine
from pincite.runtime.ledger import RunLedger, call_key

LOADED = (pincite.research.extractive.analyst, pincite.storage.service)
"""Imported here once and not by every child."""


def note_calls(run_id: str) -> None:
    """Have every call that is really made leave a line before it starts."""
    real = RunLedger.call

    async def call(
        self: RunLedger, kind: str, request: Mapping[str, Json], estimate: Usage, do: Callable[[], Awaitable[Outcome]]
    ) -> Json:
        async def noted() -> Outcome:
            handle = os.open(os.environ["PAID"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(handle, f"{run_id} 0 {call_key(kind, request)[0]}\n".encode())
            os.close(handle)
            return await do()

        return await real(self, kind, request, estimate, noted)

    RunLedger.call = call  # type: ignore[method-assign]  # this process breaks what it tests


async def work(run_id: str) -> None:
    async with Engine.from_settings(home=os.environ["HOME_FOLDER"], source=os.environ["SOURCE"]) as engine:
        await engine.resume(run_id)


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        _, run_id = line.split()
        child = os.fork()
        if child == 0:
            note_calls(run_id)
            anyio.run(work, run_id)
            os._exit(0)
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
