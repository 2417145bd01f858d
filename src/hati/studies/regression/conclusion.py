"""A history of measured values, one for each position, and the conclusion on it, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import combinations, pairwise

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from hati.core import Assignment, Better, FloatArray, InputError, Metric
from hati.core.wording import counted
from hati.stats import FEWEST_VALUES, Bridge, Dependence, group_variances, pooled_variance
from hati.studies.comparison import StatisticChoice

NEGLIGIBLE = 0.0005
"""The fraction below which a change is 0.0 % in tables and is too small to matter, however certain."""
FEWEST_POSITIONS = 2
"""The fewest positions if each has several runs."""


class SeriesBridge(Struct, frozen=True):
    """A position, by its index, that two machines measured."""

    index: int
    machines: tuple[str, str]
    bridge: Bridge

    @property
    def reversed(self) -> SeriesBridge:
        """The same bridge from the second machine to the first."""
        return SeriesBridge(self.index, (self.machines[1], self.machines[0]), self.bridge.reversed)


class Series(Struct, frozen=True, eq=False):
    """The values of a metric in the order of their positions (revisions, builds, days).

    ``name`` is the benchmark's, empty if there is only one; ``positions`` and ``values`` have length n, and so have
    ``machines`` (the machine, or set of machines, of each value, counted from 0) and ``runs`` (the number of its runs).
    ``errors`` are the standard errors of the values by their runs, in the metric's unit, from ``freedom`` degrees of
    freedom; they are empty and 0 if no position has several runs. ``dependence`` is the correlation of the noise:
    estimated, unless the order of measuring determines it. If it is independent and there are errors, the runs of
    different positions were interleaved, and nothing else varies between positions. ``stratum`` holds the options'
    settings of the values, empty if they are of all settings; ``benchmark`` is the benchmark's name if it is one of
    several. ``choice`` is the statistic of a run, None if runs have a single value; ``tails`` are given if it is not
    the mean and was not requested. ``machine_names`` holds the names for each number in ``machines``, several for a
    set, and is empty if they are unknown; ``bridges`` are the positions that two machines measured.

    Raises:
        InputError: if there are too few positions to find a change.
    """

    name: str
    metric: Metric
    positions: tuple[str, ...]
    values: FloatArray
    machines: NDArray[np.intp]
    runs: NDArray[np.intp]
    dependence: Dependence = Dependence.ESTIMATED
    errors: FloatArray = field(default_factory=lambda: np.zeros(0))
    freedom: float = 0.0
    stratum: Assignment = field(default_factory=Assignment)
    benchmark: str = ""
    choice: StatisticChoice | None = None
    tails: Tails | None = None
    machine_names: tuple[tuple[str, ...], ...] = ()
    bridges: tuple[SeriesBridge, ...] = ()

    def __post_init__(self) -> None:
        if not len(self.positions) == len(self.values) == len(self.machines) == len(self.runs):
            raise ValueError("positions, values, machines and runs differ in length")
        if len(self.errors) != (len(self) if self.freedom > 0 else 0):
            raise ValueError("errors are not one for each position")
        fewest = FEWEST_POSITIONS if self.freedom else FEWEST_VALUES
        if len(self) < fewest:
            series = f"the series {self.name!r}" if self.name else "the series"
            has = counted(len(self), "value")
            fix = (
                "a change can be found from two positions on"
                if self.freedom
                else f"a change can be found from {FEWEST_VALUES} values on, one for each position, or from two "
                "positions of several runs each"
            )
            raise InputError(f"{series} has {has}", fix=fix)

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def number_of_machines(self) -> int:
        """The number of machines; a set whose machines are not known counts as one."""
        return len({name for own in self.machine_names for name in own}) or len(np.unique(self.machines))


class Tails(Struct, frozen=True, eq=False):
    """The same runs by their mean, and by the mean relative to the statistic of a run."""

    mean: Series
    relative: Series


def series_bridges(positions: Sequence[Mapping[str, FloatArray]]) -> tuple[SeriesBridge, ...]:
    """The bridges between machines, from each position's run values by machine; values must be above zero."""
    return tuple(
        SeriesBridge(index, (first, second), Bridge.of(own[first], own[second]))
        for index, own in enumerate(positions)
        for first, second in combinations(sorted(filter(None, own)), 2)
        if min(float(own[first].min()), float(own[second].min())) > 0.0
    )


