"""The program: verbs, errors, exit statuses."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

import typer

from hati.cli.app import app
from hati.cli.output import say
from hati.core import HatiError

INTERRUPTED = 128 + signal.SIGINT
BAD_INPUT = 2
NOT_MEASURED = 4


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program with the given arguments (default: the process's); its exit status."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in arguments
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return _run([a for a in arguments if a != "--debug"])
    except HatiError as error:
        if debug:
            raise
        say(f"error: {error}")
        return error.exit_status
    except OSError as error:
        if debug:
            raise
        say(f"error: {error.strerror or error}{f': {error.filename}' if error.filename else ''}")
        return NOT_MEASURED if error.errno in _MACHINE_TROUBLE else BAD_INPUT


_MACHINE_TROUBLE = {errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE}


def _run(arguments: list[str]) -> int:
    try:
        result = app(arguments, prog_name="hati", standalone_mode=False)
    except typer.TyperException as error:
        message = _one_line(error.format_message())
        if message:
            say(f"error: {message}; see `hati {_verb(arguments)}--help`")
        return BAD_INPUT
    except SystemExit as error:
        if not isinstance(error.__context__, BrokenPipeError):
            raise
        # Nobody reads on (`hati runs | head`): not to fail once more when Python flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if result == INTERRUPTED:
        say("interrupted: what was recorded is kept; the same command goes on from there")
    return result if isinstance(result, int) else 0


def _verb(arguments: list[str]) -> str:
    return f"{arguments[0]} " if arguments and not arguments[0].startswith("-") else ""


def _one_line(message: str) -> str:
    return " ".join(message.split()).removesuffix(".")


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
