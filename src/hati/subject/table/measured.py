"""A table of measured configurations, assembled from its rows, in which the runs of a configuration are looked up."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import PurePath

import numpy as np
from msgspec import Struct

from hati.core import Configuration, FloatArray, InputError, Metric, Workload, replace
from hati.core.wording import listed
from hati.space import Space
from hati.subject.table.metrics import MetricColumn, RunDeviations, noisy, numbers
from hati.subject.table.options import Codes, code, decoded, encoded, satisfying
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
    """The rows that meet all conditions; numbers are equal however they are written, where none is written so.

    Raises:
        InputError: for an unknown column, with the nearest, and where no row is left, with the column's values.
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

    ``values`` maps each metric to a tuple for each row, of the values of its runs; ``rows`` a configuration's indexes,
    as bytes, to its rows in the order of their repetitions. With ``deviations`` each run is drawn around the mean.
    ``outside`` counts rows that do not meet the space's constraints, which are left out.
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
        """The table without the configurations that are not valid in a space that was narrowed from its own."""
        valid = satisfying(self.codes, self.space, space.template)
        kept = {key: rows for key, rows in self.rows.items() if valid[rows[0]]}
        return replace(self, rows=kept)

    def means(self, metric: str) -> FloatArray:
        """The mean of each configuration's runs, shape (configurations,), in the metric's unit; nan without one."""
        return np.array([np.mean(found) if (found := self._found(key, metric)) else np.nan for key in self.rows])

    @cached_property
    def repetitions(self) -> float:
        """How many runs every configuration has at least; without end where noise is drawn."""
        if self.deviations is not None:
            return float("inf")
        return max(1, min((count for count in self._counts if count), default=1))

    @cached_property
    def runs(self) -> float:
        """How many runs of all configurations there are; without end where noise is drawn."""
        return float("inf") if self.deviations is not None else sum(self._counts)

    @cached_property
    def most_repetitions(self) -> float:
        """How many runs a configuration has at most; without end where noise is drawn."""
        return float("inf") if self.deviations is not None else max(self._counts, default=0)

    @cached_property
    def _counts(self) -> tuple[int, ...]:
        return tuple(max(len(self._found(key, metric.name)) for metric in self.metrics) for key in self.rows)

    def run(self, configuration: Configuration, repetition: int, task: str) -> Mapping[str, float] | str:
        """The value of each metric in a run, from 0, of a configuration, or the reason why there is none.

        ``task`` seeds the noise, where there is any: the same task has the same value.
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
_RUN = ("run", "repetition")


def assembled(
    sheet: Sheet, space: Space, columns: Sequence[MetricColumn], deviations: RunDeviations | None
) -> MeasuredTable:
    """The measured configurations in the rows of a table, of which each row of a configuration is a run.

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
    """Those of the names that are columns, and not an option's."""
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
    """The rows by their repetitions, where these are numbers; otherwise as they stand."""
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
    identifying = _origin(sheet, space, _RUN)
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
