"""`pincite runs`: what was asked here, what came of it, and what to do with it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from pincite.domain.events import EventNames, EventType, RunStatus, event_name
from pincite.surfaces.cli import options
from pincite.surfaces.cli.check import Evidence
from pincite.surfaces.cli.options import BUNDLE, format_of, read_schema, report_formats, vet_output, write_file
from pincite.surfaces.cli.run import print_bytes, print_json, print_result, print_text, with_engine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pincite.archive import RunView
    from pincite.domain.events import Json
    from pincite.domain.records import CallRecord
    from pincite.engine import Engine

app = typer.Typer(
    help="List, show, stop, resume, retry, export and delete runs.", no_args_is_help=True, rich_markup_mode=None
)


# In one command: more than any person has looked at first.
_RETRIED_MAX = 10_000
RunId = Annotated[str, typer.Argument(help="The run's id, or `last`.")]


@app.command("list")
def list_runs(
    limit: Annotated[int, typer.Option(min=1, help="Runs at most, newest first.")] = 20,
    status: Annotated[
        RunStatus | None, typer.Option(help="Only these, for instance `dead_letter`: given up over dead workers.")
    ] = None,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """List the newest runs."""
    records = with_engine(lambda engine: engine.runs(limit, status=status), {"home": home})
    lines = [f"{run.run_id}  {run.created_at:%Y-%m-%d %H:%M}  {run.status:<22} {run.question}" for run in records]
    none = "No runs yet." if status is None else f"No run is {status}."
    print_result(records, "\n".join(lines) or none, as_json=as_json)


@app.command()
def show(
    run_id: RunId,
    trace: Annotated[bool, typer.Option("--trace", help="The tree of its calls with time and money.")] = False,
    event_names: Annotated[
        EventNames, typer.Option(help="With --json: `spec` gives events the names tool_call, fetch_result, ...")
    ] = "own",
    part: Annotated[
        Literal["claims", "sources", "findings", "citations", "answer"] | None,
        typer.Option(help="This of its report, as JSON: `answer` is that for its output schema."),
    ] = None,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Print what a run planned, searched, read, claimed and spent."""
    from pincite.domain.codec import to_json
    from pincite.surfaces.cli.trace import run_lines
    from pincite.surfaces.requests import part_json

    def view() -> "RunView":
        return with_engine(lambda engine: engine.view(run_id), {"home": home})

    if trace:
        _show_trace(run_id, home, as_json=as_json)
    elif part == "answer":
        print_json(with_engine(lambda engine: engine.answer(run_id), {"home": home}))
    elif part is not None:
        print_json(part_json(with_engine(lambda engine: engine.report(run_id), {"home": home}), part))
    elif as_json:
        shown = cast("dict[str, Json]", to_json(view(), outside=True))
        for event in cast("list[dict[str, Json]]", shown["events"]):
            event["type"] = event_name(EventType(str(event["type"])), event_names)
        print_json(shown)
    else:
        print_text("\n".join(run_lines(view())))


def _show_trace(run_id: str, home: Path | None, *, as_json: bool) -> None:
    async def traced(engine: "Engine") -> "tuple[RunView, Sequence[CallRecord]]":
        view = await engine.view(run_id)
        return view, await engine.calls(view.record.run_id)

    from pincite.surfaces.cli.trace import trace_json, trace_lines

    view, calls = with_engine(traced, {"home": home})
    if as_json:
        print_json(trace_json(view.record, view.events, calls))
    else:
        print_text("\n".join(trace_lines(view.record, view.events, calls)))


@app.command()
def resume(
    run_id: RunId, home: options.Home = None, verbose: options.Verbose = False, as_json: options.Json = False
) -> None:
    """Continue a run that was interrupted; finished calls are not made again."""
    from pincite.surfaces.cli.research import Answer, ended, how_to_resume, present

    async def resumed(engine: "Engine") -> Answer:
        from pincite.surfaces.cli.progress import live_progress

        with live_progress(verbose=verbose) as watch:
            report, unmet = await ended(engine, run_id, watch)
        return report, await engine.export(report, "json" if as_json else "md"), unmet

    answer = with_engine(resumed, {"home": home}, stopped=lambda: how_to_resume([run_id]))
    present(answer, hint=not as_json)


