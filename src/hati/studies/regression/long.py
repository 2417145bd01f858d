"""The levels of a long series: steps not explained by autocorrelated noise, by a line, or by recurring levels."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, replace
from hati.stats import (
    Alternation,
    ChangePoint,
    Dependence,
    Positions,
    alternation,
    change_points,
    change_size,
    clipped_around_neighbours,
    detectable_step,
    gradual_drift,
    normal_scores,
    place_interval,
    position_steps,
    spread_between,
    spread_freedom,
)
from hati.stats.dependence import (
    equal_persistence,
    likely_step,
    log_likelihoods,
    whitened_products,
    without_bursts,
)
from hati.stats.diagnostics import standardised
from hati.stats.linear_models import Index
from hati.studies.regression.short import LevelStep, SeriesLevels, segment_strata

_PER_STEP = {Dependence.ESTIMATED: 14.0, Dependence.INDEPENDENT: 10.0}
"""The gain in twice the log-likelihood that a step needs at a level of 5 %, by simulation (benchmarks.histories)."""

_PER_LINE = 10.0
_NOMINAL = 0.05
_LEAST = 4.0
_MOST_STEPS = 40
_FEW = 60
"""With fewer values and the largest allowed autocorrelation, ranks cannot show a step, however large."""


class SeriesValues(Struct, frozen=True, eq=False):
    """A series: values and machines of shape (n,), the level of the tests, and the dependence of the noise."""

    values: FloatArray
    machines: Index
    alpha: float
    dependence: Dependence

    @property
    def penalty(self) -> float:
        """The gain that a step needs."""
        return max(_PER_STEP[self.dependence] + 2.0 * math.log(_NOMINAL / self.alpha), _LEAST)

    def chance(self, gain: float) -> float:
        """The p-value of a gain: alpha at the penalty, and beyond it in proportion to the likelihood ratio."""
        return min(1.0, _NOMINAL * math.exp(0.5 * (_PER_STEP[self.dependence] - gain)))


class _Model(Struct, frozen=True, eq=False):
    """Steps, with or without a line; the penalised gain over no steps; the gain of each step is in its p-value."""

    places: tuple[ChangePoint, ...]
    line: bool
    score: float


_NOTHING = _Model(places=(), line=False, score=0.0)


def long_levels(series: SeriesValues) -> SeriesLevels:
    """Find the changes of level, with a drift if one clearly explains more, and with recurring levels.

    Candidates are the change points of normal scores with a first-order autoregression. Of the subsets on the path of
    backward elimination, the one with the largest likelihood less a penalty for each step is taken. The noise is an
    autoregression plus white noise: a step that such noise explains does not count. The same is done with a line. If
    values alternate between two levels, that path is removed first.
    """
    candidates = _candidates(series)
    if not candidates:
        return _levels(series, _NOTHING, None)
    found = _recurring(series, candidates)
    if found is None:
        return _levels(series, _best(series, candidates), None)
    apart = replace(series, values=series.values - found.path + 0.5 * (found.low + found.high))
    return _levels(apart, _best(apart, change_points(apart.values, apart.machines, apart.alpha)), found)


def _candidates(series: SeriesValues) -> tuple[ChangePoint, ...]:
    """The change points of normal scores; for few values, also the steps found under independent noise."""
    found = change_points(series.values, series.machines, series.alpha, series.dependence)
    size = len(series.values)
    if size >= _FEW:
        return found
    values = standardised(series.values, series.machines)
    spread = spread_between([values], 0.0)
    errors = np.full(size, spread)
    alone = np.zeros(size, dtype=np.bool_)
    kept = clipped_around_neighbours(values, spread)
    steps = position_steps(Positions(kept, errors, spread_freedom(size - 1), alone), series.alpha).steps
    known = {point.index for point in found}
    more = [ChangePoint(step.index, step.p_value) for step in steps if step.index not in known]
    return tuple(sorted([*found, *more], key=lambda point: point.index))


def _recurring(series: SeriesValues, candidates: tuple[ChangePoint, ...]) -> Alternation | None:
    """Levels that recur throughout, or on both sides of the largest step."""
    if series.dependence is Dependence.INDEPENDENT or len(np.unique(series.machines)) > 1:
        return None
    if (found := alternation(series.values)) is not None:
        return found
    if len(candidates) < 3:
        return None
    largest = max(candidates, key=lambda point: abs(_jump(series.values, point.index)))
    after = np.arange(len(series.values)) >= largest.index
    levels = np.where(after, _middle_of(series.values[after]), _middle_of(series.values[~after]))
    return alternation(np.asarray(series.values - levels))


def _middle_of(values: FloatArray) -> float:
    """The midpoint between the levels of values with two levels, however long each lasts."""
    return float(np.mean(np.quantile(values, [0.1, 0.9])))


def _jump(values: FloatArray, place: int) -> float:
    return float(np.mean(values[place:]) - np.mean(values[:place]))


def _best(series: SeriesValues, candidates: tuple[ChangePoint, ...]) -> _Model:
    """The best model: steps alone, or with a line; if that is better, change points are sought around the line, too."""
    if not candidates:
        return _NOTHING
    best = max(_models(series, candidates), key=lambda model: model.score)
    if not best.line:
        return best
    strata = segment_strata(series.machines, tuple(point.index for point in best.places))
    slope = _slope(series, strata)
    around = change_points(series.values - slope * _times(series), series.machines, series.alpha, series.dependence)
    return max([best, *(each for each in _models(series, around) if each.line)], key=lambda model: model.score)


def _models(series: SeriesValues, candidates: tuple[ChangePoint, ...]) -> list[_Model]:
    """All models on the paths of backward elimination with and without a line."""
    strongest = sorted(sorted(candidates, key=lambda point: point.p_value)[:_MOST_STEPS], key=lambda point: point.index)
    size = len(series.values)
    values = without_bursts(standardised(series.values, series.machines))
    machines = np.eye(int(series.machines.max()) + 1)[series.machines]
    machines = machines[:, machines.any(axis=0)]
    steps = np.arange(size)[:, None] >= np.array([point.index for point in strongest], dtype=np.intp)
    columns = np.column_stack(
        [values - np.mean(values), machines, _times(series) / size, steps - np.mean(steps, axis=0)]
    )
    products = whitened_products(columns)
    products = products[:1] if series.dependence is Dependence.INDEPENDENT else products
    levels = list(range(1, machines.shape[1] + 1))
    drift, first = levels[-1] + 1, levels[-1] + 2
    nothing = _twice(products, levels, size)
    models = []
    for base in (levels, [*levels, drift]):
        line = len(base) > len(levels)
        left = list(range(len(strongest)))
        value = _twice(products, [*base, *(first + each for each in left)], size)
        while True:
            without = {
                one: _twice(products, [*base, *(first + each for each in left if each != one)], size) for one in left
            }
            places = tuple(
                ChangePoint(strongest[one].index, max(strongest[one].p_value, series.chance(value - without[one])))
                for one in left
            )
            score = value - nothing - series.penalty * len(left) - (_PER_LINE if line else 0.0)
            models.append(_Model(places, line, score))
            if not left:
                break
            weakest = max(without, key=lambda one: without[one])
            left.remove(weakest)
            value = without[weakest]
    return models


def _twice(products: FloatArray, chosen: Sequence[int], size: int) -> float:
    return 2.0 * float(log_likelihoods(products, chosen, size).max())


def _times(series: SeriesValues) -> FloatArray:
    size = len(series.values)
    return np.asarray(np.arange(size) - 0.5 * (size - 1))


def _slope(series: SeriesValues, strata: Index) -> float:
    line = gradual_drift(series.values, strata, 0.0)
    return 0.0 if line is None else line.slope


def _levels(series: SeriesValues, model: _Model, found: Alternation | None) -> SeriesLevels:
    places = tuple(point.index for point in model.places)
    strata = segment_strata(series.machines, places)
    slope = _slope(series, strata) if model.line else 0.0
    straight = series.values - slope * _times(series)
    scores = normal_scores(straight, strata)
    phi = float(series.dependence.of(scores))
    around = replace(series, values=straight)
    edges = (0, *places, len(straight))
    persistence = phi if series.dependence is Dependence.INDEPENDENT else max(phi, equal_persistence(scores))
    return SeriesLevels(
        steps=tuple(
            _step(around, point, edges[number], edges[number + 2], slope, persistence)
            for number, point in enumerate(model.places)
        ),
        slope=slope,
        straight=straight,
        strata=strata,
        phi=phi,
        persistence=persistence,
        detectable=_detectable(around, strata, phi),
        alternation=found,
    )


def _step(series: SeriesValues, point: ChangePoint, start: int, stop: int, slope: float, phi: float) -> LevelStep:
    values, machines = series.values[start:stop], series.machines[start:stop]
    place = point.index - start
    size = change_size(values, machines, place, phi)
    first, last = place_interval(values, machines, place, phi)
    drifted = slope * (point.index - 0.5 * (len(series.values) - 1))
    return LevelStep(
        point.index,
        (start + first, start + last),
        size.before + drifted,
        size.after + drifted,
        size.interval,
        point.p_value,
    )


def _detectable(series: SeriesValues, strata: Index, phi: float) -> float | None:
    """The larger of the steps that the test of scores and the likelihood can detect."""
    size = len(series.values)
    step = 0.0 if size < _FEW else detectable_step(size, phi, series.alpha, series.dependence)
    likely = likely_step(size, phi, series.penalty)
    if step is None or likely is None:
        return None
    means = np.bincount(strata, series.values) / np.maximum(np.bincount(strata), 1)
    residuals = series.values - means[strata]
    spread = 1.4826 * float(np.median(np.abs(residuals - np.median(residuals))))
    return max(step, likely) * spread if series.dependence is Dependence.ESTIMATED else step * spread
