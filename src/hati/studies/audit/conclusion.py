"""What an audit says."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from hati.core import Sample
from hati.knowledge import Entry
from hati.stats import Proportion
from hati.studies.comparison import ChangeVerdict, Statistic, StatisticChoice


class Directions(Struct, frozen=True):
    """How many alarms say slower and how many faster, and the p-value of both being as likely."""

    slower: int
    faster: int
    p_value: float


class ClusterAlarms(Struct, frozen=True):
    """Of the ``benchmarks`` whose observations form clusters the share of comparisons with a changed cluster.

    ``misplaced`` is the share in which, all of one half being smaller by the margin, a cluster is said to have become
    larger, or its share to have changed.
    """

    alarms: Proportion
    misplaced: Proportion
    benchmarks: tuple[str, ...]


class InTime(Struct, frozen=True):
    """The earlier halves of the runs against the later ones, one comparison for each benchmark.

    ``started`` says whether the order is by the runs' starts, else by position. ``alarms`` are the comparisons';
    ``direction`` counts the benchmarks whose later half is worse and better, significant or not. ``p_value``
    says how often random halves differ at least as much in all, if the order of runs does not matter.
    """

    started: bool
    alarms: Proportion
    slower: int
    faster: int
    direction: Directions
    p_value: float


class StatisticSensitivity(Struct, frozen=True):
    """The smallest change, a fraction, that is found in 80 % of all cases by a statistic; None where none is."""

    statistic: Statistic
    detectable: float | None


class RecommendedStatistic(Struct, frozen=True):
    """The statistic of a metric that varies least between the audited runs, for later ones."""

    metric: str
    choice: StatisticChoice


class AuditedBenchmark(Struct, frozen=True):
    """One sample: the results of its splits into halves of ``runs`` runs, and its detectable change.

    ``false_same`` counts the splits that are called the same where one half is worse by the margin; ``detectable`` is
    the smallest change, a fraction, that is found in 80 % of them, None where none is. ``later`` is the verdict on the
    later half of the runs, with its ``later_ratio``.
    """

    sample: Sample
    runs: int
    slower: int
    faster: int
    same: int
    false_same: int
    detectable: float | None
    later: ChangeVerdict
    later_ratio: float | None


class Audit(Struct, frozen=True):
    """The measured error rates and the sensitivity of a comparison at ``alpha`` with a ``margin``.

    ``false_alarms`` is the share of all comparisons that end in an alarm, ``any_alarm`` that of splits in which any
    benchmark does, ``uncorrected`` that of p-values up to alpha; all of nothing having changed. ``same`` and
    ``false_same`` are the shares that are called the same, with no change and with one of the margin. ``clusters`` is
    None where no observations form any.
    ``detectable`` is the smallest change of one benchmark alone that is found in 80 % of all cases; ``by_statistic``
    the same for each statistic alone. ``known`` are the statistics that were chosen before and compared, by metric.
    """

    alpha: float
    margin: float
    statistic: str
    splits: int
    seed: int
    false_alarms: Proportion
    any_alarm: Proportion
    uncorrected: Proportion
    same: Proportion
    false_same: Proportion
    directions: Directions
    clusters: ClusterAlarms | None
    detectable: float | None
    by_statistic: tuple[StatisticSensitivity, ...]
    recommended: tuple[RecommendedStatistic, ...]
    in_time: InTime
    rows: tuple[AuditedBenchmark, ...]
    left_out: tuple[Sample, ...]
    warnings: tuple[str, ...] = ()
    known: Mapping[str, Entry[StatisticChoice]] = field(default_factory=dict)

    @property
    def comparisons(self) -> int:
        """How many there were of random halves."""
        return self.splits * len(self.rows)
