"""The numbers of runs and observations that find a change at the least cost, and the steadiness of runs.

A run is steady after its warm-up: its leading observations are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from statistics import fmean, harmonic_mean

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray, InputError, Sample, parse_unit
from hati.core.wording import counted
from hati.stats import Difference, NestedVariance, Segments, effective_size, nested_variance, normal_quantile, segments
from hati.stats.levels import BLOCKS

TOLERANCE = 0.05
"""Levels within this fraction of each other count as one (Traini et al. 2023)."""

FEWEST = 30
"""With fewer observations the last sixth has fewer than five, and steadiness cannot be assessed."""

LAST = 1 / 6
"""The last part of a run, in which it must be steady: 500 of 3,000 iterations (Traini et al. 2023)."""

DISTURBED = 0.05
"""The fraction of the remaining observations that may be off their level if the run is steady at its end."""

EARLIER_DISTURBED = 0.3
"""The fraction that may be off its level where the mean equals that of the observations before."""

SAME_MEAN = 0.01
_ERRORS = 2.0
_DRIFT_ERRORS = 3.0

Flags = NDArray[np.bool_]


class State(StrEnum):
    """What a run's observations say of its warm-up."""

    STEADY = "steady"
    NEVER = "never"
    SHORT = "short"


class Steadiness(Struct, frozen=True):
    """Whether a run is steady, and since when.

    ``start`` is the index of the first steady observation, None where the run is not steady; ``level`` the mean since
    then with outliers drawn in, and ``error`` its standard error as a fraction of it, None likewise; ``disturbed`` the
    fraction of the observations since then that is off the level; ``reason`` explains why it is not steady.
    """

    state: State
    start: int | None
    level: float | None
    error: float | None
    disturbed: float | None
    reason: str


def steadiness(values: FloatArray, tolerance: float = TOLERANCE, blocks: int = BLOCKS) -> Steadiness:
    """Find the observation from which on one run, shape (n,), has one level.

    The run is divided into levels (``segments``). The reference level is the median one of its last sixth. A stretch is
    off it where it differs by more than ``tolerance`` of it and two standard errors. The steady part starts on the
    level, with at most 5 % of it off the level. An earlier start is taken if nothing from it on is off the level, or if
    at most 30 % are and the mean from it on differs by at most 1 %: passing disturbances are not warm-up. Where no such
    start leaves a sixth of the run, it is never steady. After Traini, Cortellessa, Di Pompeo and Tucci 2023, Towards
    effective assessment of steady state performance in Java software, Empirical Software Engineering 28, 13, with
    another detection of changes and another tolerance of disturbances.

    Raises:
        InputError: for a tolerance that is not between 0 and 1.
    """
    if not 0.0 < tolerance < 1.0:
        raise InputError(f"the tolerance is between 0 and 100 %, not {tolerance:g}", fix="write 5%")
    if len(values) < FEWEST:
        few = counted(len(values), "observation")
        return Steadiness(State.SHORT, None, None, None, None, f"{few}: at least {FEWEST} are needed")
    found = segments(values, blocks)
    off = _off(found, tolerance)
    first = _first(found, off)
    if first is None:
        return Steadiness(State.NEVER, None, None, None, None, _restless(found, off, tolerance))
    start = found.start(first)
    if _drifts(found, start, tolerance):
        return Steadiness(State.NEVER, None, None, None, None, "it still drifts")
    level, rest = found.mean(start, len(values)), len(values) - start
    error = found.deviation / rest**0.5 / abs(level) if level else 0.0
    disturbed = float(found.lengths[first:][off[first:]].sum() / rest)
    return Steadiness(State.STEADY, start, level, error, disturbed, "")


def _off(found: Segments, tolerance: float) -> Flags:
    """Which stretches are off the median level of the last sixth, shape (m,)."""
    size = int(found.edges[-1])
    late = np.maximum(found.edges[1:] - np.maximum(found.edges[:-1], round(size * (1.0 - LAST))), 0)
    order = np.argsort(found.levels)
    reach = np.cumsum(late[order])
    level = float(found.levels[order][np.searchsorted(reach, reach[-1] / 2.0)])
    allowed = tolerance * abs(level) + _ERRORS * found.deviation / np.sqrt(found.lengths)
    return np.asarray(np.abs(found.levels - level) > allowed)


