"""What runs say of each revision."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hati.core import Evidence, FloatArray, Revision, conversion
from hati.stats import FEWEST_VALUES, Dependence, Ecdf
from hati.studies.comparison import Statistic
from hati.studies.gate import Cell, Group
from hati.studies.regression import Series
from hati.studies.replay.conclusion import RevisionSpread

_QUARTILES = np.array([0.25, 0.5, 0.75])


@dataclass(frozen=True, eq=False)
class Measured:
    """The runs of a replay, by revision and cell."""

    evidence: Evidence
    revisions: tuple[Revision, ...]
    cells: tuple[Cell, ...]
    statistic: Statistic
    dependence: Dependence

    def values(self, group: Group) -> dict[int, dict[int, FloatArray]]:
        """By place of the revision and position of the cell the values of its runs, of those with all the cells."""
        found: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for run in self.evidence.done:
            observed = run.of(group.metric.name)
            position = self._positions.get((run.task.benchmark, run.task.configuration.key))
            if observed is None or position not in group.cells:
                continue
            assert position is not None
            value = self.statistic.of(observed.steady) * conversion(observed.unit, group.metric.unit)
            found[self._places[run.task.revision]][position].append(value)
        working = {position for cells in found.values() for position in cells}
        return {
            place: {position: np.array(values) for position, values in sorted(cells.items())}
            for place, cells in sorted(found.items())
            if set(cells) == working
        }

    def series(self, group: Group) -> Series | None:
        """The weighted geometric mean over the cells at each revision; arithmetic where a value is not above zero."""
        values = self.values(group)
        if len(values) < FEWEST_VALUES:
            return None
        kept = sorted(next(iter(values.values())))
        weights = np.array([self.cells[position].weight for position in kept])
        weights /= weights.sum()
        means = np.array([[cells[position].mean() for position in kept] for cells in values.values()])
        levels = np.exp(np.log(means) @ weights) if (means > 0.0).all() else means @ weights
        name = " ".join(filter(None, (group.benchmark.name, str(group.stratum or ""))))
        return Series(
            name=f"{name} {group.metric.name}",
            metric=group.metric,
            positions=tuple(self.revisions[place].short for place in values),
            values=np.asarray(levels, dtype=np.float64),
            machines=np.zeros(len(values), dtype=np.intp),
            runs=np.array([sum(map(len, cells.values())) for cells in values.values()], dtype=np.intp),
            dependence=self.dependence,
        )

    def spreads(self, group: Group) -> tuple[RevisionSpread, ...]:
        """How the values of a group's cells are distributed at each revision."""
        spreads = []
        for place, cells in self.values(group).items():
            means = np.array([values.mean() for values in cells.values()])
            weights = np.array([self.cells[position].weight for position in cells])
            low, middle, high = Ecdf.of(means, weights).quantiles(_QUARTILES).tolist()
            whole = (float(means.min()), low, middle, high, float(means.max()))
            spreads.append(RevisionSpread(self.revisions[place], whole, len(means)))
        return tuple(spreads)

    def levels(self, group: Group) -> tuple[dict[int, float], list[float]]:
        """Of a group the logarithm at each place, and the errors of these."""
        levels, noises = {}, []
        for place, cells in self.values(group).items():
            logs = [np.log(np.maximum(values, np.finfo(float).tiny)) for values in cells.values()]
            levels[place] = float(np.mean([each.mean() for each in logs]))
            errors = [float(np.var(each, ddof=1)) / len(each) for each in logs if len(each) > 1]
            if len(errors) == len(logs):
                noises.append(math.sqrt(sum(errors)) / len(logs))
        return levels, noises

    @cached_property
    def _places(self) -> dict[str, int]:
        return {revision.id: place for place, revision in enumerate(self.revisions)}

    @cached_property
    def _positions(self) -> dict[tuple[str, str], int]:
        return {cell.key: position for position, cell in enumerate(self.cells)}
