"""The conclusion of a comparison, as plain values."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field

from hati.core import Configuration, ExitStatus, Metric, Workload, requests
from hati.stats import TwoSampleTest
from hati.studies.comparison.statistic import StatisticChoice

_ONE_SIDED = 0.5


class ChangeVerdict(StrEnum):
    """A benchmark's second sample relative to its first; slower is worse, whatever the metric."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "same"
    INCONCLUSIVE = "inconclusive"


def parse_failing(text: str) -> frozenset[ChangeVerdict]:
    """The verdicts that end with a status above 0.

    Raises:
        InputError: for a text that is not a verdict that can fail.
    """
    able = {verdict.value: verdict for verdict in ChangeVerdict if verdict is not ChangeVerdict.SAME}
    return requests.parse_failing(text, able)


class IntervalMethod(StrEnum):
    """The method for the interval of a ratio."""

    T = "t"
    BOOTSTRAP = "bootstrap"


class WarmUp(Struct, frozen=True):
    """The detected warm-up of a sample's runs, beyond the marked one.

    The first observations of ``found`` runs, ``left_out`` in all, do not count; ``unsteady`` holds the reasons why
    other runs are not steady; all their observations count.
    """

    found: int = field(default=0, name="runs")
    left_out: int = field(default=0, name="observations")
    unsteady: tuple[str, ...] = ()


NO_WARM_UP = WarmUp()


class Side(Struct, frozen=True):
    """One sample: the mean of its runs, in the metric's unit, and the half-width of its interval as a fraction of it.

    This ``spread`` is None if the noise is unknown; ``disturbed`` is the number of disturbed runs; all of them count.
    ``seconds`` is the total time of the runs, None if unknown.
    """

    mean: float
    spread: float | None
    runs: int
    revision: str
    machine: str
    disturbed: int = 0
    warm_up: WarmUp = NO_WARM_UP
    seconds: float | None = None


class Change(Struct, frozen=True):
    """The difference of the second of two samples from the first.

    ``ratio`` is the second's value over the first's, with its ``interval``; ``p_value`` is that of no difference, and
    ``q_value`` the same corrected for all that were compared; ``detectable`` is the smallest change, a fraction, that
    would have been found with 80 % power, and ``runs_needed`` the number of runs of each sample that would decide. They
    are None if the noise is unknown, or no number of runs up to 10,000 would do; the ratio is None if the first value
    is zero, or there is none. If the change is ``of_tail``, ratio and interval are those of the mean relative to the
    statistic, which itself did not change significantly, or changed in the opposite direction.
    """

    verdict: ChangeVerdict
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    p_value: float | None = None
    q_value: float | None = None
    detectable: float | None = None
    runs_needed: int | None = None
    of_tail: bool = False

    @property
    def changed(self) -> bool:
        """Whether it is slower or faster."""
        return self.verdict in {ChangeVerdict.SLOWER, ChangeVerdict.FASTER}


class ClusterSide(Struct, frozen=True):
    """A cluster in one sample: its ``centre``, its mean ``share`` of a run's observations, and its number of ``runs``.

    The centre is the median of runs' medians, in the metric's unit, None if no run has observations in the cluster.
    """

    centre: float | None
    share: float
    runs: int


class ClusterChange(Struct, frozen=True):
    """One cluster of observations in both samples: the changes of its centre and of its share.

    ``share_p_value`` is that of no change of the share, ``share_q_value`` the same corrected, None if the noise is
    unknown; ``share_moved`` is true if the change is significant and not shown to be within the margin.
    """

    change: Change
    before: ClusterSide
    after: ClusterSide
    share_p_value: float | None
    share_q_value: float | None
    share_moved: bool

    @property
    def changed(self) -> bool:
        """Whether the centre or the share changed."""
        return self.change.changed or self.share_moved


class WithinProcess(Struct, frozen=True):
    """The comparison of two single processes by their observations; it does not hold for other processes.

    Consecutive ``observations`` of each side are gathered in ``batches``, and each batch counts as a run does
    elsewhere. ``decides`` is true if its verdict is the comparison's.
    """

    change: Change
    observations: tuple[int, int]
    batches: tuple[int, int]
    decides: bool = False


