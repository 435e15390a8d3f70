"""`pincite completion`: what a shell needs to complete commands and options."""

import os
from enum import StrEnum
from typing import Annotated

import typer

from pincite.surfaces.cli.run import print_text

COMPLETE = "_PINCITE_COMPLETE"
"""The variable in which a shell says that it asks for completions."""


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
