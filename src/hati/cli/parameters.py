"""Arguments and options that several verbs share, and their texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from hati.cli.output import STDOUT, Format, TableFormat
from hati.core import FlagField, InputError, requests

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


def option(name: str, asked: Any) -> Any:
    """The option of that name for what requests ask too: its help is the same."""
    flag = next(each for each in get_args(asked) if isinstance(each, FlagField))
    return typer.Option(name, metavar=flag.metavar, help=flag.help, min=flag.least, max=flag.most)


Seed = Annotated[int, option("--seed", requests.Seed)]
BenchmarkName = Annotated[str | None, option("--benchmark", requests.BenchmarkName)]
MetricName = Annotated[str | None, option("--metric", requests.MetricName)]
ScreenedMetricName = Annotated[str | None, option("--metric", requests.ScreenedMetric)]
RelevantShare = Annotated[str, option("--relevant", requests.Relevant)]
BudgetText = Annotated[
    str, typer.Option("--budget", metavar="RUNS|TIME", help="Limit: a number of runs, or a time such as 2m.")
]
Template = Annotated[list[str] | None, option("--set", requests.Templates)]
Fresh = Annotated[bool, typer.Option("--fresh", help="Start a new campaign; do not resume or reuse one.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print the planned runs and their estimated time; measure nothing.")
]

HERE = Path()
DEFAULT_SEED = 1
DEFAULT_OUTPUT = STDOUT
StatisticName = Annotated[str, option("--statistic", requests.StatisticName)]
