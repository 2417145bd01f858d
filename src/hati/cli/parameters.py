"""Arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from hati.cli.output import Format, TableFormat
from hati.core import FlagField, requests

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
    """The option of that name, with the help and the limits of the requests' field ``asked``."""
    flag = next(each for each in get_args(asked) if isinstance(each, FlagField))
    return typer.Option(name, metavar=flag.metavar, help=flag.help, min=flag.least, max=flag.most)


Seed = Annotated[int, option("--seed", requests.Seed)]
BenchmarkName = Annotated[str | None, option("--benchmark", requests.BenchmarkName)]
ScreenedMetricName = Annotated[str | None, option("--metric", requests.ScreenedMetric)]
RelevantShare = Annotated[str, option("--relevant", requests.Relevant)]
Fresh = Annotated[bool, typer.Option("--fresh", help="Start a new campaign; do not resume or reuse one.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print the planned runs and their estimated time; measure nothing.")
]
EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="What runs the benchmarks: local, workers, volunteers or tls://HOST:PORT [default: that of hati.toml].",
    ),
]

HERE = Path()
