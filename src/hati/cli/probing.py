"""``hati probe`` with its verbs, and ``hati predict``: properties of machines, and predictions for them."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup

from hati.cli import INTERRUPTED
from hati.cli.commands import Output, TableFormatOption
from hati.cli.output import (
    STDOUT,
    DocumentFormat,
    TableFormat,
    check_output,
    format_option,
    say,
    write,
    write_document,
    write_pieces,
    write_table,
)
from hati.core import ExitStatus, InputError

if TYPE_CHECKING:
    from typer._click import Context

    from hati.prediction import LoadCurve, ServiceModel, ServicePrediction
    from hati.studies.probe.planning import ProbePlanJson


_MEASURE = "measure"


_FLAGS = ("--apply", "--undo", "--fit", "--fingerprint", "--selftest")


class ProbeGroup(TyperGroup):
    """Runs ``measure`` if no command is named, as in ``hati probe cpu``; some flags are commands, such as ``--fit``."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Put the command in front if the first word is not one; words after ``--`` stay as they are."""
        end = args.index("--") if "--" in args else len(args)
        if "--quick" in args[:end] and ("--fit" in args[:end] or args[:1] == ["fit"]):
            raise InputError("`hati probe --fit` is always quick", fix="leave out --quick")
        for flag in _FLAGS:
            if flag in args[:end]:
                rest = [word for word in args[:end] if word not in {flag, "--fit"}]
                return super().parse_args(ctx, [flag.removeprefix("--"), *rest, *args[end:]])
        named = args and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if named else [_MEASURE, *args])


_Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]...", help="Domain, such as cpu, or experiment, such as cpu.limit [default: all]."),
]
_Given = Annotated[
    list[str] | None,
    typer.Option("--given", metavar="NAME=VALUE", help="Input that is known and need not be measured; repeatable."),
]
_Quick = Annotated[bool, typer.Option("--quick", help="Measure for a quarter of the time: a minute for all.")]
_Age = Annotated[str, typer.Option("--max-age", metavar="TIME", help="Reuse results up to this age; 0 reuses none.")]
_Folder = Annotated[Path, typer.Option("--folder", metavar="PATH", help="Folder in which the disk is measured.")]
_On = Annotated[
    list[str] | None,
    typer.Option("--on", metavar="NAME=HOST:PORT", help="Machine whose `hati probe agent` listens there; repeatable."),
]
_Key = Annotated[Path | None, typer.Option("--key", metavar="FILE", help="Key of the machines' agents.")]
_Inside = Annotated[
    str | None,
    typer.Option("--inside", metavar="COMMAND", help="Command that runs programs in a container or VM (virt.speed)."),
]
_Reference = Annotated[
    str | None,
    typer.Option("--reference", metavar="MACHINE", help="JSON of `hati probe` there, or its name, for virt.speed."),
]
_DocumentFormat = Annotated[str, format_option(DocumentFormat, "Output format.")]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what is planned and its time; measure nothing.")]
ProbeStore = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        envvar="HATI_STORE",
        help="Store of results: a file, or postgresql://USER@HOST/DATABASE [default: one for this user].",
    ),
]


def measure(
    names: _Names = None,
    quick: _Quick = False,
    given: _Given = None,
    age: _Age = "24h",
    folder: _Folder = Path(),
    on: _On = None,
    key: _Key = None,
    inside: _Inside = None,
    reference: _Reference = None,
    dry_run: _DryRun = False,
    store: ProbeStore = None,
    output: Output = STDOUT,
    chosen: _DocumentFormat = DocumentFormat.TEXT,
) -> int:
    """Detect properties of this machine.

    `hati probe` measures all of them, `hati probe cpu` a domain, and `hati probe cpu.limit` one experiment. The exit
    status is 4 if one that is named cannot be measured.
    """
    from hati.document import publish
    from hati.studies.probe.document import ProbeJson, probe_document
    from hati.wiring.probes.experiments import (
        ProbeRequest,
        measure_probe,
        missed,
        parse_age,
        parse_given,
        plan_probe,
    )
    from hati.wiring.probes.results import measured_number, side_of
    from hati.wiring.probes.task_sets import parse_machines
    from hati.wiring.probes.virtual import parse_inside

    check_output(output)
    request = ProbeRequest(
        names=tuple(names or ()),
        given=parse_given(given or ()),
        quick=quick,
        age=parse_age(age),
        folder=folder,
        machines=parse_machines(on or (), key),
        inside=() if inside is None else parse_inside(inside),
        reference=None if reference is None else measured_number(side_of(reference, store)[1], "cpu.rate"),
    )
    if dry_run:
        return _write_plan(plan_probe(request, say), chosen, output)
    found = measure_probe(request, store, say)
    write_document(probe_document(found), lambda: publish(found, ProbeJson), chosen, output)
    for each in (failed := missed(request, found)):
        say(f"error: {each.experiment} is not measured: {each.refused}")
    return ExitStatus.NOT_MEASURED if failed else ExitStatus.OK


