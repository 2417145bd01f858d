"""The levels of a series.

Of a short series, or of one whose runs were interleaved, positions are compared with their neighbours. Steps of a long
series are those that autocorrelated noise, a line, or recurring levels do not explain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from hati.core import FloatArray, replace
from hati.stats import (
    FEWEST_DIFFERENCES,
    Alternation,
    ChangePoint,
    Dependence,
    Positions,
    PositionStep,
    PositionSteps,
    alternation,
    change_points,
    change_size,
    clipped_around_neighbours,
    detectable_position_step,
    detectable_step,
    gradual_drift,
    normal_scores,
    place_interval,
    position_steps,
    resolution,
    spread_between,
    spread_freedom,
)
from hati.stats.dependence import equal_persistence, likely_step, log_likelihoods, whitened_products, without_bursts
from hati.stats.diagnostics import standardised
from hati.stats.linear_models import Index
from hati.studies.regression.conclusion import Series


class SeriesLevels(Struct, frozen=True, eq=False):
    """The steps around a line of that slope (0: levels only).

    ``straight`` are the values without the line, ``strata`` the machine and segment of each, counted from 0, ``phi``
    the noise's first autocorrelation, ``persistence`` that of the autoregression with the same long-run variance.
    ``detectable`` is the step in the middle that is found with 80 % power, in the metric's unit, None if none is.
    ``alternation`` holds recurring levels, which are not a change; ``assumptions`` names unestimated quantities.
    ``errors`` are the standard errors of the values about their levels, shape (n,), from ``freedom`` degrees of
    freedom, infinite if a value was not compared; they are empty if the noise was estimated over time.
    """

    steps: tuple[PositionStep, ...]
    slope: float
    straight: FloatArray
    strata: Index
    phi: float
    persistence: float
    detectable: float | None
    alternation: Alternation | None = None
    assumptions: tuple[str, ...] = ()
    errors: FloatArray = field(default_factory=lambda: np.zeros(0))
    freedom: float = 0.0

    @property
    def residuals(self) -> FloatArray:
        """The residuals after levels and line."""
        return self.residuals_without(np.zeros(len(self.straight), dtype=np.bool_))

    def residuals_without(self, left_out: NDArray[np.bool_]) -> FloatArray:
        """The residuals with levels estimated without the values ``left_out``, unless a level has no others."""
        kept = ~left_out | ~np.isin(self.strata, self.strata[~left_out])
        counts = np.bincount(self.strata, kept)
        means = np.bincount(self.strata, self.straight * kept) / np.maximum(counts, 1.0)
        return np.asarray(self.straight - means[self.strata])

    @property
    def places(self) -> tuple[int, ...]:
        """The indexes of the steps."""
        return tuple(step.index for step in self.steps)


def segment_strata(machines: Index, places: tuple[int, ...]) -> Index:
    """The machine and segment of each value as one number from 0."""
    segments = np.searchsorted(np.array(places, dtype=np.intp), np.arange(len(machines)), side="right")
    codes = np.unique(segments * (int(machines.max()) + 1) + machines, return_inverse=True)[1]
    return np.asarray(codes, dtype=np.intp)


class PlacedStep(Struct, frozen=True):
    """A step seen by these machines: later than the place ``after``, and at the latest at the last of its indexes."""

    step: PositionStep
    after: int
    machines: frozenset[int]

    def agrees(self, other: PlacedStep) -> bool:
        """Whether both may be the same change, in the same direction, seen by different machines."""
        same = (self.step.after > self.step.before) == (other.step.after > other.step.before)
        latest = min(self.step.indexes[1], other.step.indexes[1])
        return same and self.machines.isdisjoint(other.machines) and max(self.after, other.after) < latest

    def joined(self, other: PlacedStep) -> PlacedStep:
        """The step with the smaller p-value, at an index where both may be."""
        surer = min(self.step, other.step, key=lambda step: step.p_value)
        after = max(self.after, other.after)
        latest = min(self.step.indexes[1], other.step.indexes[1])
        index = min(max(self.step.index, after + 1), max(other.step.index, after + 1), latest)
        earliest = max(self.step.indexes[0], other.step.indexes[0])
        step = replace(surer, index=index, indexes=(min(earliest, index), latest))
        return PlacedStep(step, after, self.machines | other.machines)


def agreed(steps: Sequence[PlacedStep]) -> tuple[PositionStep, ...]:
    """The steps in order, with those that agree joined into one."""
    found: list[PlacedStep] = []
    for step in sorted(steps, key=lambda one: one.step.index):
        if found and found[-1].agrees(step):
            found[-1] = found[-1].joined(step)
        else:
            found.append(step)
    return tuple(one.step for one in found)


SHORTEST_LONG = 30
"""A series of fewer values is short: their dependence cannot be estimated."""


class _Scale(Struct, frozen=True):
    """The scale of values: logarithmic, or raw if a value is not above zero."""

    logarithmic: bool

    def of(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.log(values) if self.logarithmic else values)

    def errors(self, errors: FloatArray, values: FloatArray) -> FloatArray:
        return np.asarray(errors / values if self.logarithmic else errors)

    def back(self, value: float) -> float:
        return math.exp(value) if self.logarithmic else value

    def all_back(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.exp(values) if self.logarithmic else values)

    def errors_back(self, errors: FloatArray, values: FloatArray) -> FloatArray:
        return np.asarray(errors * values if self.logarithmic else errors)

    def change(self, change: float, before: float) -> float:
        """A change on this scale in the metric's unit, from a level in that unit."""
        return before * math.expm1(min(change, _LARGEST)) if self.logarithmic else change


