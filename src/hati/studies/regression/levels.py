"""Steps, or a line: what describes a series' levels with the least."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hati.core import FloatArray
from hati.stats import ChangePoint, Creep, Dependence, change_points, creep, normal_scores
from hati.stats.least_squares import Index

_PER_STEP = 2
_PER_SLOPE = 1
_MOST_TURNS = 5
_MOST_TRIED = 1000
_RANGE = (0.05, 0.95)
_PARTS = (-1.0, -0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, eq=False)
class Levels:
    """Change points around a line of that slope (0: levels only), and the noise's first autocorrelation.

    ``straight`` are the values without the line, ``strata`` the machine and segment of each, counted from 0.
    """

    points: tuple[ChangePoint, ...]
    slope: float
    straight: FloatArray
    strata: Index
    phi: float

    @property
    def residuals(self) -> FloatArray:
        """What is left without levels and line."""
        return _residuals(self.straight, self.strata)


def levels(values: FloatArray, machines: Index, alpha: float, dependence: Dependence) -> Levels:
    """Find the changes of level; where a slow drift tells more with less, the changes beside that.

    A drift is tried only where something changes, and told only where its own test is significant too. What is better
    is told by the Bayesian information criterion of Laplace noise: n ln(sum of sizes of residuals) + parameters / 2
    ln n, two parameters a step and one a line, with as many values as independent ones would be.

    Args:
        values: shape (n,), in the order of time.
        machines: the machine of each, shape (n,).
        alpha: the level of the tests.
        dependence: the noise's autocorrelation.
    """
    tests = _Tests(alpha, dependence)
    steps = _around(0.0, values, machines, tests)
    if not steps.points:
        return steps
    found = [steps]
    for strata in (machines, steps.strata):
        found += _drifting(values, machines, strata, tests)
    if len(values) <= _MOST_TRIED:
        found += _tried(values, machines, tests)
    phi = min(each.phi for each in found)
    return min(found, key=lambda each: _cost(each, phi))


@dataclass(frozen=True)
class _Tests:
    alpha: float
    dependence: Dependence


def _drifting(values: FloatArray, machines: Index, strata: Index, tests: _Tests) -> list[Levels]:
    """Lines within strata and the change points around them, in turns, as long as the line moves."""
    found: list[Levels] = []
    line = _line(values, strata, tests)
    if line is None or line.p_value > tests.alpha:
        return found
    while line is not None and len(found) < _MOST_TURNS:
        found.append(_around(line.slope, values, machines, tests))
        moved = _line(values, found[-1].strata, tests)
        line = None if moved is None or line.interval[0] <= moved.slope <= line.interval[1] else moved
    return found


def _tried(values: FloatArray, machines: Index, tests: _Tests) -> list[Levels]:
    """Lines within the steps that are left when a drift is taken out that is a part of the values' whole range."""
    low, high = np.quantile(values, _RANGE)
    found = []
    for part in _PARTS:
        steps = _around(part * float(high - low) / len(values), values, machines, tests)
        line = _line(values, steps.strata, tests)
        if line is not None and line.p_value <= tests.alpha:
            found.append(_around(line.slope, values, machines, tests))
    return found


def _line(values: FloatArray, strata: Index, tests: _Tests) -> Creep | None:
    """The drift within strata, with the autocorrelation of what is around it."""
    slope = creep(values, strata, 0.0)
    if slope is None:
        return None
    straight = values - slope.slope * np.arange(len(values), dtype=float)
    return creep(values, strata, float(tests.dependence.of(normal_scores(straight, strata))))


def _around(slope: float, values: FloatArray, machines: Index, tests: _Tests) -> Levels:
    straight = values - slope * (np.arange(len(values)) - 0.5 * (len(values) - 1))
    points = change_points(straight, machines, tests.alpha, tests.dependence)
    strata = segment_strata(machines, tuple(point.index for point in points))
    return Levels(points, slope, straight, strata, float(tests.dependence.of(normal_scores(straight, strata))))


def segment_strata(machines: Index, places: tuple[int, ...]) -> Index:
    """The machine and segment of each value as one number from 0."""
    segments = np.zeros(len(machines), dtype=np.intp)
    for number, (start, stop) in enumerate(pairwise((0, *places, len(machines)))):
        segments[start:stop] = number
    codes = np.unique(segments * (int(machines.max()) + 1) + machines, return_inverse=True)[1]
    return np.asarray(codes, dtype=np.intp)


def _residuals(values: FloatArray, strata: Index) -> FloatArray:
    counts = np.bincount(strata)
    return np.asarray(values - (np.bincount(strata, values) / np.maximum(counts, 1))[strata])


def _cost(found: Levels, phi: float) -> float:
    size = float(np.sum(np.abs(found.residuals)))
    if size <= 0.0:
        return -math.inf
    independent = len(found.straight) * min(1.0, (1.0 - phi) / (1.0 + phi))
    parameters = _PER_STEP * len(found.points) + (_PER_SLOPE if found.slope else 0)
    return independent * math.log(size) + 0.5 * parameters * math.log(len(found.straight))