def _write_plan(plan: ProbePlanJson, chosen: str, output: str, *, task_set: str = "") -> int:
    from hati.studies.probe.planning import plan_document

    write_document(plan_document(plan, task_set=task_set), lambda: plan, chosen, output)
    return ExitStatus.OK


def fit(
    dry_run: _DryRun = False,
    store: ProbeStore = None,
    output: Output = STDOUT,
    chosen: _DocumentFormat = DocumentFormat.TEXT,
) -> int:
    """Report whether this machine is fit for benchmarks.

    The report has the smallest change that is visible here, and the disturbances with their remedies. `hati probe
    --fit` is the same.
    """
    from hati.document import publish
    from hati.studies.probe.document import FitnessJson, fitness_document
    from hati.wiring.probes.experiments import machine_fitness, plan_fitness

    check_output(output)
    if dry_run:
        return _write_plan(plan_fitness(say), chosen, output)
    found = machine_fitness(store, say)
    write_document(fitness_document(found), lambda: publish(found, FitnessJson), chosen, output)
    return ExitStatus.OK


_Command = Annotated[
    list[str] | None,
    typer.Argument(metavar="[-- COMMAND]", help="Hold the settings while this runs, then restore them."),
]


def apply(command: _Command = None) -> int:
    """Hold settings that make times steady, as root.

    Without a command they stay until `hati probe --undo`, or until the machine restarts. `hati probe --fit --apply` is
    the same.
    """
    from hati.wiring.probes.settings import apply_settings

    return apply_settings(tuple(command or ()), say)


def undo() -> None:
    """Restore the settings that `--fit --apply` holds.

    `hati probe --undo` is the same.
    """
    from hati.wiring.probes.settings import undo_settings

    undo_settings(say)


def fingerprint(output: Output = STDOUT, chosen: _DocumentFormat = DocumentFormat.TEXT) -> None:
    """Show the identity of this machine, which runs carry.

    `hati probe --fingerprint` is the same.
    """
    from hati.document import Joined, publish
    from hati.studies.probe.document import FingerprintJson, fingerprint_document
    from hati.wiring.probes.settings import machine_now

    check_output(output)
    machine, conditions = machine_now(say)
    values = Joined(machine=machine, conditions=conditions)
    write_document(fingerprint_document(machine, conditions), lambda: publish(values, FingerprintJson), chosen, output)


def selftest(output: Output = STDOUT, chosen: _DocumentFormat = DocumentFormat.TEXT) -> int:
    """Set known conditions, as root, and check the detectors.

    Everything is restored. The exit status is 4 if a detector misses a condition. `hati probe --selftest` is the same.
    """
    from hati.document import Joined, publish
    from hati.studies.probe import RecoveryOutcome
    from hati.studies.probe.document import SelftestJson, selftest_document
    from hati.wiring.probes.selftest import selftest as run_selftest

    check_output(output)
    found = run_selftest(say)
    write_document(
        selftest_document(found), lambda: publish(Joined(recoveries=list(found)), SelftestJson), chosen, output
    )
    missed = any(each.outcome is RecoveryOutcome.MISSED for each in found)
    return ExitStatus.NOT_MEASURED if missed else ExitStatus.OK


_Machine = Annotated[
    str,
    typer.Argument(metavar="[MACHINE]", help="JSON of `hati probe`, machine in the store, or `here`."),
]
_DemandsOn = Annotated[
    str | None,
    typer.Option("--measured-on", metavar="MACHINE", help="Machine that demands were measured on [default: the same]."),
]


def export(
    machine: _Machine = "here", reference: _DemandsOn = None, store: ProbeStore = None, output: Output = STDOUT
) -> None:
    """Write a machine as Palladio's resource environment."""
    from hati.wiring.probes.prediction import exported_environment

    check_output(output)
    write(exported_environment(machine, reference, store), output)


_Before = Annotated[
    str, typer.Argument(metavar="BEFORE", help="JSON of `hati probe`, date (of this machine), or machine in the store.")
]
_After = Annotated[str, typer.Argument(metavar="AFTER", help="The same, to compare with.")]


