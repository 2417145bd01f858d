"""The verbs, gathered."""

from __future__ import annotations

from typing import Annotated

import typer

from hati.cli import (
    assertion,
    audit,
    bisect,
    check,
    compare,
    compare_effects,
    design,
    export,
    findings,
    harness,
    history,
    importing,
    init,
    report,
    run,
    runs,
    screen,
    space,
    suite,
    validate,
)

app = typer.Typer(
    name="hati",
    help="Which options decide a program's performance: designed experiments, measured verdicts.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.add_typer(space.app, name="space")
app.command("init")(init.init)
app.command("design")(design.design)
app.command("run")(run.run)
app.command("runs")(runs.runs)
app.command("forget")(runs.forget)
app.command("screen")(screen.screen)
app.command("suite")(suite.suite)
app.command("validate")(validate.validate)
app.command("check")(check.check)
app.command("bisect")(bisect.bisect)
app.command("compare")(compare.compare)
app.command("compare-effects")(compare_effects.compare_effects)
app.command("audit")(audit.audit)
app.command("assert")(assertion.assert_)
app.add_typer(harness.app, name="harness")
app.command("history")(history.history)
app.add_typer(findings.app, name="findings")
app.command("report")(report.report)
app.command("export")(export.export)
app.command("import")(importing.import_)


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
    """Which options decide a program's performance: designed experiments, measured verdicts."""
