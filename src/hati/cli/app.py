"""The app with all verbs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup
from typer.main import get_command

from hati.cli import (
    completion,
    design,
    export,
    findings,
    grid,
    harness,
    importing,
    init,
    join,
    predict,
    probe,
    report,
    runs,
    serve,
    space,
    tree,
    worker,
)
from hati.cli.output import say
from hati.cli.study_commands import SeveralFiles, study_command
from hati.wiring.study_types import other_types, own_type

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter

    from hati.wiring.study_types import AnyStudyType


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
    alone.command(kind.name)(study_command(kind))
    return get_command(alone)


app = typer.Typer(
    name="hati",
    cls=_Grouped,
    help="Which options matter, what got slower, which requirements hold: by experiments on the program.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _study(kind: str) -> Callable[..., int]:
    return study_command(own_type(kind))


_VERBS: dict[str, dict[str, Callable[..., object] | typer.Typer]] = {
    "Model": {"init": init.init, "space": space.app, "design": design.design, "predict": predict.predict},
    "Measure": {
        "run": _study("measurement"),
        "screen": _study("screening"),
        "validate": _study("validation"),
        "suite": _study("suite"),
        "failures": _study("failures"),
        "harness": harness.app,
        "probe": probe.app,
        "audit": _study("audit"),
    },
    "Decide": {
        "compare": _study("paired"),
        "check": _study("gate"),
        "bisect": _study("bisection"),
        "compare-effects": _study("effect-drift"),
        "assert": _study("assertion"),
    },
    "Follow": {
        "history": _study("replay"),
        "findings": findings.app,
        "studies": runs.studies,
        "report": report.report,
        "runs": runs.runs,
        "tree": tree.tree,
        "forget": runs.forget,
    },
    "Share": {
        "export": export.export,
        "import": importing.import_,
        "worker": worker.worker,
        "serve": serve.serve,
        "join": join.join,
        "grid": grid.app,
    },
    "Set up": {"completion": completion.completion},
}
_CLASSES = {"compare": SeveralFiles}
for _name, _verb in chain.from_iterable(verbs.items() for verbs in _VERBS.values()):
    if isinstance(_verb, typer.Typer):
        app.add_typer(_verb, name=_name)
    else:
        app.command(_name, cls=_CLASSES.get(_name))(_verb)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"hati {version('hati')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Which options matter, what got slower, which requirements hold: by experiments on the program."""