@app.command()
def retry(
    run_id: Annotated[str | None, typer.Argument(help="The run's id, or `last`.")] = None,
    dead: Annotated[bool, typer.Option("--dead", help="Every run that was given up over dead workers.")] = False,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Have workers try a run again that failed, was stopped or given up, or all that were given up."""
    from pincite.domain.errors import InvalidInput

    # One of the two, and not both.
    if dead == (run_id is not None):
        raise InvalidInput("name one run, or give --dead", hint="pincite runs list --status dead_letter")

    async def retried(engine: "Engine") -> list[str]:
        named = [] if run_id is None else [(await engine.run(run_id)).run_id]
        found = named or [record.run_id for record in await engine.runs(_RETRIED_MAX, status=RunStatus.DEAD_LETTER)]
        return [found_id for found_id in found if await engine.queue(found_id)]

    queued = with_engine(retried, {"home": home})
    taken = "Workers of this home take it: pincite worker --until-idle"
    lines = [*(f"{queued_id} waits for a worker." for queued_id in queued), taken]
    print_result({"queued": queued}, "\n".join(lines) if queued else "No run is to be tried again.", as_json=as_json)


@app.command()
def replay(
    run_id: RunId,
    output_schema: Annotated[
        Path | None, typer.Option(help="Print the answer that was given for this JSON Schema, from the record.")
    ] = None,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Make a run's report again from its record alone, and compare; exit code 1 when they differ."""
    schema = read_schema(output_schema) if output_schema else None

    async def made_again(engine: "Engine") -> "tuple[str, bool, Json]":
        from dataclasses import replace

        stored = await engine.report(run_id)
        again = await engine.replay(stored.run_id)
        # Time and money of the second making are its own, and so is its number; all else must be equal.
        same = replace(again, metrics=stored.metrics, version=stored.version, report_id=stored.report_id) == stored
        filled = None if schema is None else await engine.structure(again, schema, from_record=True)
        return stored.run_id, same, filled

    replayed, same, filled = with_engine(made_again, {"home": home})
    if schema is not None:
        print_json({"run_id": replayed, "same": same, **(filled if isinstance(filled, dict) else {})})
    else:
        said = f"{replayed}: {'the same report' if same else 'another report'} from the record, without a call."
        print_result({"run_id": replayed, "same": same}, said, as_json=as_json)
    if not same:
        raise typer.Exit(1)


@app.command()
def cancel(run_id: RunId, home: options.Home = None, as_json: options.Json = False) -> None:
    """Stop a run, whichever process works on it; what was paid for is kept, and it can be resumed."""

    async def stopped(engine: "Engine") -> tuple[str, RunStatus]:
        status = await engine.cancel(run_id)
        return (await engine.run(run_id)).run_id, status

    cancelled, status = with_engine(stopped, {"home": home})
    said = f"{cancelled} was asked to stop." if status == RunStatus.RUNNING else f"{cancelled} is {status}."
    print_result({"run_id": cancelled, "status": status}, said, as_json=as_json)


@app.command()
def export(
    run_id: RunId,
    format_: Annotated[
        str | None,
        typer.Option("--format", help="md, json, html, wacz, ...; a name that is none prints all that are known."),
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File; its suffix gives the format.")] = None,
    evidence: Evidence = "passages",
    marks: Annotated[
        Literal["plain", "linked"], typer.Option(help="Marks of Markdown: [n], or [n](citation:n) (linked).")
    ] = "plain",
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Write a run's report in another format; `--evidence` is about wacz."""
    from pincite.domain.markdown import restyle

    wanted = format_ or (format_of(output) if output else "md")
    if output is not None:
        # Before the report is made: a file that can't be written is told at once.
        vet_output(output, report_formats(), wanted)

    async def written(engine: "Engine") -> bytes:
        if wanted == BUNDLE:
            return await engine.bundle(run_id, evidence)
        made = await engine.export(await engine.report(run_id), wanted)
        return restyle(made.decode(), "[n](citation:n)").encode() if (wanted, marks) == ("md", "linked") else made

    data = with_engine(written, {"home": home})
    if output is None:
        print_bytes(data)
    else:
        write_file(output, data)


@app.command()
def delete(run_id: RunId, home: options.Home = None, as_json: options.Json = False) -> None:
    """Delete a run, its events, claims and the pages only it uses."""
    deleted = with_engine(lambda engine: engine.delete(run_id), {"home": home})
    print_result({"deleted": deleted}, f"Deleted {deleted}.", as_json=as_json)
