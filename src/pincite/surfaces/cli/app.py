"""The `pincite` command: its subcommands in groups, its greeting, and what a shell needs to complete them."""

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from enum import StrEnum
from functools import cache
from importlib import import_module
from io import StringIO, TextIOWrapper
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from pincite.domain.errors import InvalidInput
from pincite.domain.version import VERSION
from pincite.runtime.telemetry import Caller, called_by
from pincite.surfaces.cli.run import INTERRUPTS, print_json, print_note, print_text, report_errors, result_stream
from pincite.surfaces.errors import EXIT_INTERRUPTED, EXIT_OK, exit_code

GREETING = """\
Pincite: research you can check. Every sentence leads to its passage.

  pincite demo      a report over bundled pages: no key, no network
  pincite ui        ask in your browser
  pincite setup     your model, search engines and folders
  pincite --help    everything else
"""
# Every command by what it is for, and where it is: module and name.
GROUPS: dict[str, dict[str, str]] = {
    "Start here": {"demo": "research:demo", "ui": "serve:ui", "setup": "setup:setup", "doctor": "doctor:doctor"},
    "Ask": {
        "research": "research:research",
        "batch": "research:batch",
        "search": "research:search",
        "fetch": "web:fetch",
        "summarize": "web:summarize",
        "index": "stored:index",
    },
    "Check": {
        "check": "check:check",
        "audit": "check:audit",
        "recheck": "check:recheck",
        "bundle": "check:bundle",
        "eval": "eval:evaluate",
        "models": "eval:models_app",
    },
    "Serve": {
        "serve": "serve:serve",
        "mcp": "serve:mcp",
        "worker": "serve:worker",
        "keys": "serve:keys_app",
        "share": "serve:share_app",
    },
    "Keep": {
        "runs": "runs:app",
        "cache": "stored:cache_app",
        "scope": "stored:scope_app",
        "log": "stored:log",
        "completion": "app:completion",
    },
}
COMMANDS = {name: place for commands in GROUPS.values() for name, place in commands.items()}
EXAMPLES = (
    'pincite research "How do I ...?" --source local:docs/ -o report.html',
    'pincite research "..." --llm openai:gpt-5-mini',
    "pincite audit report.md",
    "pincite runs resume last",
)


class Listing(TyperGroup):
    """A group whose commands are listed in whole sentences, on two lines where one is too short."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # both of the click that typer carries
        """The commands, each with what it does."""
        self.write(formatter, "Commands", self.list_commands(ctx))

    def write(self, formatter: Any, title: str, names: Iterable[str]) -> None:
        """A section with those of these commands that there are."""
        found = [(name, self.commands[name].get_short_help_str(_WHOLE)) for name in names if name in self.commands]
        if found:
            with formatter.section(title):
                formatter.write_dl(found)


class Overview(Listing):
    """The group of all commands, listed by what they are for."""

    def invoke(self, ctx: Any) -> Any:  # as above, and what a command returns
        """Run the command; its errors are printed."""
        with report_errors(as_json="--json" in ctx.args):
            return super().invoke(ctx)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # as above
        """The groups with their commands, then the examples."""
        for title, names in GROUPS.items():
            self.write(formatter, title, names)
        with formatter.section("Examples"):
            for example in EXAMPLES:
                formatter.write_text(example)


# More than a sentence has.
_WHOLE: Final = 1_000


# The variable in which a shell says that it asks for completions.
COMPLETE = "_PINCITE_COMPLETE"


class Shell(StrEnum):
    """Shells that are known how to be told."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="Your shell.")]) -> None:
    """Print a completion script.

    bash, zsh: eval "$(pincite completion bash)" in your profile. fish: pincite completion fish | source.
    """
    from typer import completion as scripts

    made: str = scripts.get_completion_script(  # type: ignore[attr-defined]  # not named in its __all__
        prog_name="pincite", complete_var=COMPLETE, shell=shell.value
    )
    print_text(made)


def prepare() -> None:
    """Get ready to answer a shell that asks, where one does."""
    if COMPLETE in os.environ:
        from typer import completion as scripts

        scripts.completion_init()  # type: ignore[attr-defined]  # as above


def _print_version(wanted: bool) -> None:
    if wanted:
        print_text(f"pincite {VERSION}")
        raise typer.Exit(EXIT_OK)


def _root(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Deep web research you can check: every sentence is pinned to a passage of an archived page."""
    if ctx.invoked_subcommand is None:
        print_text(GREETING)


def _build_app(names: Iterable[str]) -> typer.Typer:
    """The command line with these commands. The module of a command is loaded here and no earlier."""
    made = typer.Typer(
        name="pincite",
        help="Deep web research you can check: every sentence is pinned to a passage of an archived page.",
        cls=Overview,
        invoke_without_command=True,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    made.callback()(_root)
    for name in names:
        module, _, attribute = COMMANDS[name].partition(":")
        command = getattr(import_module(f"pincite.surfaces.cli.{module}"), attribute)
        if isinstance(command, typer.Typer):
            made.add_typer(command, name=name, cls=Listing)
        else:
            made.command(name)(command)
    return made


@cache
def _full_app() -> typer.Typer:
    return _build_app(COMMANDS)


# For whoever imports the application (documentation tools, tests): made when it is asked for, not with the module.
def __getattr__(name: str) -> typer.Typer:
    """`app`: the command line with all its commands."""
    if name == "app":
        return _full_app()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def run(arguments: Sequence[str]) -> int:
    """The exit code after running the command line `arguments` (architecture §6 lists the codes)."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
            stream.reconfigure(errors="replace")  # a question mark tells more than a command that fails
    prepare()
    try:
        with INTERRUPTS.installed(), called_by(Caller("cli")), result_stream() as out, redirect_stdout(out):
            named = arguments[0] if arguments else ""
            # With the name of a command as the first word only its module is imported: the others would only slow the
            # start.
            asks = COMPLETE not in os.environ and named in COMMANDS
            app = _build_app((named,)) if asks else _full_app()
            outcome = app(args=list(arguments), standalone_mode=False, prog_name="pincite")
    except TyperException as error:
        return _usage_error(error, as_json="--json" in arguments)
    except (typer.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except typer.Exit as leave:
        return leave.exit_code
    return outcome if isinstance(outcome, int) else EXIT_OK


# Commands whose one argument is what somebody asks.
_IN_WORDS: Final = ("research", "search", "demo")


def _asked_in(error: TyperException) -> str:
    """The command that was mistyped."""
    return str(getattr(getattr(error, "ctx", None), "info_name", ""))


def _usage_error(error: TyperException, *, as_json: bool) -> int:
    # Of the click that typer carries, whose classes have no public name; pydantic's word for a choice says nothing.
    if hasattr(error, "message"):
        error.message = error.message.replace("Value error, ", "")
        # Without quotation marks a shell hands over each word by itself.
        if error.message.startswith("Got unexpected extra argument") and _asked_in(error) in _IN_WORDS:
            error.message += f'. What is asked goes in quotation marks: pincite {_asked_in(error)} "..."'
    refusal = InvalidInput(
        error.format_message() if hasattr(error, "format_message") else str(error), hint="See: pincite COMMAND --help"
    )
    if as_json:
        print_json({"error": refusal.as_dict()})
    elif hasattr(error, "show"):
        error.show(said := StringIO())
        print_note(said.getvalue().rstrip("\n"))
    return exit_code(refusal)