_MOST_TOGETHER = 0.1


def run_errors(runs: Sequence[Sequence[Sequence[float]]], values: FloatArray) -> tuple[FloatArray, float]:
    """The standard errors of positions' values, shape (n,), and their degrees of freedom; none without several runs.

    The value of a position is the mean of the means of its groups (machines). The variance of a run is pooled over all
    groups of all positions, on the logarithmic scale if all values are above zero; groups whose runs vary much more
    have a variance of their own.

    Args:
        runs: the values of the runs of each position and group.
        values: of each position, in the metric's unit, shape (n,).
    """
    groups = [np.asarray(group, dtype=np.float64) for position in runs for group in position]
    positive = min(float(group.min()) for group in groups) > 0.0
    groups = [np.log(group) for group in groups] if positive else groups
    found = pooled_variance(groups)
    if not found.freedom:
        return np.zeros(0), 0.0
    of_means = group_variances(groups, found) / np.array(list(map(len, groups)))
    counts = np.array(list(map(len, runs)))
    errors = np.sqrt(np.bincount(np.repeat(np.arange(len(runs)), counts), of_means)) / counts
    return np.asarray(errors * values if positive else errors), found.freedom


def interleaved(positions: Sequence[object]) -> bool:
    """Whether the runs of positions, in this order, were interleaved: hardly any follows one of its own position.

    At most one run in ten may follow another of its position, or twice as many as in a random order.
    """
    if len(set(positions)) == len(positions) or len(set(positions)) < 2:
        return False
    follows = sum(one == other for one, other in pairwise(positions))
    counts = np.array([positions.count(position) for position in dict.fromkeys(positions)])
    by_chance = float(np.sum(counts * (counts - 1))) / len(positions)
    return follows <= max(_MOST_TOGETHER * len(positions), 2.0 * by_chance) and _spread(positions)


def _spread(positions: Sequence[object]) -> bool:
    """Whether nine of ten positions with several runs are in both halves of the order."""
    middle = len(positions) // 2
    first, last = set(positions[:middle]), set(positions[middle:])
    several = {position for position in set(positions) if positions.count(position) > 1}
    return len(several & first & last) >= (1.0 - _MOST_TOGETHER) * len(several)


Interval = tuple[float, float]


class Direction(StrEnum):
    """The meaning of a change for users."""

    SLOWER = "slower"
    FASTER = "faster"
    NOT_SHOWN = "not shown"


class LevelChange(Struct, frozen=True):
    """A change of level: the position with the first value on the new level, and its neighbours.

    ``interval`` is that of ``change``, after less before, in the metric's unit; ``relative`` and its interval are
    fractions of ``before``, None if that is 0. ``indexes`` is the interval of ``index``. All intervals are of 95 %.
    Changes of the tail are of means relative to the statistic of a run, without a unit. At a handover between machines,
    ``bridges`` is the number of bridges, and ``before`` is the old machine's level times ``machine_ratio``.
    """

    index: int
    position: str
    previous: str
    indexes: tuple[int, int]
    positions: tuple[str, str]
    before: float
    after: float
    interval: Interval
    p_value: float
    direction: Direction
    of_tail: bool = False
    bridges: int = 0
    machine_ratio: float = 1.0

    @property
    def change(self) -> float:
        """After less before."""
        return self.after - self.before

    @property
    def relative(self) -> float | None:
        """The change as a fraction of the level before."""
        return self.change / abs(self.before) if self.before else None

    @property
    def negligible(self) -> bool:
        """Whether the change is too small to matter."""
        return self.relative is not None and abs(self.relative) < NEGLIGIBLE

    @property
    def relative_interval(self) -> Interval | None:
        """The interval as fractions of the level before."""
        return (self.interval[0] / abs(self.before), self.interval[1] / abs(self.before)) if self.before else None