def _first(found: Segments, off: Flags) -> int | None:
    """The stretch with which the steady part begins; None without one."""
    size = int(found.edges[-1])
    starts = found.edges[:-1]
    parts = np.cumsum((found.lengths * off)[::-1])[::-1] / (size - starts)
    first = clean = None
    for place in reversed(range(len(starts))):
        if off[place] or size - starts[place] < LAST * size:
            continue
        if first is None or clean is None:
            if parts[place] <= DISTURBED:
                first = clean = place
            continue
        means = (found.mean(int(starts[one]), size) for one in (place, clean))
        if parts[place] == 0.0:
            first = clean = place
        elif parts[place] <= EARLIER_DISTURBED and _same(*means):
            first = place
    return first


def _drifts(found: Segments, start: int, tolerance: float) -> bool:
    """Whether the steady part drifts: less than half of the run, with halves that differ by half of the tolerance.

    A ramp also stays within the tolerance for a while.
    """
    size = int(found.edges[-1])
    if 2 * start <= size:
        return False
    middle = (start + size) // 2
    before, after = found.mean(start, middle), found.mean(middle, size)
    error = 2.0 * found.deviation / math.sqrt(size - start)
    return abs(after - before) > max(tolerance / 2.0 * abs(after), _DRIFT_ERRORS * error)


def _same(mean: float, other: float) -> bool:
    return abs(mean - other) <= SAME_MEAN * abs(other)


def _restless(found: Segments, off: Flags, tolerance: float) -> str:
    changes = int(np.count_nonzero(found.edges[1:-1] >= found.edges[-1] * (1.0 - LAST)))
    part = f"{100 * tolerance:g} %"
    if changes:
        return f"its level still changes by more than {part} within its last sixth"
    return f"too much of it is off its last level by more than {part}: {int(np.count_nonzero(off))} stretches"


def leading(marks: Sequence[bool]) -> int:
    """The number of leading observations that the benchmark itself marked as warm-up.

    Raises:
        InputError: where a warm-up observation follows a measured one.

    >>> leading([True, True, False])
    2
    """
    marked = next((i for i, mark in enumerate(marks) if not mark), len(marks))
    if any(marks[marked:]):
        raise InputError("warm-up follows measured observations", fix="print warm-up first")
    return marked


def warmup(observations: int, marked: int, fixed: int) -> int:
    """The number of a run's observations that are warm-up: the first ``fixed``, or more if more are ``marked``.

    Raises:
        InputError: where no observation is left.

    >>> warmup(observations=10, marked=2, fixed=3)
    3
    """
    count = max(marked, fixed)
    if count < observations:
        return count
    had = "1 observation" if observations == 1 else f"{observations} observations"
    raise InputError(
        f"{had} and {count} of warm-up: none is left", fix="let a run print more observations or lower `warmup`"
    )


MOST_RUNS = 10_000


class Costs(Struct, frozen=True):
    """Costs in seconds: of one more ``observation`` in a run, and of one more ``run`` with its warm-up, without these.

    ``basis`` says how they were obtained.

    Raises:
        InputError: where an observation costs nothing, or a run less.
    """

    observation: float
    run: float
    basis: str

    def __post_init__(self) -> None:
        if not (0.0 < self.observation < math.inf and 0.0 <= self.run < math.inf):
            raise InputError(
                f"an observation costs more than 0 s and a run no less, not {self.observation:g} and {self.run:g} s"
            )

    def of(self, runs: int, observations: int) -> float:
        """The cost of runs with that number of observations each, in seconds."""
        return runs * (self.run + observations * self.observation)


class Aim(Struct, frozen=True):
    """The relative change to be found, with what power, by a test at what level.

    Raises:
        InputError: for a value that is not between 0 and 1.
    """

    change: float = 0.05
    power: float = 0.8
    alpha: float = 0.01

    def __post_init__(self) -> None:
        for name in ("change", "power", "alpha"):
            value = getattr(self, name)
            if not 0.0 < value < 1.0:
                raise InputError(f"the {name} is between 0 and 1, not {value:g}")


class Allocation(Struct, frozen=True):
    """The number of runs of each side and of observations in each; ``seconds`` of both sides, None where unknown.

    ``runs`` is None where 10,000 do not find the change, or nothing is known of the variance between runs.
    """

    observations: int
    runs: int | None
    seconds: float | None


def best_observations(variance: NestedVariance, costs: Costs) -> int | None:
    """The number of observations per run with which a given precision takes the least time.

    ceil(sqrt(c2 / c1 T1^2 / T2^2)), at least 1 (Kalibera and Jones 2013, Rigorous
    benchmarking in reasonable time, ISMM, 63-74). None where the
    variance between runs is not known or not shown to be above zero: then one more observation is always cheaper than
    one more run.
    """
    if variance.between is None or variance.between <= 0.0:
        return None
    ratio = costs.run / costs.observation * variance.independent / variance.between
    return max(1, math.ceil(math.sqrt(ratio)))


