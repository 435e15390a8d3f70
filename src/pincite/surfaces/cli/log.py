"""`pincite log`: every search, page, audit, research and model call, through whichever front door."""

from typing import TYPE_CHECKING, Annotated

import typer

from pincite.surfaces.cli import options
from pincite.surfaces.cli.run import print_json, print_text, run_async

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pincite.domain.calls import LoggedCall


def log(
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, max=1000, help="Calls at most, newest first.")] = 20,
    tool: Annotated[str | None, typer.Option(help="Only search, fetch, audit, research or another kind.")] = None,
    run_id: Annotated[str | None, typer.Option("--run", help="Only those of this run.")] = None,
    session: Annotated[str | None, typer.Option(help="Only those of this session.")] = None,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """List the calls that were made: when, by which front door, what came of them, time and money."""

    async def job() -> "Sequence[LoggedCall]":
        from pincite.engine import Engine

        async with Engine.from_settings(home=home) as engine:
            return await engine.log(limit, tool=tool, run_id=run_id, session_id=session)

    found = run_async(job, as_json=as_json)
    if as_json:
        from pincite.domain.codec import to_json

        print_json([to_json(call, outside=True) for call in found])
        return
    for call in found:
        print_text(_line(call))
    if not found:
        print_text("No calls on record.")


def _line(call: "LoggedCall") -> str:
    request = call.request if isinstance(call.request, dict) else {}
    what = next((str(request[name]) for name in ("text", "query", "url", "question") if request.get(name)), call.run_id)
    short = what if len(what) <= 70 else f"{what[:69]}…"
    cost = f"  ${call.cost_usd}" if call.cost_usd else ""
    return (
        f"{call.at:%Y-%m-%d %H:%M:%S}  {call.surface:<6} {call.tool:<8} {call.outcome:<12} "
        f"{call.latency_ms:>8.0f} ms{cost}  {short}"
    )
