"""A table as histories: the values of a metric in the order of their positions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

import numpy as np
from msgspec import Struct

from hati.core import Better, FloatArray, InputError, Metric, Place, replace
from hati.core.wording import listed
from hati.stats import Dependence
from hati.studies.comparison import (
    AUTO,
    CANDIDATES,
    MEAN,
    Automatic,
    ChoiceBasis,
    Statistic,
    StatisticChoice,
    choose_for_each,
)
from hati.studies.regression import Series, Tails, interleaved, run_errors
from hati.subject.table.metrics import metric_column, numbers
from hati.subject.table.sheet import Sheet, distinct

POSITIONS = ("position", "revision")
"""The columns that say where in the history a row is; a number, or the rows' own order."""

NAMES = ("series", "benchmark")
"""The columns whose texts, together, name a series."""

_VALUE = "value"
_MACHINE = "machine"
_RUN = "run"
_STARTED = "started"


def read_series(
    sheet: Sheet,
    metric: str | None = None,
    *,
    unit: str | None = None,
    better: Better | None = None,
    statistic: Statistic | Automatic = AUTO,
) -> tuple[Series, ...]:
    """The series of a table, in the order in which they come.

    Positions are in the order of their numbers, if they all are numbers, else in that of the rows. Several rows of one
    position, or several values in a cell, are its runs: its value is their mean, with a standard error by the
    variance of runs, pooled over all positions (of logarithms, where all values are above zero). That of runs on
    several machines is the mean of the machines' means, and the level of these machines together is one of its own.
    Rows without a value are left out. Where there is a column ``run``, several values in a cell are a run's
    observations. Where a column ``started`` shows that the runs of positions were interleaved,
    positions vary by nothing but their runs.

    Args:
        sheet: the table.
        metric: the values' column; None is ``value``, or the only column of numbers.
        unit: the metric's; None is that of the heading, as in ``latency (ms)``, or 1.
        better: the good direction; None is lower.
        statistic: what stands for a run of several observations; it may be chosen from the runs of other series.

    Raises:
        InputError: for a missing column, a cell that is not a number, one run given twice, or too few positions.
    """
    place = next((column for column in POSITIONS if column in sheet), None)
    if place is None:
        raise sheet.missing(POSITIONS[0], "or 'revision' to say where in the history a row is")
    name = _VALUE if metric is None and _VALUE in sheet else metric
    column = metric_column(sheet, name, (*POSITIONS, *NAMES), {}, unit=unit, better=better)
    series, codes = distinct(_names(sheet))
    found = [
        _recorded(each, column.metric, sheet.only(codes == number), place, column.name)
        for number, each in enumerate(series)
    ]
    choices = _choices([each.positions for each in found], statistic)
    return tuple(each.series(choice) for each, choice in zip(found, choices, strict=True))


def _names(sheet: Sheet) -> list[str]:
    columns = [sheet.texts(column) for column in NAMES if column in sheet]
    return [" ".join(filter(None, map(str.strip, texts))) for texts in zip(*columns, strict=True)] or [""] * len(sheet)


_Runs = Mapping[str, Mapping[str, Sequence[FloatArray]]]
"""By position and machine the observations of each run."""


class _Recorded(Struct, frozen=True, eq=False):
    """What a table says of a series; ``labels`` are of its positions."""

    name: str
    metric: Metric
    labels: tuple[str, ...]
    positions: _Runs
    dependence: Dependence

    def series(self, choice: StatisticChoice | None) -> Series:
        """With the statistic that was chosen for runs of several observations."""
        statistic = MEAN if choice is None else choice.statistic
        found = self._counted(statistic.of)
        if choice is None or not choice.keeps_mean:
            return replace(found, choice=choice)
        return replace(found, choice=choice, tails=Tails(self._counted(MEAN.of), self._counted(statistic.tail_of)))

    def _counted(self, count: Callable[[FloatArray], float]) -> Series:
        runs = [[[count(run) for run in own] for own in machines.values()] for machines in self.positions.values()]
        levels = np.array([_mean([_mean(own) for own in machines]) for machines in runs])
        errors, freedom = run_errors(runs, levels)
        return Series(
            name=self.name,
            metric=self.metric,
            positions=self.labels,
            values=levels,
            machines=distinct(["\n".join(sorted(own)) for own in self.positions.values()])[1],
            runs=np.array([sum(map(len, own)) for own in runs], dtype=np.intp),
            dependence=self.dependence,
            errors=errors,
            freedom=freedom,
        )


