"""``hati probe``: experiments on the machine."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from hati.cli import probing
from hati.cli.commands import Output, TableFormatOption
from hati.cli.output import STDOUT, TableFormat, check_output, say, write, write_pieces, write_table
from hati.core import ExitStatus

app = typer.Typer(cls=probing.ProbeGroup, help="Measure properties of this machine.", rich_markup_mode=None)
for _verb in (
    probing.measure,
    probing.fit,
    probing.apply,
    probing.undo,
    probing.fingerprint,
    probing.diff,
    probing.export,
    probing.selftest,
):
    app.command(_verb.__name__)(_verb)

_File = Annotated[Path, typer.Argument(metavar="TASKSET", help="Task set in YAML.")]
_Given = Annotated[
    Path | None,
    typer.Option("--calibration", metavar="FILE", help="Calibration to use [default: this machine's]."),
]
_Raw = Annotated[
    str | None, typer.Option("--observations", metavar="FILE", help="Write every observation to FILE, as CSV.")
]
_Save = Annotated[
    Path | None, typer.Option("--save", metavar="FILE", help="Write the calibration to FILE too, for other machines.")
]


@app.command("run")
def run(
    file: _File,
    given: _Given = None,
    raw: _Raw = None,
    output: Output = STDOUT,
    chosen: TableFormatOption = TableFormat.TEXT,
) -> int:
    """Run an experiment of your own, and print quantiles of its sensors."""
    from hati import render
    from hati.generate.document import load_run_json, load_run_table, observation_rows
    from hati.wiring.probes.task_sets import run_task_set

    check_output(output, file)
    done = run_task_set(file, datetime.now(UTC), say, given)
    published = load_run_json(done.task_set.name, str(done.folder), done.observations, done.problem)
    if raw is not None:
        write_pieces(observation_rows(done.observations), raw)
    if chosen is TableFormat.JSON:
        write(render.to_json(published), output)
    else:
        write_table(load_run_table(published), chosen, output)
    if done.problem:
        say(f"error: {done.problem}")
        return ExitStatus.NOT_MEASURED
    return ExitStatus.OK


@app.command("draw")
def draw(file: _File, output: Output = STDOUT) -> None:
    """Draw a task set as a tree, in SVG."""
    from hati import render
    from hati.wiring.probes.task_sets import read_task_set

    check_output(output, file)
    write(render.task_set_svg(read_task_set(file)), output)


@app.command("calibrate")
def calibrate(save: _Save = None, output: Output = STDOUT, chosen: TableFormatOption = TableFormat.TEXT) -> None:
    """Calibrate the kernels of CPU loads on this machine."""
    from hati import render
    from hati.document import publish
    from hati.generate.document import CalibrationJson, calibration_table
    from hati.wiring.probes.task_sets import calibrate_kernels

    check_output(output)
    made = calibrate_kernels(datetime.now(UTC), say, save)
    if chosen is TableFormat.JSON:
        write(render.to_json(publish(made, CalibrationJson)), output)
    else:
        write_table(calibration_table(made), chosen, output)
