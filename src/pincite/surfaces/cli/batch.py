"""`pincite batch`: a file of many questions into a file of answers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.surfaces.cli import options
from pincite.surfaces.cli.files import vet_output
from pincite.surfaces.cli.run import note, print_json, print_text, run_async
from pincite.surfaces.outcomes import EXIT_CHECK_FAILED

if TYPE_CHECKING:
    from pincite.jobs.batch import Progress


def batch(
    file: Annotated[Path, typer.Argument(help="JSON lines: a question as text, or {id, question, urls, ...}.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Answers as JSON lines; default FILE.answers.jsonl.")
    ] = None,
    slots: Annotated[int, typer.Option(min=1, max=64, help="Questions at a time.")] = 2,
    queue: Annotated[bool, typer.Option("--queue", help="Leave them to `pincite worker` and wait for it.")] = False,
    source: options.Source = None,
    profile: options.Profile = None,
    max_cost: Annotated[float | None, typer.Option(help="US dollars for each question at most.")] = None,
    deadline: Annotated[float | None, typer.Option(help="Seconds for each question at most.")] = None,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Answer a file of questions; started again it goes on where it was."""
    to = output or file.with_name(file.stem + ".answers.jsonl")
    overrides = {
        "source": options.joined(source),
        "profile": profile,
        "max_cost_usd": max_cost,
        "deadline_s": deadline,
        "home": home,
    }
    shown = [-1]

    def tell(progress: "Progress") -> None:
        step = max(progress.total // 100, 1)
        if progress.done // step != shown[0] or progress.done == progress.total:
            shown[0] = progress.done // step
            note(f"{progress.done} of {progress.total} done" + (f", {progress.failed} failed" * bool(progress.failed)))

    async def job() -> "Progress":
        from pincite.engine import Engine
        from pincite.jobs.batch import Batch, batch_name, read_items
        from pincite.wiring.observing import export_spans

        items = read_items(file)
        vet_output(to)
        async with Engine.from_settings(**overrides) as engine:
            export_spans(engine.settings)
            return await Batch(engine, batch_name(file), items, to).run(slots, tell, queued=queue)

    found = run_async(job, as_json=as_json, stopped=lambda: "Stopped; the same command goes on.")
    if as_json:
        counts = {"answered": found.answered, "failed": found.failed, "kept": found.kept}
        print_json({"output": str(to), "total": found.total, **counts})
    else:
        print_text(str(to))
    if found.failed:
        note(f"{found.failed} of {found.total} have no answer; the same command tries those again.")
        raise typer.Exit(EXIT_CHECK_FAILED)
