"""The `pincite` command: one file per subcommand beside this one; each imports the engine only when it runs."""

import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated

import typer
from typer.exceptions import TyperException

from pincite.domain.errors import InvalidInput
from pincite.domain.version import VERSION
from pincite.runtime.caller import Caller, called_by
from pincite.surfaces.cli import (
    audit,
    bundle,
    cache,
    check,
    completion,
    demo,
    doctor,
    fetch,
    index,
    models,
    recheck,
    research,
    runs,
    scope,
    search,
    setup,
)
from pincite.surfaces.cli.batch import batch
from pincite.surfaces.cli.eval import evaluate
from pincite.surfaces.cli.log import log
from pincite.surfaces.cli.mcp import mcp
from pincite.surfaces.cli.overview import GREETING, Overview
from pincite.surfaces.cli.run import INTERRUPTS, print_json
from pincite.surfaces.cli.serve import keys_app, serve
from pincite.surfaces.cli.ui import ui
from pincite.surfaces.cli.worker import worker
from pincite.surfaces.outcomes import EXIT_INTERRUPTED, EXIT_OK, exit_code

app = typer.Typer(
    name="pincite",
    help="Deep web research you can check: every sentence is pinned to a passage of an archived page.",
    cls=Overview,
    invoke_without_command=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.command("ui")(ui)
app.command("setup")(setup.setup)
app.command("research")(research.research)
app.command("search")(search.search)
app.command("fetch")(fetch.fetch)
app.command("index")(index.index)
app.command("check")(check.check)
app.command("bundle")(bundle.bundle)
app.command("audit")(audit.audit)
app.command("recheck")(recheck.recheck)
app.add_typer(runs.app, name="runs")
app.command("serve")(serve)
app.command("worker")(worker)
app.command("batch")(batch)
app.command("mcp")(mcp)
app.add_typer(keys_app, name="keys")
app.add_typer(cache.app, name="cache")
app.add_typer(scope.app, name="scope")
app.add_typer(models.app, name="models")
app.command("log")(log)
app.command("eval")(evaluate)
app.command("doctor")(doctor.doctor)
app.command("completion")(completion.completion)


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"pincite {VERSION}\n")
        raise typer.Exit(EXIT_OK)


@app.callback()
def _root(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Deep web research you can check: every sentence is pinned to a passage of an archived page."""
    if ctx.invoked_subcommand is None:
        sys.stdout.write(GREETING)


def run(arguments: Sequence[str]) -> int:
    """The exit code after running the command line `arguments` (architecture §6 lists the codes)."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
            stream.reconfigure(errors="replace")  # a question mark tells more than a command that fails
    completion.prepare()
    try:
        with INTERRUPTS.installed(), called_by(Caller("cli")):
            outcome = app(args=list(arguments), standalone_mode=False, prog_name="pincite")
    except TyperException as error:
        return _usage_error(error, as_json="--json" in arguments)
    except (typer.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except typer.Exit as leave:
        return leave.exit_code
    return outcome if isinstance(outcome, int) else EXIT_OK


def _usage_error(error: TyperException, *, as_json: bool) -> int:
    refusal = InvalidInput(
        error.format_message() if hasattr(error, "format_message") else str(error), hint="See: pincite COMMAND --help"
    )
    if as_json:
        print_json({"error": refusal.as_dict()})
    elif hasattr(error, "show"):
        error.show()
    return exit_code(refusal)