class Handover(Struct, frozen=True):
    """A change of all machines after ``previous`` at ``position``, bridged by the positions that both measured.

    ``machines`` are the old and the new one, ``bridges`` the positions that both measured. ``ratio`` is the new
    machine's values over the old one's, with its interval; ``change`` is the fraction by which the level changes beyond
    that, with its own interval. ``p_value`` is None if the change is not decided; with a single bridge, the interval
    does not include the variation of the ratio between positions. Intervals are of 95 %.
    """

    index: int
    position: str
    previous: str
    machines: tuple[str, str]
    bridges: tuple[str, ...] = ()
    ratio: float | None = None
    ratio_interval: Interval | None = None
    change: float | None = None
    interval: Interval | None = None
    p_value: float | None = None
    direction: Direction = Direction.NOT_SHOWN


class Trend(Struct, frozen=True):
    """The drift between the changes of level, from the baseline to the end.

    ``slope`` is in the metric's unit per position, ``change`` is the slope times the positions since the baseline, and
    ``level`` is the baseline's level; the intervals are of 95 %.
    """

    baseline: str
    baseline_index: int
    positions: int
    level: float
    slope: float
    interval: Interval
    p_value: float
    direction: Direction

    @property
    def change(self) -> float:
        """The gradual change since the baseline."""
        return self.slope * self.positions

    @property
    def negligible(self) -> bool:
        """Whether the gradual change is too small to matter."""
        return self.relative is not None and abs(self.relative) < NEGLIGIBLE

    @property
    def change_interval(self) -> Interval:
        """The interval of the gradual change since the baseline."""
        return self.interval[0] * self.positions, self.interval[1] * self.positions

    @property
    def relative(self) -> float | None:
        """The gradual change as a fraction of the baseline's level."""
        return self.change / abs(self.level) if self.level else None

    @property
    def relative_interval(self) -> Interval | None:
        """The interval of the gradual change as a fraction of the baseline's level."""
        low, high = self.change_interval
        return (low / abs(self.level), high / abs(self.level)) if self.level else None


class DetectableStep(Struct, frozen=True):
    """The smallest step in the middle that would have been found with 80 % power if nothing else had changed.

    ``step`` is the rise in the metric's unit, ``fall`` the decrease, None where no decrease of the ``level`` is found.
    """

    step: float
    fall: float | None
    level: float

    @property
    def relative(self) -> float | None:
        """The rise as a fraction of the level, None if that is 0."""
        return self.step / self.level if self.level else None

    @property
    def relative_fall(self) -> float | None:
        """The decrease as a fraction of the level, None if that is 0 or no decrease is found."""
        return self.fall / self.level if self.fall is not None and self.level else None


class Recurring(Struct, frozen=True):
    """Two levels between which a series alternates; one was left and ``regained`` that number of times."""

    low: float
    high: float
    regained: int


class HistoryConclusion(Struct, frozen=True):
    """The changes and the drift of one series. ``alpha`` is the level at which this series was tested.

    ``assumptions`` names quantities that the series is too short to estimate; ``recurring`` holds alternating levels,
    which are not a change; ``stratum`` holds the options' settings of the series, empty if it is of all settings;
    ``benchmark`` and ``choice`` are as in the series; ``constant`` is whether all values are equal.
    """

    name: str
    metric: Metric
    positions: int
    runs: int
    machines: int
    first: str
    last: str
    alpha: float
    change_points: tuple[LevelChange, ...]
    trend: Trend | None
    detectable: DetectableStep | None
    autocorrelation: float
    outliers: tuple[str, ...]
    warnings: tuple[str, ...]
    assumptions: tuple[str, ...] = ()
    recurring: Recurring | None = None
    stratum: Assignment = field(default_factory=Assignment)
    benchmark: str = ""
    choice: StatisticChoice | None = None
    handovers: tuple[Handover, ...] = ()
    constant: bool = False


def direction_of(difference: float, metric: Metric) -> Direction:
    """The direction of a nonzero difference."""
    worse = difference > 0.0 if metric.better is Better.LOWER else difference < 0.0
    return Direction.SLOWER if worse else Direction.FASTER
