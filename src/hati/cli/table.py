"""A table of measured configurations where a project could stand: its options, and opening either."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct
from msgspec.structs import asdict

from hati.cli.output import say
from hati.core import Better, InputError

if TYPE_CHECKING:
    from hati.wiring import Workplace

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


class TableOptions(Struct, frozen=True):
    """What a command line says of a table."""

    space: Path | None = None
    where: tuple[str, ...] = ()
    unit: str | None = None
    better: Better | None = None
    deviation: str | None = None


def open_subject(
    path: Path,
    store: str | None,
    metric: str | None,
    budget: str | None,
    options: TableOptions,
    others: tuple[str, ...] = (),
) -> Workplace:
    """The workplace of a project, or of a table, of which it is said what was found.

    ``others`` are metrics that are read from a table besides the one that is asked for.

    Raises:
        InputError: for what is wrong with either, a table without a space, or a project with options of tables.
    """
    from hati.subject.table import is_table
    from hati.wiring import TableRequest, check_table_budget, described, table_workplace, workplace

    if options.space is None and not is_table(path):
        _refuse(path, options)
        return workplace(path, store, say)
    if options.space is None:
        raise InputError(
            f"{path} is a table, and nothing says what its options are",
            fix=f"name their hati.toml by --space; make one with: hati space import {path} --output hati.toml",
        )
    if path.is_dir():
        raise InputError(f"{path} is a folder, and --space is for a table", fix="name the table")
    if budget is not None:
        check_table_budget(budget)
    metrics = () if metric is None else (metric, *others)
    request = TableRequest(path, options.space, metrics, options.where, options.unit, options.better, options.deviation)
    place = table_workplace(request, store)
    for line in described(place):
        say(line)
    return place


def _refuse(path: Path, options: TableOptions) -> None:
    given = [name for name, value in asdict(options).items() if value]
    if given:
        raise InputError(
            f"--{given[0]} is for a table, and {path} is none",
            fix="name a CSV or Parquet file, or measurements.xml, and its --space",
        )