def runs_for(relative: float, aim: Aim) -> int | None:
    """The runs of each side with which Student's test on run means finds the change; at least 2.

    ``relative`` is the variance of run means over the square of their mean: on the logarithmic scale, where the test
    decides, it is theirs.
    """

    def finds(runs: int) -> bool:
        planned = Difference(0.0, relative, 2.0 * runs - 2.0, (runs, runs))
        return planned.detectable(aim.alpha, aim.power) <= math.log1p(aim.change)

    if not finds(MOST_RUNS):
        return None
    least, most = 2, MOST_RUNS
    while least < most:
        middle = (least + most) // 2
        least, most = (least, middle) if finds(middle) else (middle + 1, most)
    return most


def allocation(observations: int, relative: float | None, aim: Aim, costs: Costs | None) -> Allocation:
    """The allocation for that number of observations per run; ``relative`` as in ``runs_for``, None if unknown."""
    runs = None if relative is None else runs_for(relative, aim)
    seconds = None if runs is None or costs is None else 2.0 * costs.of(runs, observations)
    return Allocation(observations, runs, seconds)


def costs_of(sample: Sample, observation: float | None = None, run: float | None = None) -> Costs | None:
    """The costs in seconds, given or estimated from the sample; None where an observation's cannot be estimated.

    An observation of a time lasts as long as its value. One of anything else, or of overlapping times (as of concurrent
    clients), lasts as long as the runs' wall time divided by their observations. A run costs its wall time beyond its
    observations after warm-up; where that was not recorded, its warm-up, without its start.
    """
    bases = []
    if observation is None:
        observation, basis = _observation(sample)
        if observation is None:
            return None
        bases.append(basis)
    if run is None:
        run, basis = _run(sample, observation)
        bases.append(basis)
    return Costs(observation, run, "; ".join(bases) or "given")


def _observation(sample: Sample) -> tuple[float | None, str]:
    unit = parse_unit(sample.metric.unit)
    part = _part_of_wall_time(sample)
    if unit.dimension == "time":
        whole, steady = (
            fmean(float(np.mean(values)) for values in of) * unit.scale
            for of in ([run.observations.values for run in sample.runs], sample.steady)
        )
        if steady > 0.0 and (part is None or whole <= part):
            return steady, "an observation lasts as long as it says"
    return part, "an observation costs its part of the wall time"


def _part_of_wall_time(sample: Sample) -> float | None:
    """The wall time for each observation; None where it was not recorded."""
    walls = [(run.usage.wall_time, run.observations.values.size) for run in sample.runs]
    if any(wall is None or wall <= 0.0 for wall, _ in walls):
        return None
    return fmean((wall or 0.0) / size for wall, size in walls)


def _run(sample: Sample, observation: float) -> tuple[float, str]:
    walls = [run.usage.wall_time for run in sample.runs]
    if None in walls:
        warm = fmean(run.observations.warmup for run in sample.runs) * observation
        return warm, "a run costs its warm-up; its start is not recorded"
    rest = fmean((wall or 0.0) - observation * run.steady.size for wall, run in zip(walls, sample.runs, strict=True))
    if rest < 0.0:
        return 0.0, "the wall time is less than what the observations say: a run itself is taken to cost nothing"
    return rest, "a run costs its wall time beyond its observations"


_DECIMALS = 100.0
_ROUNDING = 1e-9


_FINEST = 1e-9


class QuantilePrecision(Struct, frozen=True):
    """A precision: with that confidence, the estimate is a true quantile of a probability within +- ``precision``.

    Raises:
        InputError: for a value that is not between 0 and 1.
    """

    quantile: float = 0.5
    precision: float = 0.005
    confidence: float = 0.95

    def __post_init__(self) -> None:
        for name in ("quantile", "precision", "confidence"):
            value = getattr(self, name)
            if not 0.0 < value < 1.0:
                raise InputError(f"the {name} is between 0 and 1, not {value:g}", fix="write 0.95, or 95%")
        if not _FINEST <= self.precision < min(self.quantile, 1.0 - self.quantile):
            raise InputError(
                f"a precision of {self.precision:g} says nothing of the {self.quantile:g} quantile",
                fix=f"give a --precision below {min(self.quantile, 1.0 - self.quantile):g}, and not below {_FINEST:g}",
            )

    @property
    def observations(self) -> int:
        """The number of independent observations that are needed.

        n_p >= z^2 p (1 - p) / eps'^2 (Chen and Kelton 1999, Simulation-based estimation of quantiles, Winter Simulation
        Conference, 428-434; Kalibera paper, section 3.2), with z rounded up to two decimals as in tables, so that
        there are never fewer than the exact one would give.

        >>> QuantilePrecision().observations
        38416
        """
        number = self._z**2 * self.quantile * (1.0 - self.quantile) / self.precision**2
        return max(2, math.ceil(number * (1.0 - _ROUNDING)))

    def reached(self, independent: float) -> float:
        """The precision of that number of independent observations."""
        return self._z * math.sqrt(self.quantile * (1.0 - self.quantile) / independent)

    @property
    def _z(self) -> float:
        return math.ceil(normal_quantile(0.5 + self.confidence / 2.0) * _DECIMALS - _ROUNDING) / _DECIMALS