_LARGEST = 500.0


def is_short(series: Series) -> bool:
    """Whether positions are compared with each other, without estimating noise over time."""
    return len(series) < SHORTEST_LONG or (series.freedom > 0 and series.dependence is Dependence.INDEPENDENT)


def short_levels(series: Series, alpha: float) -> SeriesLevels:
    """Find the steps between the positions of each machine that has several, or else of all machines together.

    The variance of positions is that of their runs if these were interleaved; otherwise it is from differences of
    successive positions, and at least that of the runs. With too few differences it is that of the runs, which assumes
    that positions do not vary beyond these. A step on which several machines agree counts once. With several machines,
    half of alpha is for steps of single machines, and, if there are none, half for steps common to all, each machine
    having a level of its own.
    """
    scale = _Scale(bool((series.values > 0.0).all()))
    middle = float(np.median(series.values))
    noise = _Noise.of(series, scale)
    compared = noise.compared
    searches = 2 * len(compared) if len(compared) > 1 else 1
    own = alpha / searches
    positions = [noise.positions(places) for places in compared]
    found = [(places, position_steps(each, own)) for places, each in zip(compared, positions, strict=True)]
    steps = [_placed(step, places, searches, scale) for places, steps in found for step in steps.steps]
    if len(compared) > 1 and not steps:
        together = np.sort(np.concatenate(compared))
        found = [(together, _together(noise, together, 0.5 * alpha))]
        steps = [_placed(step, together, 2, scale) for step in found[0][1].steps]
    slope = next((one.slope for _, one in sorted(found, key=lambda one: -len(one[0])) if one.slope), 0.0)
    slope *= middle if scale.logarithmic else 1.0
    strata = series.machines * len(series)
    for places, steps_of in found:
        strata[places] += steps_of.strata
    values, errors = series.values.copy(), np.full(len(series), math.inf)
    for places, each in zip(compared, positions, strict=True):
        values[places] = scale.all_back(each.values)
        errors[places] = scale.errors_back(each.errors, values[places])
    detectable = [detectable_position_step(each, own) for each in positions]
    change = scale.change(min(detectable), abs(middle)) if detectable else math.inf
    return SeriesLevels(
        steps=agreed(steps),
        slope=slope,
        straight=np.asarray(values - slope * (np.arange(len(series)) - 0.5 * (len(series) - 1))),
        strata=np.asarray(np.unique(strata, return_inverse=True)[1], dtype=np.intp),
        phi=0.0,
        persistence=0.0,
        detectable=change if change < _MOST * abs(middle) else None,
        assumptions=noise.assumptions,
        errors=errors,
        freedom=min((each.freedom for each in positions), default=0.0),
    )


def _together(noise: _Noise, places: Index, alpha: float) -> PositionSteps:
    """The steps of several machines together; levels of machines and steps are estimated alternately."""
    found = PositionSteps((), 0.0, np.zeros(len(places), dtype=np.intp))
    for _ in range(_TURNS):
        aligned = noise.positions(places, noise.machines, _offsets(noise, places, found.strata))
        before, found = found, position_steps(aligned, alpha)
        if [step.index for step in before.steps] == [step.index for step in found.steps]:
            break
    return found


def _offsets(noise: _Noise, places: Index, strata: Index) -> FloatArray:
    """The offset of each value's machine from their mean, by weighted least squares with a level between steps."""
    machines, errors = noise.series.machines[places], noise.positions(places, noise.machines).errors
    columns = np.column_stack([np.eye(int(machines.max()) + 1)[machines], np.eye(int(strata.max()) + 1)[strata]])
    scaled = 1.0 / np.maximum(errors / (float(np.max(errors)) or 1.0), _LEAST_ERROR)
    levels = np.linalg.lstsq(columns * scaled[:, None], noise.values[places] * scaled, rcond=None)[0]
    own = levels[: int(machines.max()) + 1]
    return np.asarray((own - own[np.unique(machines)].mean())[machines])


_TURNS = 5
_LEAST_ERROR = 1e-6
_MOST = 1e3
_INDEPENDENT = "the noise of a position says nothing of the next one's: fewer than 30 positions cannot show it"
_FEW = "positions vary by nothing but their runs: too few of them to estimate how sessions, layouts or days vary"


