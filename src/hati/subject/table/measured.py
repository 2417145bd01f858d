"""A table of measured configurations, in which the runs of a configuration are looked up."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from msgspec import Struct

from hati.core import Configuration, FloatArray, Metric, Workload, replace
from hati.space import Space
from hati.subject.table.deviations import Deviations, noisy
from hati.subject.table.encoding import code, decoded, satisfying
from hati.subject.table.options import Codes

_NOISE_SEED = 0


class MeasuredTable(Struct, frozen=True, eq=False, dict=True):
    """Measured configurations of a space, of one revision and workload.

    ``values`` maps each metric to a tuple for each row, of the values of its runs; ``rows`` a configuration's indexes,
    as bytes, to its rows in the order of their repetitions. With ``deviations`` a run is drawn anew around the mean.
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
    deviations: Deviations | None = None
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
