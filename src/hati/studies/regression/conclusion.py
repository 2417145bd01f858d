"""The conclusion on a history, as plain values."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field

from hati.core import Assignment, Better, Metric
from hati.studies.comparison import StatisticChoice

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
    """The smallest step in the middle that would have been found with 80 % power if nothing else had changed."""

    step: float
    relative: float | None


class Recurring(Struct, frozen=True):
    """Two levels between which a series alternates; one was left and ``regained`` that number of times."""

    low: float
    high: float
    regained: int


class HistoryConclusion(Struct, frozen=True):
    """The changes and the drift of one series. ``alpha`` is the level at which this series was tested.

    ``assumptions`` names quantities that the series is too short to estimate; ``recurring`` holds alternating levels,
    which are not a change; ``stratum`` holds the options' settings of the series, empty if it is of all settings;
    ``benchmark`` and ``choice`` are as in the series.
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


def direction_of(difference: float, metric: Metric) -> Direction:
    """The direction of a nonzero difference."""
    worse = difference > 0.0 if metric.better is Better.LOWER else difference < 0.0
    return Direction.SLOWER if worse else Direction.FASTER
