"""CSV: columns ``benchmark`` and ``value``, and as many of the others as are known.

Rows of one run are its observations, in order; without a column ``run`` each row is a run.
"""

from __future__ import annotations

import csv
import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from hati.core import Better, InputError, Metric, Place, Workload, unguarded
from hati.subject.samples.building import MOST_RUNS, Complain, Label, SampleBuilder, direction, values_run
from hati.subject.samples.source import OpenedFile

NEEDED = ("benchmark", "value")
COLUMNS = (*NEEDED, "run", "metric", "unit", "better", "revision", "machine", "workload")
_METRIC = "value"
_OF_ROWS = {"value", "run"}


@dataclass(slots=True)
class _Series:
    """The rows of one label so far: values and lines, one after another, or by run with the line of its first."""

    label: Label
    values: array[float] = field(default_factory=lambda: array("d"))
    lines: array[int] = field(default_factory=lambda: array("q"))
    runs: dict[str, tuple[int, array[float]]] = field(default_factory=dict)

    def take(self, run: str | None, value: float, line: int) -> None:
        """Take in a row; ``run`` None: a run of its own."""
        if run is None:
            self.values.append(value)
            self.lines.append(line)
        else:
            self.runs.setdefault(run, (line, array("d")))[1].append(value)

    def finish(self, file: str, book: SampleBuilder) -> None:
        """Put the runs into the book."""
        alone = ((line, [value]) for line, value in zip(self.lines, self.values, strict=True))
        for line, values in chain(alone, self.runs.values()):
            complain = _at(file, _Line(line))
            book.add(self.label, values_run(np.array(values), self.label.metric, complain), complain)


def read_table(source: OpenedFile, book: SampleBuilder) -> None:
    """Take in the rows of a table whose first line names the columns.

    Raises:
        InputError: for a missing or an unknown column, or a row that has other cells than the header, or a value that
            is no number, with its line.
    """
    file, position = source.file, _Line()
    rows = csv.reader(position.counted(source.lines()), strict=True)
    try:
        columns = _columns(next(rows, []), file)
        series: dict[tuple[str, ...], _Series] = {}
        complain = _at(file, position)
        for row in rows:
            if row:
                _row(list(map(unguarded, row)), columns, series, position.number, complain)
    except csv.Error as error:
        raise InputError(f"this is not a table: {error}", place=Place(file, position.number or None)) from None
    if not series:
        raise InputError("the table has no rows", place=Place(file, 1))
    for one in series.values():
        one.finish(file, book)


@dataclass
class _Line:
    """How many lines have been read."""

    number: int = 0

    def counted(self, lines: Iterator[tuple[int, str]]) -> Iterator[str]:
        """The lines, while they are counted."""
        for number, line in lines:
            self.number = number
            yield line + "\n"


def _at(file: str, position: _Line) -> Complain:
    return lambda message: InputError(message, place=Place(file, position.number))


def _columns(header: list[str], file: str) -> dict[str, int]:
    names = [name.strip().lower() for name in header]
    place = Place(file, 1)
    for needed in NEEDED:
        if needed not in names:
            raise InputError(f"there is no column {needed!r}", place=place, fix=f"columns: {', '.join(COLUMNS)}")
    for name in names:
        if name not in COLUMNS:
            raise InputError(f"the column {name!r} is not known", place=place, fix=f"columns: {', '.join(COLUMNS)}")
        if names.count(name) > 1:
            raise InputError(f"the column {name!r} is there twice", place=place)
    return {name: names.index(name) for name in names}


def _row(
    row: list[str], columns: dict[str, int], series: dict[tuple[str, ...], _Series], line: int, complain: Complain
) -> None:
    if len(row) != len(columns):
        raise complain(f"cells in the row: {len(row)}, in the header: {len(columns)}")
    value = _value(row[columns["value"]], complain)
    run = row[columns["run"]].strip() if "run" in columns else None
    if run == "":
        raise complain("the run has no name")
    key = tuple([row[place] for name, place in columns.items() if name not in _OF_ROWS])
    known = series.get(key)
    if known is None:
        cells = {name: row[place].strip() for name, place in columns.items()}
        known = series[key] = _Series(_label(dict.fromkeys(COLUMNS, "") | cells, complain))
    known.take(run, value, line)
    if max(len(series), len(known.values), len(known.runs)) > MOST_RUNS:
        raise complain(f"there are more than {MOST_RUNS:,} runs")


def _value(text: str, complain: Complain) -> float:
    try:
        value = float(text)
    except ValueError:
        raise complain(f"{text.strip()[:40]!r} stands where a number is needed") from None
    if not math.isfinite(value):
        raise complain(f"{text.strip()!r} is not a finite number")
    return value


def _label(cells: dict[str, str], complain: Complain) -> Label:
    if not cells["benchmark"]:
        raise complain("the benchmark has no name")
    unit, better = cells["unit"], cells["better"]
    if better not in {"", *Better}:
        raise complain(f"{better!r} is neither 'lower' nor 'higher'")
    return Label(
        cells["benchmark"],
        Metric(cells["metric"] or _METRIC, unit, Better(better) if better else direction(unit)),
        revision=cells["revision"],
        workload=Workload({"workload": cells["workload"]}) if cells["workload"] else Workload(),
        machine=cells["machine"],
    )