def _choices(found: Sequence[_Runs], statistic: Statistic | Automatic) -> Sequence[StatisticChoice | None]:
    """For each series; None where its runs have a single observation each."""
    groups = [[own for machines in runs.values() for own in machines.values()] for runs in found]
    several = [any(len(run) > 1 for own in each for run in own) for each in groups]
    if isinstance(statistic, Statistic):
        chosen: Sequence[StatisticChoice] = [StatisticChoice(statistic, ChoiceBasis.ASKED)] * len(found)
    else:
        values = [
            [np.array([[each.of(run) for run in own] for each in CANDIDATES]) for own in own_groups]
            for own_groups in groups
        ]
        chosen = choose_for_each([""] * len(found), values, [None] * len(found))
    return [choice if known else None for choice, known in zip(chosen, several, strict=True)]


def _recorded(name: str, metric: Metric, sheet: Sheet, place: str, column: str) -> _Recorded:
    values = numbers(sheet, column)
    places = [text.strip() for text in sheet.texts(place)]
    machines = [text.strip() for text in sheet.texts(_MACHINE)] if _MACHINE in sheet else [""] * len(sheet)
    _check_runs(sheet, places, machines)
    labels = [text.strip() for text in sheet.texts(POSITIONS[1])] if POSITIONS[1] in sheet else places
    found: dict[str, dict[str, list[FloatArray]]] = {}
    shown: dict[str, str] = {}
    for row in _order(sheet, places, place):
        if values[row]:
            runs = [values[row]] if _RUN in sheet else [(value,) for value in values[row]]
            found.setdefault(places[row], {}).setdefault(machines[row], []).extend(map(np.array, runs))
            shown.setdefault(places[row], labels[row] or places[row])
    if not found:
        raise InputError(f"the column {column!r} has no values{_of(name)}", place=Place(sheet.file))
    kept = [row for row in range(len(sheet)) if values[row]]
    return _Recorded(name, metric, tuple(shown.values()), found, _dependence(sheet, places, kept))


def _dependence(sheet: Sheet, places: Sequence[str], rows: Sequence[int]) -> Dependence:
    """Independent where the starts of runs show that those of different positions were interleaved."""
    if _STARTED not in sheet:
        return Dependence.ESTIMATED
    starts = sheet.texts(_STARTED)
    known = [(starts[row].strip(), places[row]) for row in rows if starts[row].strip()]
    if len(known) < len(rows):
        return Dependence.ESTIMATED
    try:
        ordered = sorted((float(start), place) for start, place in known)
    except ValueError:
        ordered = sorted((_moment(start, sheet), place) for start, place in known)
    return Dependence.INDEPENDENT if interleaved([place for _, place in ordered]) else Dependence.ESTIMATED


def _moment(text: str, sheet: Sheet) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        row = [each.strip() for each in sheet.texts(_STARTED)].index(text)
        raise sheet.error(
            f"{text!r} is not a time", column=_STARTED, row=row, fix="write 2026-05-01T12:00:00+00:00, or seconds"
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _order(sheet: Sheet, places: Sequence[str], column: str) -> list[int]:
    """The rows in the order of their positions."""
    for row, text in enumerate(places):
        if not text:
            raise sheet.error("the row has no position", column=column, row=row, fix="say where in the history it is")
    try:
        keys = [float(text) for text in places]
    except ValueError:
        first = {text: row for row, text in reversed(list(enumerate(places)))}
        keys = [first[text] for text in places]
    if any(math.isnan(key) for key in keys):
        keys = list(range(len(places)))
    return sorted(range(len(places)), key=keys.__getitem__)


def _check_runs(sheet: Sheet, places: Sequence[str], machines: Sequence[str]) -> None:
    if _RUN not in sheet:
        return
    seen: dict[tuple[str, str, str], int] = {}
    for row, key in enumerate(zip(places, machines, sheet.texts(_RUN), strict=True)):
        if key in seen:
            raise sheet.error(
                f"the run {key[2]!r} of {key[0]!r} is there twice",
                column=_RUN,
                row=row,
                fix="give each run of a position a name of its own, or name the series in a column 'series'",
            )
        seen[key] = row


def _of(name: str) -> str:
    return f" for {listed([name])}" if name else ""