class _Noise(Struct, frozen=True, eq=False):
    """The variation of positions: ``values`` and errors ``by_runs`` on a scale, and the places of each machine."""

    series: Series
    values: FloatArray
    by_runs: FloatArray
    machines: tuple[Index, ...]

    @classmethod
    def of(cls, series: Series, scale: _Scale) -> _Noise:
        by_runs = scale.errors(series.errors, series.values) if series.freedom else np.zeros(len(series))
        places = tuple(np.flatnonzero(series.machines == machine) for machine in np.unique(series.machines))
        return cls(series, scale.of(series.values), by_runs, places)

    @property
    def compared(self) -> list[Index]:
        """The places of each machine whose positions can be compared."""
        return [
            own
            for own in self.machines
            if len(own) > 1 and (self.series.freedom or self._between([own], self.machines))
        ]

    @property
    def assumptions(self) -> tuple[str, ...]:
        alone = sum(map(len, self.machines)) - sum(map(len, self.compared))
        apart = (f"nothing of the positions of machines with too few of them: {alone}",) if alone else ()
        if self._independent:
            return apart
        few = self.series.freedom and any(self._between([own], self.machines) is None for own in self.compared)
        return (_FEW if few else _INDEPENDENT, *apart)

    def positions(self, own: Index, machines: Sequence[Index] = (), offsets: FloatArray | float = 0.0) -> Positions:
        """The positions of one machine, or of several less their ``offsets``; then all estimate the variance."""
        values, by_runs, freedom = self.values[own] - offsets, self.by_runs[own], self.series.freedom
        confirmed = np.asarray(self.series.runs[own] > 1, dtype=np.bool_)
        spread = None if self._independent else self._between(*([machines] if machines else ([own], self.machines)))
        if spread is None:
            return Positions(values, by_runs, freedom, confirmed)
        between, differences = spread
        beyond = max(between**2 - float(np.median(np.square(by_runs))), 0.0)
        errors = np.sqrt(beyond + np.square(by_runs))
        kept = values if confirmed.all() else clipped_around_neighbours(values, between)
        least = min(spread_freedom(differences), freedom or math.inf)
        return Positions(kept, np.asarray(errors), least, confirmed, surcharge=1.0)

    @property
    def _independent(self) -> bool:
        return self.series.dependence is Dependence.INDEPENDENT and self.series.freedom > 0

    def _between(self, *sources: Sequence[Index]) -> tuple[float, int] | None:
        """The spread of successive differences by the first source with enough, and their number; None without any."""
        runs_vary = not self.series.freedom or bool(self.by_runs.any())
        tick = resolution(self.values) if runs_vary else 0.0
        for machines in sources:
            differences = sum(len(each) - 1 for each in machines)
            if differences >= FEWEST_DIFFERENCES:
                return spread_between([self.values[each] for each in machines], tick), differences
        return None


def _placed(step: PositionStep, places: Index, machines: int, scale: _Scale) -> PlacedStep:
    before = scale.back(step.before)
    low, high = (scale.change(bound, before) for bound in step.interval)
    first, last = step.indexes
    return PlacedStep(
        PositionStep(
            index=int(places[step.index]),
            indexes=(int(places[first]), int(places[last])),
            before=before,
            after=scale.back(step.after),
            interval=(low, high),
            p_value=min(1.0, machines * step.p_value),
        ),
        after=int(places[first - 1]),
        machines=frozenset({int(places[0])}),
    )


_PER_STEP = {Dependence.ESTIMATED: 14.0, Dependence.INDEPENDENT: 10.0}
"""The gain in twice the log-likelihood that a step needs at a level of 5 %, by simulation (benchmarks.histories)."""

_PER_LINE = 10.0
_NOMINAL = 0.05
_LEAST = 4.0
_MOST_STEPS = 40
_FEWEST_POSITIONS = 60
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
    if size >= _FEWEST_POSITIONS:
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


def _step(series: SeriesValues, point: ChangePoint, start: int, stop: int, slope: float, phi: float) -> PositionStep:
    values, machines = series.values[start:stop], series.machines[start:stop]
    place = point.index - start
    size = change_size(values, machines, place, phi)
    first, last = place_interval(values, machines, place, phi)
    drifted = slope * (point.index - 0.5 * (len(series.values) - 1))
    return PositionStep(
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
    step = 0.0 if size < _FEWEST_POSITIONS else detectable_step(size, phi, series.alpha, series.dependence)
    likely = likely_step(size, phi, series.penalty)
    if step is None or likely is None:
        return None
    means = np.bincount(strata, series.values) / np.maximum(np.bincount(strata), 1)
    residuals = series.values - means[strata]
    spread = 1.4826 * float(np.median(np.abs(residuals - np.median(residuals))))
    return max(step, likely) * spread if series.dependence is Dependence.ESTIMATED else step * spread
