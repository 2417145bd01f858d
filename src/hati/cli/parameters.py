"""Arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hati.cli.output import STDOUT, Format, TableFormat

ProjectPath = Annotated[Path, typer.Argument(metavar="PATH", help="A folder with hati.toml, or the file.")]
Output = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Write there instead; - is stdout.")]
FormatOption = Annotated[Format, typer.Option("--format", help="How the result is written.")]
TableFormatOption = Annotated[TableFormat, typer.Option("--format", help="How the table is written.")]
StorePlace = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        envvar="HATI_STORE",
        help="The store: a file, or postgresql://USER@HOST/DATABASE [default: .hati/store.sqlite].",
    ),
]
LARGEST_SEED = 2**63 - 1
"""What the store can hold."""
Seed = Annotated[
    int,
    typer.Option(
        "--seed", metavar="SEED", min=0, max=LARGEST_SEED, help="For everything random, 0 to 2^63-1; recorded."
    ),
]
BenchmarkName = Annotated[
    str | None, typer.Option("--benchmark", metavar="NAME", help="Which benchmark, where there are several.")
]
MetricName = Annotated[
    str | None, typer.Option("--metric", metavar="NAME", help="Which metric, where the benchmark has several.")
]
ScreenedMetricName = Annotated[
    str | None, typer.Option("--metric", metavar="NAME", help="Which metric [default: the one that was last screened].")
]
RelevantShare = Annotated[
    str, typer.Option("--relevant", metavar="SHARE", help="Smaller effects are not important: 1% or 0.01.")
]
BudgetText = Annotated[
    str, typer.Option("--budget", metavar="RUNS|TIME", help="What the runs may cost: 96 of them, or a time such as 2m.")
]
Template = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="X=S|CONSTRAINT",
        help="Narrow the space: fix X, or demand a constraint such as 'x >= 4'; may be repeated.",
    ),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="A new campaign, even where one is unfinished or done.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the tasks and the time that they would take.")]

HERE = Path()
DEFAULT_SEED = 1
DEFAULT_OUTPUT = STDOUT

StatisticName = Annotated[
    str,
    typer.Option("--statistic", metavar="NAME", help="What stands for a run: auto, mean, trimmed, median, q0.99."),
]
