"""Arguments and options that several verbs share, and their texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.output import STDOUT, Format, TableFormat
from hati.core import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import typer


def refuse_given(context: typer.Context, names: Sequence[str], where: str) -> None:
    """See that none of these parameters is on the command line, whatever its value; ``where`` they are not for.

    Raises:
        InputError: naming the first that is.
    """
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InputError(f"--{name.replace('_', '-')} is not for {where}", fix="leave one of them out")


ProjectPath = Annotated[Path, typer.Argument(metavar="PATH", help="Folder with hati.toml, or the file.")]
Output = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE instead; - is standard output.")
]
FormatOption = Annotated[Format, typer.Option("--format", help="Output format.")]
TableFormatOption = Annotated[TableFormat, typer.Option("--format", help="Output format.")]
StorePlace = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        envvar="HATI_STORE",
        help="Store to use: a file, or postgresql://USER@HOST/DATABASE [default: .hati/store.sqlite].",
    ),
]
LARGEST_SEED = 2**63 - 1
"""What the store can hold."""
Seed = Annotated[
    int,
    typer.Option("--seed", metavar="SEED", min=0, max=LARGEST_SEED, help="Random seed, 0 to 2^63-1; recorded."),
]
BenchmarkName = Annotated[
    str | None, typer.Option("--benchmark", metavar="NAME", help="Benchmark, where hati.toml has several.")
]
MetricName = Annotated[
    str | None, typer.Option("--metric", metavar="NAME", help="Metric to analyse, where the benchmark has several.")
]
ScreenedMetricName = Annotated[
    str | None, typer.Option("--metric", metavar="NAME", help="Metric to analyse [default: the one screened last].")
]
RelevantShare = Annotated[
    str, typer.Option("--relevant", metavar="FRACTION", help="Smallest effect that counts, such as 1%.")
]
BudgetText = Annotated[
    str, typer.Option("--budget", metavar="RUNS|TIME", help="Limit: a number of runs, or a time such as 2m.")
]
Template = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="X=S|CONSTRAINT",
        help="Narrow the space: fix X, or add a constraint such as 'x >= 4'; repeatable.",
    ),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Start a new campaign; do not resume or reuse one.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print the planned runs and their estimated time; measure nothing.")
]

HERE = Path()
DEFAULT_SEED = 1
DEFAULT_OUTPUT = STDOUT

StatisticName = Annotated[
    str,
    typer.Option("--statistic", metavar="NAME", help="Statistic of a run: auto, mean, trimmed, median, q0.99."),
]
