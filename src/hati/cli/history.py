"""``hati history``: where a recorded series of measurements changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.output import STDOUT, Format, check_output, console, write
from hati.cli.parameters import FormatOption, Output
from hati.cli.screen import parse_share
from hati.cli.table import BetterOption, UnitName, Where
from hati.core import InputError

if TYPE_CHECKING:
    from hati.studies.regression import HistoryConclusion

_File = Annotated[
    Path,
    typer.Argument(
        metavar="SERIES",
        help="A table: position or revision, value; optionally run, machine, series, benchmark. CSV or Parquet.",
    ),
]
_Metric = Annotated[str | None, typer.Option("--metric", metavar="COLUMN", help="The values' column [default: value].")]
_Alpha = Annotated[
    str, typer.Option("--alpha", metavar="SHARE", help="The probability of any change in a series without one.")
]
_Baseline = Annotated[
    str | None,
    typer.Option("--baseline", metavar="POSITION", help="Tell what creeps since there [default: the first position]."),
]


def history(
    path: _File,
    metric: _Metric = None,
    unit: UnitName = None,
    better: BetterOption = None,
    where: Where = None,
    alpha: _Alpha = "5%",
    baseline: _Baseline = None,
    output: Output = STDOUT,
    chosen: FormatOption = Format.TEXT,
) -> None:
    """Find where a series changed its level, by how much, and whether it creeps."""
    from hati.studies.regression import histories
    from hati.subject.table import Condition, read_series, read_sheet, selected

    level = parse_share(alpha)
    if not level:
        raise InputError("--alpha 0 finds nothing", fix="give the probability of a false change point, such as 5%")
    check_output(output, path)
    sheet = selected(read_sheet(path), [Condition.parse(text) for text in where or ()])
    series = read_series(sheet, metric, unit=unit, better=better)
    _write(histories(series, level, baseline), chosen, output)


def _write(concluded: list[HistoryConclusion], chosen: Format, output: str) -> None:
    from hati import render
    from hati.report import histories_json

    if chosen is Format.JSON:
        write(render.to_json(histories_json(concluded)), output)
    elif chosen is Format.MARKDOWN:
        write(render.histories_markdown(concluded), output)
    elif output == STDOUT:
        render.print_histories(concluded, console())
    else:
        write(render.histories_text(concluded), output)
