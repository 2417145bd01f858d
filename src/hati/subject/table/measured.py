"""A table of measured configurations, to look up the runs of a configuration, or a table as histories.

A history has the values of a metric in the order of their positions.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import PurePath

import numpy as np
from msgspec import Struct

from hati.core import Better, Configuration, FloatArray, InputError, Metric, Place, Workload, replace
from hati.core.wording import listed
from hati.space import Space
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
from hati.studies.regression import Series, Tails, interleaved, run_errors, series_bridges
from hati.subject.table.options import (
    Codes,
    MetricColumn,
    RunDeviations,
    code,
    decoded,
    encoded,
    metric_column,
    noisy,
    numbers,
    satisfying,
)
from hati.subject.table.sheet import Sheet, distinct


class RowCondition(Struct, frozen=True):
    """A column and the text that its cells must have."""

    column: str
    value: str

    @classmethod
    def parse(cls, text: str) -> RowCondition:
        """Read ``revision=2.1.0``.

        Raises:
            InputError: where it has no column or no ``=``.
        """
        column, equals, value = text.partition("=")
        if not column.strip() or not equals:
            raise InputError(f"{text!r} selects no rows", fix="write a column and its value, as in revision=2.1.0")
        return cls(column.strip(), value.strip())

    def __str__(self) -> str:
        return f"{self.column}={self.value}"


def selected(sheet: Sheet, conditions: Sequence[RowCondition]) -> Sheet:
    """The rows that meet all conditions; a number is compared by value if no cell has the text of the condition.

    Raises:
        InputError: for an unknown column, with the nearest, and if no row is left, with the column's values.
    """
    for condition in conditions:
        if condition.column not in sheet:
            raise sheet.missing(condition.column, f"for --where {condition}")
        values, codes = distinct(sheet.texts(condition.column))
        alike = _alike if condition.value not in {value.strip() for value in values} else _equal
        meant = np.array([alike(value, condition.value) for value in values], dtype=bool)
        if not meant.any():
            raise sheet.error(
                f"no row has {condition}", column=condition.column, fix=f"its values are: {listed(values)}"
            )
        sheet = sheet.only(meant[codes])
    return sheet


def _equal(text: str, wanted: str) -> bool:
    return text.strip() == wanted


def _alike(text: str, wanted: str) -> bool:
    try:
        return float(text) == float(wanted)
    except ValueError:
        return False


_NOISE_SEED = 0


class MeasuredTable(Struct, frozen=True, eq=False, dict=True):
    """Measured configurations of a space, of one revision and workload.

    ``values`` maps each metric to the values of the runs in each row; ``rows`` maps a configuration's indexes, as
    bytes, to its rows in the order of their repetitions. With ``deviations`` each run is drawn around the mean.
    ``outside`` counts the rows that violate the space's constraints, which are left out.
    """

    name: str
    content: str
    space: Space
    metrics: tuple[Metric, ...]
    revision: str
    workload: Workload
    codes: Codes
    rows: Mapping[bytes, tuple[int, ...]]
    values: Mapping[str, tuple[tuple[float, ...], ...]]
    deviations: RunDeviations | None = None
    outside: int = 0

    @cached_property
    def configurations(self) -> tuple[Configuration, ...]:
        """The configurations that have a row, in the order of the file."""
        return tuple(decoded(self.codes[rows[0]], self.space) for rows in self.rows.values())

    def within(self, space: Space) -> MeasuredTable:
        """The table without the configurations that are not valid in a space narrowed from its own."""
        valid = satisfying(self.codes, self.space, space.template)
        kept = {key: rows for key, rows in self.rows.items() if valid[rows[0]]}
        return replace(self, rows=kept)

    def means(self, metric: str) -> FloatArray:
        """The mean of each configuration's runs, shape (configurations,), in the metric's unit; nan without one."""
        return np.array([np.mean(found) if (found := self._found(key, metric)) else np.nan for key in self.rows])

    @cached_property
    def repetitions(self) -> float:
        """The smallest number of runs of a configuration; infinite if noise is drawn."""
        if self.deviations is not None:
            return float("inf")
        return max(1, min((count for count in self._counts if count), default=1))

    @cached_property
    def runs(self) -> float:
        """The number of runs of all configurations; infinite if noise is drawn."""
        return float("inf") if self.deviations is not None else sum(self._counts)

    @cached_property
    def most_repetitions(self) -> float:
        """The largest number of runs of a configuration; infinite if noise is drawn."""
        return float("inf") if self.deviations is not None else max(self._counts, default=0)

    @cached_property
    def _counts(self) -> tuple[int, ...]:
        return tuple(max(len(self._found(key, metric.name)) for metric in self.metrics) for key in self.rows)

    def run(self, configuration: Configuration, repetition: int, task: str) -> Mapping[str, float] | str:
        """The value of each metric in a run of a configuration, counted from 0, or the reason why there is none.

        ``task`` seeds the noise, if any: the same task has the same value.
        """
        row = code(configuration, self.space)
        key = b"" if row is None else row.tobytes()
        if key not in self.rows:
            return f"the table has no row of {configuration}"
        found = {metric.name: self._value(key, metric.name, repetition, task) for metric in self.metrics}
        there = {name: value for name, value in found.items() if value is not None}
        return there or self._reason(key, configuration)

    def _reason(self, key: bytes, configuration: Configuration) -> str:
        runs = max(len(self._found(key, metric.name)) for metric in self.metrics)
        if not runs:
            return f"the table has a row without a value of {configuration}"
        if self.deviations is not None:
            return f"there is no relative deviation of {configuration}"
        return f"the table has {runs} run{'' if runs == 1 else 's'}, and no more, of {configuration}"

    def _value(self, key: bytes, metric: str, repetition: int, task: str) -> float | None:
        found = self._found(key, metric)
        if self.deviations is None:
            return found[repetition] if repetition < len(found) else None
        deviation = self.deviations.of(key, metric)
        if not found or deviation is None:
            return None
        return noisy(float(np.mean(found)), deviation, _NOISE_SEED, "table", task, metric)

    def _found(self, key: bytes, metric: str) -> tuple[float, ...]:
        return tuple(value for row in self.rows[key] for value in self.values[metric][row])


_ALIKE = ("revision", "workload", "benchmark", "machine")
_RUN_COLUMNS = ("run", "repetition")


def assembled(
    sheet: Sheet, space: Space, columns: Sequence[MetricColumn], deviations: RunDeviations | None
) -> MeasuredTable:
    """The measured configurations in the rows of a table; each row of a configuration is a run.

    Raises:
        InputError: for rows of several revisions, workloads, benchmarks or machines; for a configuration twice without
            a column ``repetition`` or ``run`` to distinguish the two; for cells that are not settings or numbers.
    """
    common = {name: _common(sheet, name) for name in _origin(sheet, space, _ALIKE)}
    sheet = _by_repetition(sheet, space)
    codes, valid = encoded(sheet, space)
    if not valid.any():
        raise sheet.error("no row meets the constraints of the space", column=sheet.columns[0], row=0)
    outside = int(np.sum(~valid))
    sheet, codes = sheet.only(valid), codes[valid]
    return MeasuredTable(
        name=PurePath(sheet.file).name,
        content=sheet.content,
        space=space,
        metrics=tuple(column.metric for column in columns),
        revision=common.get("revision") or sheet.content,
        workload=_workload(common.get("workload", "")),
        codes=codes,
        rows=_grouped(sheet, codes, space),
        values={column.metric.name: tuple(numbers(sheet, column.name)) for column in columns},
        deviations=deviations,
        outside=outside,
    )


def _origin(sheet: Sheet, space: Space, names: Sequence[str]) -> list[str]:
    """The names that are columns, and not options."""
    return [name for name in names if name in sheet and name not in space.by_name]


def _common(sheet: Sheet, column: str) -> str:
    values, codes = distinct(text.strip() for text in sheet.texts(column))
    if len(values) > 1:
        row = int(np.flatnonzero(codes == 1)[0])
        raise sheet.error(
            f"the rows are of {len(values)} values of {column}: {listed(values)}",
            column=column,
            row=row,
            fix=f"choose one, as in --where {column}={values[0]}",
        )
    return values[0]


def _by_repetition(sheet: Sheet, space: Space) -> Sheet:
    """The rows sorted by their repetitions if these are numbers; otherwise unchanged."""
    if not _origin(sheet, space, ("repetition",)):
        return sheet
    try:
        places = np.array([float(text) for text in sheet.texts("repetition")])
    except ValueError:
        return sheet
    return sheet.only(np.argsort(places, kind="stable"))


def _grouped(
    sheet: Sheet, codes: np.ndarray[tuple[int, ...], np.dtype[np.int32]], space: Space
) -> dict[bytes, tuple[int, ...]]:
    identifying = _origin(sheet, space, _RUN_COLUMNS)
    names = list(zip(*(sheet.texts(name) for name in identifying), strict=True)) if identifying else [()] * len(sheet)
    seen: dict[tuple[bytes, tuple[str, ...]], int] = {}
    grouped: dict[bytes, list[int]] = {}
    for row, key in enumerate(each.tobytes() for each in codes):
        first = seen.setdefault((key, names[row]), row)
        if first != row:
            raise _twice(sheet, row, first, f"configuration {decoded(codes[row], space)}", identifying)
        grouped.setdefault(key, []).append(row)
    return {key: tuple(rows) for key, rows in grouped.items()}


def _twice(sheet: Sheet, row: int, first: int, what: str, identifying: Sequence[str]) -> InputError:
    place = sheet.locate(int(sheet.numbers[first]), 0)
    same = "".join(f", {name} {sheet.texts(name)[row]}" for name in identifying)
    where = f"line {place.line}" if place.line is not None else f"row {sheet.numbers[first] + 1}"
    fix = "number them in a column 'repetition'" if not identifying else "give each run a repetition of its own"
    return sheet.error(
        f"the {what:.160}{same} is there already, in {where}",
        column=identifying[-1] if identifying else sheet.columns[0],
        row=row,
        fix=f"{fix}, or choose by --where",
    )


def _workload(text: str) -> Workload:
    if not text:
        return Workload()
    try:
        parameters = json.loads(text)
        return Workload(parameters) if isinstance(parameters, dict) else Workload({"workload": text})
    except (ValueError, InputError):
        return Workload({"workload": text})


POSITIONS = ("position", "revision")
"""The columns for the position of a row in the history: a number, or else the order of the rows."""

NAMES = ("series", "benchmark")
"""The columns whose texts together name a series."""

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
    """The series of a table, in the order in which they first occur.

    Positions are sorted by their numbers if all are numbers, else in the order of the rows. Several rows of one
    position, or several values in a cell, are its runs: its value is their mean, with a standard error by the variance
    of runs, pooled over all positions (of logarithms, if all values are above zero). The value of runs on several
    machines is the mean of the machines' means, and these machines together have a separate level. Rows without a
    value are left out. With a column ``run``, several values in a cell are a run's observations. If a column
    ``started`` shows that the runs of positions were interleaved, positions vary only by their runs.

    Args:
        sheet: the table.
        metric: the values' column; None is ``value``, or the only column of numbers.
        unit: the metric's unit; None is that of the heading, as in ``latency (ms)``, or 1.
        better: the better direction; None is lower.
        statistic: the statistic of a run of several observations; it may be chosen from the runs of other series.

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
"""The observations of each run, by position and machine."""


