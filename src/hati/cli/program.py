"""The program: verbs, errors, exit statuses."""

from __future__ import annotations

import errno
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import typer

from hati.cli import FAULT, INTERRUPTED
from hati.cli.app import app
from hati.cli.completion import VARIABLE, answer_shells
from hati.cli.output import discard_output, say
from hati.core import ExitStatus, HatiError

_HELPING = {
    group.name
    for group in app.registered_groups
    if group.typer_instance is not None and group.typer_instance.info.no_args_is_help is True
}


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit status."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup asks
            signal.signal(number, _interrupt)
    if sys.stdout is None:
        say("error: standard output is closed; give it somewhere to go, or use --output")
        return ExitStatus.BAD_INPUT
    try:
        return _run(_asked([a for a in arguments if a != "--debug"]))
    except Exception as error:  # noqa: BLE001 - no error may end with the status of a verdict
        if "--debug" in arguments:
            traceback.print_exc()
        message, status = _answer(error)
        say(f"error: {message}")
        return status


def _answer(error: Exception) -> tuple[str, int]:
    """The message of an error, and the exit status."""
    if isinstance(error, HatiError):
        return str(error), error.exit_status
    if not isinstance(error, OSError):
        return _fault(error), FAULT
    if _is_nowhere():
        return "the working directory is gone; change to one that is there", ExitStatus.BAD_INPUT
    where = f": {error.filename}" if error.filename else ""
    fix = "; free some space" if error.errno in {errno.ENOSPC, errno.EDQUOT} else ""
    status = ExitStatus.NOT_MEASURED if error.errno in _MACHINE_TROUBLE else ExitStatus.BAD_INPUT
    return f"{error.strerror or error}{where}{fix}", status


def _fault(error: Exception) -> str:
    """The message for an error that no message of Hati covers."""
    innermost = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(innermost.filename).name}:{innermost.lineno}"
    cause = _one_line(f"{type(error).__name__}: {error}")
    return f"a fault in Hati at {where}: {cause}; report it with the output of the same command with `--debug`"


def _is_nowhere() -> bool:
    """Whether the working directory was removed."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


_MACHINE_TROUBLE = {errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE}


_GOES_ON = ": what was recorded is kept; the same command goes on from there"


def _run(arguments: list[str]) -> int:
    if VARIABLE in os.environ:
        answer_shells()
    begun: set[str] = set()
    try:
        result = app(arguments, prog_name="hati", standalone_mode=False, obj=begun)
    except typer.TyperException as error:
        message = _one_line(error.format_message())
        if message:
            say(f"error: {message}; see `hati {_verb(arguments)}--help`")
        return ExitStatus.BAD_INPUT
    except SystemExit as error:
        if not isinstance(error.__context__, BrokenPipeError):
            raise
        discard_output()  # nobody reads on: `hati runs | head`
        return 0
    if result == INTERRUPTED:
        say("interrupted" + _GOES_ON if begun else "interrupted")
    return result if isinstance(result, int) else 0


def _asked(arguments: list[str]) -> list[str]:
    """The command line; the program without a verb, and a group without a command, print their help."""
    alone = not arguments or (len(arguments) == 1 and arguments[0] in _HELPING)
    return [*arguments, "--help"] if alone else arguments


def _verb(arguments: list[str]) -> str:
    """The verb of a command line, with its subcommand if it is a group, such as ``findings acknowledge``."""
    groups = {group.name: group.typer_instance for group in app.registered_groups}
    known = {command.name for command in app.registered_commands} | set(groups)
    if not arguments or arguments[0] not in known:
        return ""
    group = groups.get(arguments[0])
    inner = [] if group is None else [command.name for command in group.registered_commands]
    return " ".join([arguments[0], *[word for word in arguments[1:] if word in inner][:1], ""])


def _one_line(message: str) -> str:
    return " ".join(message.split()).removesuffix(".")


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
