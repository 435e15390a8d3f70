"""`pincite worker`: executes the runs that wait, and those whose process died."""

from typing import TYPE_CHECKING, Annotated

import typer

from pincite.surfaces.cli import options
from pincite.surfaces.cli.run import note, print_json, run_async
from pincite.surfaces.outcomes import EXIT_INTERRUPTED

if TYPE_CHECKING:
    import anyio

    from pincite.domain.events import RunStatus


def worker(
    slots: Annotated[int, typer.Option(min=1, max=64, help="Runs at a time.")] = 4,
    drain: Annotated[float, typer.Option(min=0, help="Seconds for runs to end after SIGTERM; then they go on.")] = 20.0,
    until_idle: Annotated[bool, typer.Option("--until-idle", help="Leave when nothing waits any more.")] = False,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Execute queued runs, and go on with those whose process died, until SIGTERM or Ctrl-C."""
    ended: dict[str, str] = {}

    def told(run_id: str, status: "RunStatus | None") -> None:
        ended[run_id] = str(status or "handed on")
        note(f"{run_id}  {ended[run_id]}")

    async def job() -> None:
        import anyio

        from pincite.jobs.worker import WorkerLimits, open_worker
        from pincite.settings import load_settings
        from pincite.wiring.observing import observe

        settings = load_settings({"home": home})
        observe(settings)
        stopping = anyio.Event()
        limits = WorkerLimits(slots, drain)
        async with open_worker(settings, limits, on_run=told) as found, anyio.create_task_group() as tasks:
            tasks.start_soon(stop_on_signal, stopping)
            if until_idle:
                tasks.start_soon(found.stop_when_idle, stopping)
            note(f"Working, {slots} runs at a time. SIGTERM or Ctrl-C stops; nothing is lost.")
            await found.run(stopping)
            tasks.cancel_scope.cancel()

    run_async(job, as_json=as_json)
    if as_json:
        print_json({"runs": ended})


async def stop_on_signal(stopping: "anyio.Event") -> None:
    """Set `stopping` at the first SIGTERM or Ctrl-C; leave the process at the second (runs survive that)."""
    import os
    import signal

    import anyio

    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            if stopping.is_set():
                os._exit(EXIT_INTERRUPTED)
            note("Stopping: runs end or are handed on. Once more to leave at once.")
            stopping.set()
