"""The program: its verbs, their completion, errors and exit statuses."""

from __future__ import annotations

import errno
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import cache
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from hati.cli import FAULT, INTERRUPTED, design, export, grid, harness, init, probing, runs, space
from hati.cli.commands import ProjectCommand, SeveralFiles, option_for_each, study_command
from hati.cli.output import discard_output, is_output_full, output_error, say, write
from hati.core import ExitStatus, HatiError, MeasurementError
from hati.core.wording import command_text
from hati.file_errors import FULL, write_error
from hati.wiring.study_types import other_types, own_type

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter

    from hati.wiring.study_types import AnyStudyType

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


class _Grouped(TyperGroup):
    """Lists the verbs by section; also finds the verbs of other packages."""

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        return super().get_command(ctx, cmd_name) or self._others().get(cmd_name, ("", None))[1]

    def list_commands(self, ctx: Context) -> list[str]:
        return [*super().list_commands(ctx), *self._others()]

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:  # noqa: ARG002 - the base's
        others = self._others()
        limit = formatter.width - 6 - max(map(len, [*self.commands, *others]))
        for title, verbs in _VERBS.items():
            known = {name: self.commands[name] for name in verbs}
            known |= {name: command for name, (section, command) in others.items() if section == title}
            with formatter.section(title):
                formatter.write_dl([(name, each.get_short_help_str(limit)) for name, each in known.items()])

    def _others(self) -> dict[str, tuple[str, Command]]:
        """The commands of other packages by name, with their sections."""
        found, wrong = other_types()
        for problem in wrong:
            say(f"warning: {problem}")
        return {each.name: (each.section, _command(each)) for each in found if each.name not in self.commands}


def _command(kind: AnyStudyType) -> Command:
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    alone.command(kind.name, cls=ProjectCommand)(study_command(kind))
    return get_command(alone)


_VERBS: dict[str, dict[str, Callable[..., object] | typer.Typer | str]] = {
    "Model": {"init": init.init, "space": space.app, "design": design.design, "predict": probing.predict},
    "Measure": {
        "run": "measurement",
        "screen": "screening",
        "validate": "validation",
        "suite": "suite",
        "failures": "failures",
        "harness": harness.app,
        "probe": probing.app,
        "audit": "audit",
    },
    "Decide": {
        "compare": "paired",
        "check": "gate",
        "bisect": "bisection",
        "compare-effects": "effect-drift",
        "assert": "assertion",
    },
    "Follow": {
        "history": "replay",
        "findings": runs.findings_app,
        "studies": runs.studies,
        "report": runs.report,
        "runs": runs.runs,
        "tree": runs.tree,
        "coverage": runs.coverage,
        "forget": runs.forget,
    },
    "Share": {
        "export": export.export,
        "import": export.import_,
        "worker": grid.worker,
        "serve": grid.serve,
        "join": grid.join,
        "grid": grid.app,
    },
    "Set up": {"completion": completion},
}
"""The verbs by section: a function, a group, or the kind of the study that the verb makes."""
_ALL = dict(chain.from_iterable(verbs.items() for verbs in _VERBS.values()))
_GROUPS = {name: made for name, made in _ALL.items() if isinstance(made, typer.Typer)}
_CLASSES: dict[str, type[TyperCommand]] = {
    "compare": SeveralFiles,
    "worker": grid.StrategiesCommand,
    "serve": grid.StrategiesCommand,
}