_SAME_RESULTS = "both sides are the same results; to compare two measurements, repeat one by `--max-age 0`"


def diff(
    before: _Before,
    after: _After,
    store: ProbeStore = None,
    output: Output = STDOUT,
    chosen: _DocumentFormat = DocumentFormat.TEXT,
) -> None:
    """Compare the properties of two machines or dates."""
    from hati.document import Joined, publish
    from hati.studies.probe import differences
    from hati.studies.probe.document import ProbeDiffJson, probe_diff_document
    from hati.wiring.probes.results import side_of

    check_output(output)
    (first, old), (second, new) = side_of(before, store), side_of(after, store)
    found = differences(old.properties, new.properties)
    values = Joined(before=first, after=second, differences=list(found))
    same = (_SAME_RESULTS,) if new.has_results_of(old) else ()
    document = probe_diff_document(first, second, found, *same)
    write_document(document, lambda: publish(values, ProbeDiffJson), chosen, output)


app = typer.Typer(
    cls=ProbeGroup,
    help="Measure properties of this machine; `hati probe NAME` is `hati probe measure NAME`.",
    rich_markup_mode=None,
)
for _verb in (
    measure,
    fit,
    apply,
    undo,
    fingerprint,
    diff,
    export,
    selftest,
):
    app.command(_verb.__name__)(_verb)

_File = Annotated[Path, typer.Argument(metavar="TASKSET", help="Task set in YAML.")]
_GivenOption = Annotated[
    Path | None,
    typer.Option("--calibration", metavar="FILE", help="Calibration to use [default: this machine's]."),
]
_Listen = Annotated[str, typer.Option("--listen", metavar="HOST:PORT", help="Address and port; port 0: any.")]
_OwnKey = Annotated[Path, typer.Option("--key", metavar="FILE", help="Key of controllers; created if it is missing.")]
_Raw = Annotated[
    str | None, typer.Option("--observations", metavar="FILE", help="Write every observation to FILE, as CSV.")
]
_Save = Annotated[
    Path | None, typer.Option("--save", metavar="FILE", help="Write the calibration to FILE too, for other machines.")
]


