"""The options of a table of measured configurations, where one stands for a project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hati.core import Better

SubjectPath = Annotated[
    Path,
    typer.Argument(
        metavar="PATH",
        help="Folder with hati.toml, the file, or a table (CSV, Parquet, measurements.xml).",
    ),
]
SpaceFile = Annotated[
    Path | None, typer.Option("--space", metavar="FILE", help="For a table: hati.toml with its options.")
]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", metavar="COLUMN=VALUE", help="For a table: use only these rows; repeatable."),
]
UnitName = Annotated[
    str | None, typer.Option("--unit", metavar="UNIT", help="For a table: unit of the metric [default: 1].")
]
BetterOption = Annotated[
    Better | None, typer.Option("--better", help="For a table: direction that is better [default: lower].")
]
DeviationText = Annotated[
    str | None,
    typer.Option(
        "--deviation",
        metavar="FRACTION|COLUMN|FILE",
        help="For a table: add random noise with this relative standard deviation (2%, a column, or a table).",
    ),
]