class Sufficiency(Struct, frozen=True):
    """The observations of a run, the number of independent ones they are worth, and the precision of a quantile.

    ``needed`` is the number of observations that would be enough, correlated as in this run.
    """

    observations: int
    effective: float
    precision: float
    needed: int
    enough: bool


def sufficiency(values: FloatArray, wanted: QuantilePrecision) -> Sufficiency:
    """Whether a run's observations after warm-up, shape (n,), are enough.

    Independence concerns whether an observation is below the quantile: the number of independent observations
    is estimated from the autocorrelation of that indicator.
    """
    below = (values <= np.quantile(values, wanted.quantile)).astype(np.float64)
    effective = effective_size(below)
    needed = math.ceil(wanted.observations * len(values) / effective)
    enough = effective >= wanted.observations
    return Sufficiency(len(values), effective, wanted.reached(effective), needed, enough)


class SteadyRun(Struct, frozen=True):
    """One run of a sample, counted from 0, and since when it is steady, counted from its first observation."""

    sample: Sample
    run: int
    found: Steadiness


class SufficientRun(Struct, frozen=True):
    """One run of a sample, counted from 0, and what its observations after warm-up give for a quantile."""

    sample: Sample
    run: int
    found: Sufficiency


class RunPlan(Struct, frozen=True):
    """The recommended runs of one sample.

    ``variance`` is None where that within runs is unknown; ``now`` has the present number of observations in a run,
    ``best`` the cheapest number, None where unknown; ``unknown`` says what is missing, and why.
    """

    sample: Sample
    variance: NestedVariance | None
    costs: Costs | None
    now: Allocation
    best: Allocation | None
    unknown: tuple[str, ...]


def steady_runs(samples: Iterable[Sample], tolerance: float = TOLERANCE) -> Iterator[SteadyRun]:
    """The steadiness of each run, judged from all of its observations, marked warm-up included."""
    for sample in samples:
        for number, run in enumerate(sample.runs):
            yield SteadyRun(sample, number, steadiness(run.observations.values, tolerance))


def sufficient_runs(samples: Iterable[Sample], wanted: QuantilePrecision) -> Iterator[SufficientRun]:
    """Whether each run's observations after warm-up are enough for a quantile."""
    for sample in samples:
        for number, values in enumerate(sample.steady):
            yield SufficientRun(sample, number, sufficiency(values, wanted))


def run_plan(sample: Sample, aim: Aim, observation_cost: float | None = None, run_cost: float | None = None) -> RunPlan:
    """The numbers of runs and of observations in them that find a change; costs are in seconds where given."""
    costs = costs_of(sample, observation_cost, run_cost)
    unknown = [] if costs else ["what an observation costs: neither is the metric a time nor was wall time recorded"]
    now = _now(sample, aim, costs)
    try:
        variance = nested_variance(sample.steady)
    except InputError as error:
        return RunPlan(sample, None, costs, now, None, (*unknown, error.message))
    if variance.between is None:
        unknown.append("the variance between runs: there is one run")
    elif variance.between <= 0.0:
        unknown.append("the variance between runs is not shown to be above zero: longer runs cost less than more runs")
    number = best_observations(variance, costs) if costs else None
    best = allocation(number, variance.relative(number), aim, costs) if number else None
    return RunPlan(sample, variance, costs, now, best, tuple(unknown))


def _now(sample: Sample, aim: Aim, costs: Costs | None) -> Allocation:
    """The allocation with the present number of observations, from the observed variance of run means."""
    means = np.array([values.mean() for values in sample.steady])
    known = len(means) > 1 and means.mean() != 0.0
    relative = float(np.var(means, ddof=1) / means.mean() ** 2) if known else None
    return allocation(max(1, round(harmonic_mean(map(len, sample.steady)))), relative, aim, costs)
