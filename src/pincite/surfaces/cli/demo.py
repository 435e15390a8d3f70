"""`pincite demo`: the main job over the pages that come with the package; no key, no model, no network."""

import os
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from pincite.surfaces.cli import options, research
from pincite.surfaces.cli.files import BUNDLE, format_of, report_formats, vet_output
from pincite.surfaces.cli.run import note, run_async

NEXT = """\
Open {file}: choose a sentence, and its passage opens in the stored page.
Next:
  pincite ui                                      # ask in your browser
  pincite research "..." --source local:FOLDER    # your own files
  pincite setup                                   # a model, search engines, folders"""


def demo(
    question: Annotated[str | None, typer.Argument(help="Another question about PostgreSQL or Python.")] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the report goes.")] = Path("report.html"),
    home: options.Home = None,
    verbose: options.Verbose = False,
    as_json: options.Json = False,
) -> None:
    """Answer a question over 80 bundled pages: no key, no model, no network."""
    started: list[str] = []

    async def job() -> "research.Answer":
        from pincite.domain.search import Constraints
        from pincite.wiring.bundled import QUESTION

        vet_output(output, report_formats(), BUNDLE if format_of(output) == BUNDLE else None)
        overrides: dict[str, Any] = {"source": ("bundled",), "llm": "none", "home": writable_home(home)}
        wish = research.Wish(question or QUESTION, (), Constraints(), "", False, "json" if as_json else "md", (output,))
        answer = await research.ask(overrides, wish, started, verbose=verbose)
        assert not isinstance(answer, str), "a demo is never left to workers"
        return answer

    answer = run_async(job, as_json=as_json, stopped=lambda: research.how_to_resume(started))
    research.present(answer, hint=False)
    if not as_json:
        note(NEXT.format(file=output))


def writable_home(home: Path | None) -> Path | None:
    """`home` as it was given, or a folder for this time only where none can be kept."""
    if home is not None:
        return home
    from pincite.settings import load_settings

    wanted = load_settings({}).home
    existing = next(parent for parent in (wanted, *wanted.parents) if parent.exists())
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        return None
    kept = Path(tempfile.mkdtemp(prefix="pincite-"))
    note(f"{wanted} can't be written; runs are kept in {kept} for now. Set PINCITE_HOME to keep them.")
    return kept
