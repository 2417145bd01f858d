"""The levels of a short series, or of one whose runs were interleaved: positions compared with each other."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hati.core import FloatArray
from hati.stats import (
    FEWEST_DIFFERENCES,
    Dependence,
    Positions,
    PositionStep,
    clipped_around_neighbours,
    detectable_position_step,
    position_steps,
    spread_between,
    spread_freedom,
)
from hati.studies.regression.levels import Levels, Step
from hati.studies.regression.series import Series

SHORTEST_LONG = 30
"""A series of fewer values is short: their dependence cannot be estimated."""


@dataclass(frozen=True)
class _Scale:
    """Values on the logarithmic scale, or as they are where one is not above zero."""

    logarithmic: bool

    def of(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.log(values) if self.logarithmic else values)

    def errors(self, errors: FloatArray, values: FloatArray) -> FloatArray:
        return np.asarray(errors / values if self.logarithmic else errors)

    def back(self, value: float) -> float:
        return math.exp(value) if self.logarithmic else value

    def change(self, change: float, before: float) -> float:
        """In the metric's unit, of a change on this scale from a level in the metric's unit."""
        return before * math.expm1(min(change, _LARGEST)) if self.logarithmic else change


_LARGEST = 500.0


def is_short(series: Series) -> bool:
    """Whether positions are compared with each other, and no noise over time is looked for."""
    if len(np.unique(series.machines)) > 1:
        return False
    return len(series) < SHORTEST_LONG or (series.freedom > 0 and series.dependence is Dependence.INDEPENDENT)


def short_levels(series: Series, alpha: float) -> Levels:
    """Find the steps between positions.

    How much positions vary is that of their runs where these were interleaved; else what successive positions differ
    by, and not less than their runs. Where there are too few of them, that of the runs, which assumes that positions
    do not vary beyond these.
    """
    scale = _Scale(bool((series.values > 0.0).all()))
    positions, assumptions = _positions(series, scale)
    found = position_steps(positions, alpha)
    size = len(series)
    times = np.arange(size) - 0.5 * (size - 1)
    slope = found.slope * (float(np.median(series.values)) if scale.logarithmic else 1.0)
    detectable = scale.change(detectable_position_step(positions, alpha), abs(float(np.median(series.values))))
    return Levels(
        steps=tuple(_step(step, scale) for step in found.steps),
        slope=slope,
        straight=np.asarray(series.values - slope * times),
        strata=found.strata,
        phi=0.0,
        persistence=0.0,
        detectable=detectable if detectable < _MOST * abs(float(np.median(series.values))) else None,
        assumptions=assumptions,
    )


_MOST = 1e3


def _positions(series: Series, scale: _Scale) -> tuple[Positions, tuple[str, ...]]:
    values = scale.of(series.values)
    confirmed = np.asarray(series.runs > 1, dtype=np.bool_)
    by_runs = scale.errors(series.errors, series.values) if series.freedom else np.zeros(len(series))
    if series.dependence is Dependence.INDEPENDENT and series.freedom:
        return Positions(values, by_runs, series.freedom, confirmed), ()
    independent = "the noise of a position says nothing of the next one's: fewer than 30 positions cannot show it"
    assumed = () if series.dependence is Dependence.INDEPENDENT else (independent,)
    if series.freedom and len(series) <= FEWEST_DIFFERENCES:
        few = "positions vary by nothing but their runs: too few of them to estimate how sessions, layouts or days vary"
        return Positions(values, by_runs, series.freedom, confirmed), (few,)
    between = spread_between(values)
    errors = _combined(between, by_runs)
    kept = values if confirmed.all() else clipped_around_neighbours(values)
    return Positions(kept, errors, spread_freedom(len(series)), confirmed, surcharge=1.0), assumed


def _combined(between: float, by_runs: FloatArray) -> FloatArray:
    """Standard errors with the variance between positions that successive differences show beyond the runs'."""
    beyond = max(between**2 - float(np.median(np.square(by_runs))), 0.0)
    return np.asarray(np.sqrt(beyond + np.square(by_runs)))


def _step(step: PositionStep, scale: _Scale) -> Step:
    before = scale.back(step.before)
    low, high = (scale.change(bound, before) for bound in step.interval)
    return Step(step.index, step.indexes, before, scale.back(step.after), (low, high), step.p_value)
