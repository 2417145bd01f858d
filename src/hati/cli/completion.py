"""``hati completion``: completion of commands and options in shells."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from hati.cli.output import write

VARIABLE = "_HATI_COMPLETE"
"""Set by the scripts when a shell asks for completions."""


class Shell(StrEnum):
    """A shell that can complete."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


_Shell = Annotated[Shell, typer.Argument(metavar="SHELL", help="Shell to complete in: bash, zsh or fish.")]


def completion(shell: _Shell) -> None:
    """Print a script that completes commands and options in a shell."""
    from typer._completion_shared import get_completion_script

    write(get_completion_script(prog_name="hati", complete_var=VARIABLE, shell=shell.value) + "\n")


def answer_shells() -> None:
    """Enable the program to answer a shell that asks for completions."""
    from typer._completion_classes import completion_init

    completion_init()