class Joining(Struct, frozen=True):
    """The bridging of two samples of different ``machines`` and revisions, by ``revisions`` that both measured.

    ``ratio`` is the second machine's values over the first's, removed from the change, with its ``interval``; both are
    None without bridges, as is the interval of a single bridge with too few runs. ``bridges_needed`` is the number of
    bridges that would find a change of the estimated size with 80 % power, None if none is needed or it is unknown.
    """

    machines: tuple[str, str]
    revisions: tuple[str, ...] = ()
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    bridges_needed: int | None = None


class Comparison(Struct, frozen=True):
    """The comparison of one benchmark's two samples, by a statistic of runs and, if there are several, by ``clusters``.

    ``configuration`` holds the settings that both samples have; ``tests`` are classical tests of the runs' medians,
    if requested; ``choice`` is the statistic of a run with the reason for it. ``within_process`` is the estimate from
    observations if each side is one process and the variance between runs is unknown. ``joining`` is given if machine
    and revision differ together.
    """

    benchmark: str
    configuration: Configuration
    workload: Workload
    metric: Metric
    change: Change
    before: Side
    after: Side
    clusters: tuple[ClusterChange, ...] = ()
    tests: tuple[TwoSampleTest, ...] = ()
    choice: StatisticChoice | None = None
    within_process: WithinProcess | None = None
    joining: Joining | None = None

    @property
    def unsteady(self) -> bool:
        """Whether runs of a side are not steady."""
        return bool(self.before.warm_up.unsteady or self.after.warm_up.unsteady)

    @property
    def has_verdict(self) -> bool:
        """Whether it has a verdict, possibly inconclusive: an estimate within one process alone has none."""
        return self.within_process is None or self.within_process.decides

    @property
    def one_run_each(self) -> bool:
        """Whether each side has one run, so that the variance between runs is unknown."""
        undecided = self.change.q_value is None or self.within_process is not None
        return undecided and self.before.runs == self.after.runs == 1

    @property
    def one_sided(self) -> bool:
        """Whether the fractions of runs with a warm-up differ between the sides by half or more."""
        before, after = (side.warm_up.found / side.runs for side in (self.before, self.after))
        return abs(after - before) >= _ONE_SIDED

    @property
    def verdicts(self) -> frozenset[ChangeVerdict]:
        """Its own verdict, and those of its clusters that are slower or faster."""
        return frozenset({self.change.verdict, *(part.change.verdict for part in self.clusters if part.change.changed)})


class Comparisons(Struct, frozen=True):
    """All comparisons, at the study-wise level ``alpha`` and with the ``margin`` within which two are the same.

    ``borrowed`` is the degrees of freedom that each variance borrows from the other benchmarks; ``mean_ratios`` is the
    geometric mean of the ratios of each metric with several benchmarks, by its name. In ``remembered`` comparisons,
    earlier samples help to estimate the noise. ``intervals`` is the method for the intervals of ratios, and ``seed``
    the seed of their draws.
    """

    alpha: float
    margin: float
    statistic: str
    rows: tuple[Comparison, ...]
    borrowed: float
    mean_ratios: dict[str, float]
    warnings: tuple[str, ...]
    remembered: int = 0
    intervals: IntervalMethod = IntervalMethod.T
    seed: int | None = None

    def count(self, verdict: ChangeVerdict) -> int:
        """The number of comparisons with this verdict."""
        return sum(row.change.verdict is verdict for row in self.rows)

    def status(self, failing: frozenset[ChangeVerdict]) -> ExitStatus:
        """The exit status of a command that fails on these verdicts, including those of clusters."""
        if any(failing & row.verdicts - {ChangeVerdict.INCONCLUSIVE} for row in self.rows):
            return ExitStatus.WORSE
        undecided = ChangeVerdict.INCONCLUSIVE in failing and self.count(ChangeVerdict.INCONCLUSIVE)
        return ExitStatus.UNDECIDED if undecided else ExitStatus.OK

    def hidden(self, verdict: ChangeVerdict) -> int:
        """The number of comparisons with another verdict that have a cluster with this one."""
        return sum(verdict in row.verdicts and row.change.verdict is not verdict for row in self.rows)
