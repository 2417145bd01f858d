"""``hati harness``: advice on how to measure, from earlier measurements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.commands import FormatOption, Output
from hati.cli.output import STDOUT, Format, check_output, say, write_published
from hati.core import parse_duration, parse_share

if TYPE_CHECKING:
    from hati.core import Sample

app = typer.Typer(
    help="Estimate warm-up, observations and runs to measure.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_File = Annotated[Path, typer.Argument(metavar="FILE", help="File of samples in any format that `hati import` reads.")]
_Maybe = Annotated[
    Path | None,
    typer.Argument(
        metavar="FILE",
        help="File of samples in any format that `hati import` reads, to list those with too few observations.",
    ),
]
_Metric = Annotated[str | None, typer.Option("--metric", metavar="NAME", help="Metric to analyse [default: all].")]
_Tolerance = Annotated[
    str,
    typer.Option(
        "--tolerance", metavar="FRACTION", help="Largest difference between levels that counts as the same, such as 5%."
    ),
]
_Quantile = Annotated[float, typer.Option("--quantile", metavar="P", help="Quantile to estimate, such as 0.5 or 0.99.")]
_Precision = Annotated[
    float, typer.Option("--precision", metavar="P", help="Precision of its probability, such as 0.005.")
]
_Confidence = Annotated[
    float, typer.Option("--confidence", metavar="P", help="Confidence of the precision, such as 0.95.")
]
_Detect = Annotated[str, typer.Option("--detect", metavar="FRACTION", help="Smallest change to find, such as 5%.")]
_Power = Annotated[float, typer.Option("--power", metavar="P", help="Probability of finding it.")]
_Alpha = Annotated[str, typer.Option("--alpha", metavar="FRACTION", help="Error rate of the test, such as 1%.")]
_ObservationCost = Annotated[
    str | None,
    typer.Option("--observation-cost", metavar="TIME", help="Cost of an observation [default: estimated from FILE]."),
]
_RunCost = Annotated[
    str | None,
    typer.Option("--run-cost", metavar="TIME", help="Cost of starting a run [default: estimated from FILE]."),
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
    from hati.document import Joined, publish
    from hati.harness import steady_runs
    from hati.harness.document import SteadyJson, steady_table

    share = parse_share(tolerance)
    found = list(steady_runs(_samples(path, metric, output), share))
    write_published(publish(Joined(runs=found), SteadyJson), steady_table(found, share), chosen, output)


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
    from hati.document import Joined, publish
    from hati.harness import QuantilePrecision, sufficient_runs
    from hati.harness.document import ObservationsJson, observations_table

    wanted = QuantilePrecision(quantile, precision, confidence)
    check_output(output)
    found = [] if path is None else list(sufficient_runs(_samples(path, metric, output), wanted))
    write_published(
        publish(Joined(wanted, runs=found), ObservationsJson), observations_table(wanted, found), chosen, output
    )


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
    from hati.harness.document import plans_json, plans_table

    aim = Aim(parse_share(detect), power, parse_share(alpha))
    costs = tuple(None if text is None else parse_duration(text) for text in (observation_cost, run_cost))
    plans = [run_plan(sample, aim, *costs) for sample in _samples(path, metric, output)]
    write_published(plans_json(plans, aim), plans_table(plans, aim), chosen, output)


def _samples(path: Path, metric: str | None, output: str) -> tuple[Sample, ...]:
    from hati.subject.samples import read_samples
    from hati.wiring.compared_files import of_metric

    check_output(output, path)
    found = read_samples(path)
    for warning in found.warnings:
        say(f"warning: {warning}")
    return of_metric(found.samples, metric, path)
