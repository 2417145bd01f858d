"""CSV: columns ``benchmark`` and ``value``, and as many of the others as are known.

Rows of one run are its observations, in order; without a column ``run`` each row is a run.
"""

from __future__ import annotations

import csv
import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from hati.core import Better, InputError, Metric, Place, Workload
from hati.subject.samples.book import MOST_RUNS, Book, Complain, Label
from hati.subject.samples.parts import direction, values_run

NEEDED = ("benchmark", "value")
COLUMNS = (*NEEDED, "run", "metric", "unit", "better", "revision", "machine", "workload")
_METRIC = "value"


@dataclass(slots=True)
class _Run:
    """The values of a run so far, and the line of its first."""

    line: int
    values: array[float] = field(default_factory=lambda: array("d"))


def read_table(lines: Iterator[tuple[int, str]], file: str, book: Book) -> None:
    """Take in the rows of a table whose first line names the columns.

    Raises:
        InputError: for a missing or an unknown column, or a row that has other cells than the header, or a value that
            is no number, with its line.
    """
    position = _Line()
    rows = csv.reader(position.counted(lines), strict=True)
    try:
        columns = _columns(next(rows, []), file)
        runs: dict[tuple[str, ...], _Run] = {}
        for row in rows:
            if row:
                _row(row, columns, position.number, _at(file, position), runs)
    except csv.Error as error:
        raise InputError(f"this is no table: {error}", place=Place(file, position.number or None)) from None
    if not runs:
        raise InputError("the table has no rows", place=Place(file, 1))
    for key, run in runs.items():
        complain = _at(file, _Line(run.line))
        label = _label(dict(zip(COLUMNS[2:], key[1:], strict=False)) | {"benchmark": key[0]}, complain)
        book.add(label, values_run(np.frombuffer(run.values), label.metric, complain), complain)


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
    row: list[str], columns: dict[str, int], line: int, complain: Complain, runs: dict[tuple[str, ...], _Run]
) -> None:
    if len(row) != len(columns):
        raise complain(f"cells in the row: {len(row)}, in the header: {len(columns)}")
    text = row[columns["value"]].strip()
    try:
        value = float(text)
    except ValueError:
        raise complain(f"{text[:40]!r} stands where a number is needed") from None
    if not math.isfinite(value):
        raise complain(f"{text!r} is no finite number")
    cells = {name: row[place].strip() for name, place in columns.items()}
    own = "" if "run" in columns else f"row {line}"
    key = (cells["benchmark"], cells.get("run", own), *(cells.get(name, "") for name in COLUMNS[3:]))
    if "run" in columns and not key[1]:
        raise complain("the run has no name")
    run = runs.get(key)
    if run is None:
        if len(runs) >= MOST_RUNS:
            raise complain(f"there are more than {MOST_RUNS:,} runs")
        run = runs[key] = _Run(line)
    run.values.append(value)


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