class _Recorded(Struct, frozen=True, eq=False):
    """The recorded runs of a series; ``labels`` are the labels of its positions."""

    name: str
    metric: Metric
    labels: tuple[str, ...]
    positions: _Runs
    dependence: Dependence

    def series(self, choice: StatisticChoice | None) -> Series:
        """The series with the statistic that was chosen for runs of several observations."""
        statistic = MEAN if choice is None else choice.statistic
        found = self._counted(statistic.of)
        if choice is None or not choice.keeps_mean:
            return replace(found, choice=choice)
        relative = replace(self._counted(statistic.tail_of), bridges=())  # handovers join only the statistic's series
        return replace(found, choice=choice, tails=Tails(self._counted(MEAN.of), relative))

    def _counted(self, count: Callable[[FloatArray], float]) -> Series:
        runs = [[[count(run) for run in own] for own in machines.values()] for machines in self.positions.values()]
        levels = np.array([_mean([_mean(own) for own in machines]) for machines in runs])
        machines, codes = distinct(["\n".join(sorted(own)) for own in self.positions.values()])
        on_machines = zip(self.positions.values(), runs, strict=True)
        measured = [dict(zip(own, map(np.array, values), strict=True)) for own, values in on_machines]
        errors, freedom = run_errors(runs, levels)
        return Series(
            name=self.name,
            metric=self.metric,
            positions=self.labels,
            values=levels,
            machines=codes,
            runs=np.array([sum(map(len, own)) for own in runs], dtype=np.intp),
            dependence=self.dependence,
            errors=errors,
            freedom=freedom,
            machine_names=tuple(tuple(names.split("\n")) for names in machines),
            bridges=series_bridges(measured),
        )


def _choices(found: Sequence[_Runs], statistic: Statistic | Automatic) -> Sequence[StatisticChoice | None]:
    """The choice for each series; None if its runs have a single observation each."""
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
    """Independent if the start times show that the runs of different positions were interleaved, else estimated."""
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