@cache
def _program(*verbs: str) -> typer.Typer:
    """The program with these verbs."""
    program = typer.Typer(
        name="hati",
        cls=_Grouped,
        help="Which options matter, what got slower, which requirements hold: by experiments on the program.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    program.callback()(options)
    for name in verbs:
        made = _ALL[name]
        if isinstance(made, typer.Typer):
            for each in made.registered_commands:
                each.cls = ProjectCommand
            program.add_typer(made, name=name)
        else:
            function = study_command(own_type(made)) if isinstance(made, str) else made
            program.command(name, cls=_CLASSES.get(name, ProjectCommand))(function)
    return program


def __getattr__(name: str) -> typer.Typer:
    """The program with all verbs, as ``app``."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _program(*_ALL)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"hati {version('hati')}")
        raise typer.Exit


def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Which options matter, what got slower, which requirements hold: by experiments on the program."""


_HELPING = {name for name, group in _GROUPS.items() if group.info.no_args_is_help is True}


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit status."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    _fill_closed()
    if sys.stdout is None:
        say("error: standard output is closed; give it somewhere to go, or use --output")
        return ExitStatus.BAD_INPUT
    try:
        return _run(_asked([a for a in arguments if a != "--debug"]))
    except Exception as error:  # noqa: BLE001 - no error may end with the status of a verdict
        if "--debug" in arguments:
            traceback.print_exc()
        message, status = _answer(error)
        say(f"error: {_with_project(message, arguments) if status == ExitStatus.BAD_INPUT else message}")
        return status


def _fill_closed() -> None:
    """Open the null device for closed standard streams: else a store or a lock would be what programs write to."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free number
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)


def _answer(error: Exception) -> tuple[str, int]:
    """The message of an error, and the exit status."""
    if isinstance(error, HatiError):
        return str(error), error.exit_status
    if not isinstance(error, OSError):
        return _fault(error), FAULT
    if _is_nowhere():
        return "the working directory is gone; change to one that is there", ExitStatus.BAD_INPUT
    if error.errno in FULL:
        known = _full(error)
        return str(known), known.exit_status
    if isinstance(error, FileNotFoundError) and "temporary directory" in str(error.strerror):  # by tempfile
        return (
            f"{error.strerror}; free some space there, or set TMPDIR to a folder that can be written",
            ExitStatus.NOT_MEASURED,
        )
    where = f": {error.filename}" if error.filename else ""
    status = ExitStatus.NOT_MEASURED if error.errno in _MACHINE_TROUBLE else ExitStatus.BAD_INPUT
    return f"{error.strerror or error}{where}", status


def _full(error: OSError) -> HatiError:
    """The error for a full disk, with the file if it is known; a write to an open file does not say which it is."""
    if error.filename:
        return write_error(Path(os.fsdecode(error.filename)), error, "name another place")
    if is_output_full():
        return output_error(error)
    return MeasurementError(
        f"a file cannot be written: {error.strerror}", fix="free some space for the project, its store and $TMPDIR"
    )


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


_MACHINE_TROUBLE = {errno.ENOMEM, errno.EMFILE}


def _run(arguments: list[str]) -> int:
    if VARIABLE in os.environ:
        answer_shells()
    begun: set[str] = set()
    try:
        # Building the commands of all verbs takes longer than most of them.
        program = _program(*([arguments[0]] if arguments[0] in _ALL and VARIABLE not in os.environ else _ALL))
        _heed_interrupts()
        result = program(arguments, prog_name="hati", standalone_mode=False, obj=begun)
    except typer.TyperException as error:
        message = _one_line(error.format_message())
        if message:
            message = f"{message}; see `hati {_verb(arguments)}--help`"
            say(f"error: {_with_project(message, arguments)}")
        return ExitStatus.BAD_INPUT
    except SystemExit as error:
        if not isinstance(error.__context__, BrokenPipeError):
            raise
        discard_output()  # nobody reads on: `hati runs | head`
        return 0
    if result == INTERRUPTED:
        say(": what was recorded is kept; ".join(["interrupted", *(f"{same} goes on from there" for same in begun)]))
    return result if isinstance(result, int) else 0


def _with_project(message: str, arguments: Sequence[str]) -> str:
    """The error of a command line where an argument is the folder of a project, of a verb that has --project for it.

    It says so in place of the message, or in a note where the arguments may be folders of files.
    """
    verb, *words = arguments or [""]
    if verb not in _ALL or _is_project(""):
        return message
    command = _command_of(verb)
    by_option = any("--project" in each.opts for each in command.params)
    by_argument = any((each.name, each.param_type_name) == ("path", "argument") for each in command.params)
    if by_argument or not by_option or "--project" in {word.partition("=")[0] for word in words}:
        return message
    folder = next((word for word in _arguments_of(command, words) if _is_project(word)), None)
    if folder is None or words.count(folder) > 1:
        return message
    words.remove(folder)
    written = command_text(["hati", verb, "--project", folder, *words])
    said = f"`{folder}` is the folder of a project, which `hati {verb}` takes by --project; write `{written}`"
    return f"{message}\nnote: {said}" if any(each.nargs < 0 for each in command.params) else said


def _is_project(folder: str) -> bool:
    return Path(folder, "hati.toml").is_file()


def _command_of(verb: str) -> Command:
    program = get_command(_program(verb))
    assert isinstance(program, TyperGroup)
    return program.commands[verb]


def _arguments_of(command: Command, words: Sequence[str]) -> list[str]:
    """The words that are arguments, not options or their values; of a group, the first; none if a word is an error."""
    context = command.context_class(command)
    given = list(option_for_each(words)) if isinstance(command, SeveralFiles) else list(words)
    try:
        values, left, parameters = command.make_parser(context).parse_args(given)
    except typer.TyperException:
        return []
    if isinstance(command, TyperGroup):
        return left[:1]
    found = [values[each.name or ""] for each in parameters if each.param_type_name == "argument"]
    return [*chain.from_iterable([each] if isinstance(each, str) else each or () for each in found), *left]


def _asked(arguments: list[str]) -> list[str]:
    """The command line; the program without a verb, and a group without a command, print their help."""
    alone = not arguments or (len(arguments) == 1 and arguments[0] in _HELPING)
    return [*arguments, "--help"] if alone else arguments


def _verb(arguments: list[str]) -> str:
    """The verb of a command line, with its subcommand if it is a group, such as ``findings acknowledge``."""
    if not arguments or arguments[0] not in _ALL:
        return ""
    group = _GROUPS.get(arguments[0])
    inner = [] if group is None else [command.name for command in group.registered_commands]
    return " ".join([arguments[0], *[word for word in arguments[1:] if word in inner][:1], ""])


def _one_line(message: str) -> str:
    return " ".join(message.split()).removesuffix(".")


def _heed_interrupts() -> None:
    """Let a command end what it began, whichever signal asks it to end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup asks
            signal.signal(number, _interrupt)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    if number != signal.SIGINT:  # `timeout` and service managers send it twice
        signal.signal(number, lambda *_: None)
    raise KeyboardInterrupt
