"""``hati harness``: how to measure, from what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.files import of_metric
from hati.cli.output import STDOUT, Format, check_output, say
from hati.cli.parameters import FormatOption, Output
from hati.cli.screen import parse_share
from hati.cli.tables import write_plain
from hati.core import parse_duration

if TYPE_CHECKING:
    from hati.core import Sample

app = typer.Typer(
    help="Warm-up, observations and runs: how to measure, from what was measured.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_File = Annotated[Path, typer.Argument(metavar="FILE", help="Samples, or any file that `hati import` reads.")]
_Maybe = Annotated[
    Path | None, typer.Argument(metavar="FILE", help="Samples, or any file that `hati import` reads: which fall short.")
]
_Metric = Annotated[str | None, typer.Option("--metric", metavar="NAME", help="Only this metric.")]
_Tolerance = Annotated[
    str, typer.Option("--tolerance", metavar="SHARE", help="Levels within it are as good as one: 5% or 0.05.")
]
_Quantile = Annotated[float, typer.Option("--quantile", metavar="P", help="The quantile, such as 0.5 or 0.99.")]
_Precision = Annotated[
    float, typer.Option("--precision", metavar="P", help="By how much its probability may be off, such as 0.005.")
]
_Confidence = Annotated[float, typer.Option("--confidence", metavar="P", help="How sure that is to be.")]
_Detect = Annotated[str, typer.Option("--detect", metavar="SHARE", help="The change that is to be found.")]
_Power = Annotated[float, typer.Option("--power", metavar="P", help="The probability of finding it.")]
_Alpha = Annotated[str, typer.Option("--alpha", metavar="SHARE", help="The level of the test: 1% or 0.01.")]
_ObservationCost = Annotated[
    str | None, typer.Option("--observation-cost", metavar="TIME", help="What one costs [default: told from FILE].")
]
_RunCost = Annotated[
    str | None, typer.Option("--run-cost", metavar="TIME", help="What a run costs besides [default: told from FILE].")
]


@app.command("steady")
def steady(
    path: _File,
    metric: _Metric = None,
    tolerance: _Tolerance = "5%",
    output: Output = STDOUT,
    chosen: FormatOption = Format.TEXT,
) -> None:
    """Find where the observations of each run become steady."""
    from hati.harness import steady_runs
    from hati.report import steady_json, steady_table

    share = parse_share(tolerance)
    found = list(steady_runs(_samples(path, metric, output), share))
    write_plain(steady_json(found), steady_table(found, share), chosen, output)


@app.command("observations")
def observations(
    path: _Maybe = None,
    quantile: _Quantile = 0.5,
    precision: _Precision = 0.005,
    confidence: _Confidence = 0.95,
    metric: _Metric = None,
    output: Output = STDOUT,
    chosen: FormatOption = Format.TEXT,
) -> None:
    """Check that runs have enough observations for a quantile."""
    from hati.harness import QuantilePrecision, sufficient_runs
    from hati.report import observations_json, observations_table

    wanted = QuantilePrecision(quantile, precision, confidence)
    check_output(output)
    found = [] if path is None else list(sufficient_runs(_samples(path, metric, output), wanted))
    write_plain(observations_json(wanted, found), observations_table(wanted, found), chosen, output)


@app.command("runs")
def runs(
    path: _File,
    detect: _Detect = "5%",
    power: _Power = 0.8,
    alpha: _Alpha = "1%",
    metric: _Metric = None,
    observation_cost: _ObservationCost = None,
    run_cost: _RunCost = None,
    output: Output = STDOUT,
    chosen: FormatOption = Format.TEXT,
) -> None:
    """Plan the runs and observations that find a change at least cost."""
    from hati.harness import Aim, run_plan
    from hati.report import plans_json, plans_table

    aim = Aim(parse_share(detect), power, parse_share(alpha))
    costs = tuple(None if text is None else parse_duration(text) for text in (observation_cost, run_cost))
    plans = [run_plan(sample, aim, *costs) for sample in _samples(path, metric, output)]
    write_plain(plans_json(plans, aim), plans_table(plans, aim), chosen, output)


def _samples(path: Path, metric: str | None, output: str) -> tuple[Sample, ...]:
    from hati.subject.samples import read_samples

    check_output(output, path)
    found = read_samples(path)
    for warning in found.warnings:
        say(f"warning: {warning}")
    return of_metric(found.samples, metric, path)
