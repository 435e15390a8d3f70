"""`pincite index`: make a folder, WARC or WACZ searchable, so that research can use it without naming it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.surfaces.cli import options
from pincite.surfaces.cli.run import note, print_json, print_text, run_async

if TYPE_CHECKING:
    from pincite.domain.library import IndexReport


SKIPPED_SHOWN = 20


def index(
    paths: Annotated[list[Path], typer.Argument(help="Folders of pages, WARC or WACZ files.")],
    words_only: Annotated[
        bool, typer.Option("--words-only", help="Make no vectors of headings; questions make those they need.")
    ] = False,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Index local pages. Running it again reads only what changed."""

    async def job() -> "list[IndexReport]":
        from pincite.engine import Engine

        async with Engine.from_settings(home=home) as engine:
            return [await engine.index(path, vectors=not words_only) for path in paths]

    stopped = "Stopped; pages that were indexed are kept. The same command goes on."
    summaries = run_async(job, as_json=as_json, stopped=lambda: stopped)
    if as_json:
        from pincite.domain.codec import to_json

        print_json([to_json(summary, outside=True) for summary in summaries])
        return
    for path, summary in zip(paths, summaries, strict=True):
        print_text(
            f"{path}: {summary.pages} pages, {summary.passages} passages ({summary.added} read, "
            f"{summary.unchanged} unchanged, {summary.removed} removed, {len(summary.skipped)} skipped) "
            f"in {summary.seconds:.1f} s"
        )
        for skipped in summary.skipped[:SKIPPED_SHOWN]:
            note(f"  skipped {skipped.place}: {skipped.reason} {skipped.detail}".rstrip())
        if len(summary.skipped) > SKIPPED_SHOWN:
            note(f"  and {len(summary.skipped) - SKIPPED_SHOWN} more; --json lists all")
    note('Now: pincite research "..." uses it without --source.')