class RunFormat(StrEnum):
    """The format of an experiment's observations: those of a table, or a page with charts."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    CSV = "csv"
    HTML = "html"


_RunFormatOption = Annotated[RunFormat, typer.Option("--format", help="Output format.")]


@app.command("run")
def run(
    file: _File,
    given: _GivenOption = None,
    on: _On = None,
    key: _Key = None,
    raw: _Raw = None,
    dry_run: _DryRun = False,
    output: Output = STDOUT,
    chosen: _RunFormatOption = RunFormat.TEXT,
) -> int:
    """Run an experiment of your own.

    The output has quantiles of its sensors, and in HTML charts, too.
    """
    from hati.generate.observations import load_run_json, load_run_table, observation_rows
    from hati.generate.plots import load_run_document
    from hati.wiring.probes.task_sets import parse_machines, plan_task_set, run_task_set

    check_output(output, file)
    if dry_run:
        task_set, plan = plan_task_set(file, given, parse_machines(on or (), key))
        return _write_plan(plan, chosen, output, task_set=task_set.name)
    done = run_task_set(file, datetime.now(UTC), say, given, parse_machines(on or (), key))
    published = load_run_json(done.task_set.name, str(done.folder), done.observations, done.problem, done.warnings)
    if raw is not None:
        write_pieces(observation_rows(done.observations), raw)
    if chosen in {RunFormat.JSON, RunFormat.HTML}:
        write_document(load_run_document(published, done.observations), lambda: published, chosen, output)
    elif not done.problem or done.observed or chosen is not RunFormat.TEXT:
        write_table(load_run_table(published), TableFormat(chosen), output)
    if done.interrupted:
        say(f"what was observed is in {done.folder}")
        return INTERRUPTED
    if done.problem:
        say(f"error: {done.problem}")
        return ExitStatus.NOT_MEASURED
    return ExitStatus.OK


@app.command("agent")
def agent(listen: _Listen, key: _OwnKey) -> None:
    """Run this machine's part of experiments of others.

    The key lets its holder run programs as this user. Measurements are not encrypted.
    """
    from hati.wiring.probes.task_sets import serve_load

    serve_load(listen, key, say)


@app.command("draw")
def draw(file: _File, output: Output = STDOUT) -> None:
    """Draw a task set as a tree, in SVG."""
    from hati import render
    from hati.wiring.probes.task_sets import read_task_set

    check_output(output, file)
    write(render.task_set_svg(read_task_set(file)), output)


@app.command("edit")
def edit(
    file: Annotated[Path, typer.Argument(metavar="TASKSET", help="Task set in YAML; a new one is created on Save.")],
) -> None:
    """Compose a task set in a browser.

    The page is served on this machine, for this machine alone.
    """
    from hati.wiring.probes.task_sets import edit_task_set

    edit_task_set(file, say)


@app.command("calibrate")
def calibrate(save: _Save = None, output: Output = STDOUT, chosen: TableFormatOption = TableFormat.TEXT) -> None:
    """Calibrate the kernels of CPU loads on this machine."""
    from hati import render
    from hati.document import publish
    from hati.generate.observations import CalibrationJson, calibration_table
    from hati.wiring.probes.task_sets import calibrate_kernels

    check_output(output)
    made = calibrate_kernels(datetime.now(UTC), say, save)
    if chosen is TableFormat.JSON:
        write(render.to_json(publish(made, CalibrationJson)), output)
    else:
        write_table(calibration_table(made), chosen, output)


_Model = Annotated[Path, typer.Argument(metavar="MODEL", help="TOML file of resources, components and workloads.")]
_Format = Annotated[str, format_option(DocumentFormat, "Output format.")]
_Over = Annotated[
    str | None,
    typer.Option("--over", metavar="RANGE", help="Loads of a workload, such as users.rate=100/min..2000/min."),
]
_Points = Annotated[
    int | None,
    typer.Option("--points", metavar="N", min=2, max=1000, help="Number of loads of --over.  [default: 10]"),
]
_Machines = Annotated[
    list[str] | None,
    typer.Option(
        "--resources",
        metavar="[NAME=]MACHINE",
        help="Machine with cores and speed as probed, or `here`; repeatable.",
    ),
]
_Requests = Annotated[
    int | None,
    typer.Option(
        "--requests",
        metavar="N",
        min=10,
        help="Requests counted in each of 10 replications, where it is simulated.  [default: 2000]",
    ),
]
_SeedOption = Annotated[
    int, typer.Option("--seed", metavar="SEED", min=0, help="Random seed of a simulation.", show_default=True)
]
_POINTS = 10


def predict(
    path: _Model,
    over: _Over = None,
    points: _Points = None,
    machines: _Machines = None,
    store: ProbeStore = None,
    requests: _Requests = None,
    seed: _SeedOption = 1,
    output: Output = STDOUT,
    chosen: _Format = DocumentFormat.TEXT.value,
) -> int:
    """Predict response times and utilisations from a model.

    The exit status is 1 where a resource is overloaded; with --over it is 0.
    """
    import numpy as np

    from hati.prediction import Replications, predict_over
    from hati.prediction import predict as predict_model
    from hati.project import parse_load_range, read_model

    check_output(output, path)
    if over is None and points is not None:
        raise InputError("--points is of a range of loads", fix="give one by --over, or leave --points out")
    model = read_model(path)
    if machines:
        model = _on_machines(model, machines, path, store)
    generator = np.random.default_rng(seed)
    replications = Replications() if requests is None else Replications(requests=requests)
    if over is None:
        return _write(predict_model(model, generator, replications), path, chosen, output)
    curve = predict_over(model, parse_load_range(over, model), points or _POINTS, generator, replications)
    return _write_curve(curve, path, chosen, output)


def _on_machines(model: ServiceModel, machines: list[str], path: Path, store: str | None) -> ServiceModel:
    from hati.wiring.probes.prediction import on_machines

    found, warnings = on_machines(model, machines, path, store)
    for warning in warnings:
        say(f"warning: {warning}")
    return found


def _write(prediction: ServicePrediction, path: Path, chosen: str, output: str) -> int:
    from hati.document import publish
    from hati.prediction.document import PredictionJson, prediction_document

    document = prediction_document(prediction, path.name)
    write_document(document, lambda: publish(prediction, PredictionJson), chosen, output)
    return ExitStatus.WORSE if prediction.overloads else ExitStatus.OK


def _write_curve(curve: LoadCurve, path: Path, chosen: str, output: str) -> int:
    from hati.document import publish
    from hati.prediction.document import LoadCurveJson, load_curve_document

    document = load_curve_document(curve, path.name)
    write_document(document, lambda: publish(curve, LoadCurveJson), chosen, output)
    return ExitStatus.OK
