"""What a history concludes, as plain values."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field

from hati.core import Assignment, Better, Metric
from hati.studies.comparison import StatisticChoice

Interval = tuple[float, float]


class Direction(StrEnum):
    """What a change means for those who wait."""

    SLOWER = "slower"
    FASTER = "faster"
    NOT_SHOWN = "not shown"


class LevelChange(Struct, frozen=True):
    """A change of level: the position whose value is the first of the new one, and its neighbours.

    ``interval`` is of ``change``, after less before, in the metric's unit; ``relative`` and its interval are fractions
    of ``before``, None where that is 0. ``indexes`` is the interval of ``index``. All intervals are of 95 %. Those of
    the tail are of means relative to the statistic that stands for a run, without a unit. At a handover between
    machines it is joined by that many ``bridges``, and ``before`` is the old machine's level times ``machine_ratio``.
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
    """A change of all machines after ``previous`` at ``position``, and what the positions that both measured say.

    ``machines`` are the old and the new one, ``bridges`` the positions that both measured. ``ratio`` is what the new
    one measures over what the old one does, with its interval, ``change`` the fraction by which the level changes
    beyond that, with its own. ``p_value`` is None where the change is not decided; of a single bridge the interval does
    not include how the ratio varies between positions. Intervals are of 95 %.
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

    ``slope`` is in the metric's unit for one position, ``change`` that times the positions since the baseline, whose
    level is ``level``; the intervals are of 95 %.
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
        """Its interval."""
        low, high = self.change_interval
        return (low / abs(self.level), high / abs(self.level)) if self.level else None


class DetectableStep(Struct, frozen=True):
    """The smallest step in the middle that would have been found with 80 % power, had nothing else changed."""

    step: float
    relative: float | None


class Recurring(Struct, frozen=True):
    """Two levels between which a series goes to and fro; one was left and ``regained`` so often."""

    low: float
    high: float
    regained: int


class HistoryConclusion(Struct, frozen=True):
    """Where one series changed, and whether it drifts. ``alpha`` is the level that this series was tested at.

    ``assumptions`` names quantities that the series is too short to estimate; ``recurring`` has levels that are no
    change; ``stratum`` has the options' settings that the series is of, empty where it is of all; ``benchmark`` and
    ``choice`` are as in the series.
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
    """What a difference other than none means."""
    worse = difference > 0.0 if metric.better is Better.LOWER else difference < 0.0
    return Direction.SLOWER if worse else Direction.FASTER
