"""What a comparison says."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field

from hati.core import Configuration, ExitStatus, Metric, Workload, requests
from hati.stats import TwoSampleTest
from hati.studies.comparison.choosing import StatisticChoice

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
    """How the interval of a ratio is found."""

    T = "t"
    BOOTSTRAP = "bootstrap"


class WarmUp(Struct, frozen=True):
    """The detected warm-up of a sample's runs, beyond the marked one.

    Of ``found`` runs the first observations, ``left_out`` together, do not count; ``unsteady`` are the reasons why
    other runs are not steady, all of whose observations count.
    """

    found: int = field(default=0, name="runs")
    left_out: int = field(default=0, name="observations")
    unsteady: tuple[str, ...] = ()


NO_WARM_UP = WarmUp()


class Side(Struct, frozen=True):
    """One sample: the mean of its runs, in the metric's unit, the half-width of its interval as a fraction of it.

    ``spread`` is None where nothing is known of the noise; ``disturbed`` is how many of the runs were; all
    of them count. ``seconds`` are what the runs took together, None where that is not known.
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
    """How the second of two samples differs from the first.

    ``ratio`` is the second's value over the first's, with its ``interval``; ``p_value`` that of no difference, and
    ``q_value`` the same corrected for all that were compared; ``detectable`` the smallest change, a fraction, that
    would have been found with 80 % power, and ``runs_needed`` how many runs of each sample would decide. They are None
    where nothing is known of the noise, or no number of runs up to 10,000 would do; the ratio where the first value is
    zero, or there is none. Where it is ``of_tail``, ratio and interval are those of the mean relative to the statistic,
    which itself did not change significantly.
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
    """A cluster in one sample: its ``centre``, the median of runs' medians, in the metric's unit, None where no run is
    in it; its mean ``share`` of a run's observations; how many ``runs`` have any.
    """

    centre: float | None
    share: float
    runs: int


class ClusterChange(Struct, frozen=True):
    """One cluster of observations in both samples: how its centre changed, and its share.

    ``share_p_value`` is that of no change of the share, ``share_q_value`` the same corrected, None where nothing
    is known of the noise; ``share_moved`` says that it is reported, and not shown to be within the margin.
    """

    change: Change
    before: ClusterSide
    after: ClusterSide
    share_p_value: float | None
    share_q_value: float | None
    share_moved: bool

    @property
    def changed(self) -> bool:
        """Whether it changed."""
        return self.change.changed or self.share_moved


class WithinProcess(Struct, frozen=True):
    """What the observations of one process a side say of these two processes, and not of others.

    Consecutive ``observations`` of each side are gathered in ``batches``, and each batch counts as a run does
    elsewhere. ``decides`` says that its verdict is the comparison's.
    """

    change: Change
    observations: tuple[int, int]
    batches: tuple[int, int]
    decides: bool = False


class Joining(Struct, frozen=True):
    """How two samples of different ``machines`` and revisions are joined: by ``revisions`` that both measured.

    ``ratio`` is what the second machine measures over what the first does, removed from the change, with its
    ``interval``; both are None without bridges, as is the interval of a single bridge with too few runs.
    ``bridges_needed`` would find a change of the estimated size with 80 % power; None where none is needed, or that is
    not known.
    """

    machines: tuple[str, str]
    revisions: tuple[str, ...] = ()
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    bridges_needed: int | None = None


class Comparison(Struct, frozen=True):
    """One benchmark's two samples, by what stands for their runs and, where there are several, by ``clusters``.

    ``configuration`` holds the settings that both samples have; ``tests`` are classical ones of the runs' medians,
    where requested; ``choice`` is why a run counts as it does, where that was chosen. ``within_process`` is
    the estimate from observations where each side is one process and the variance between runs is unknown. ``joining``
    is there where machine and revision differ together.
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
        """Whether it has a verdict, be it that nothing is decided: an estimate within one process alone has none."""
        return self.within_process is None or self.within_process.decides

    @property
    def one_run_each(self) -> bool:
        """Whether nothing is known of the variance between runs, of which each side has one."""
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
    """All of them, at the study-wise level ``alpha`` and with the ``margin`` within which two are the same.

    ``borrowed`` are the degrees of freedom that each variance has from the other benchmarks; ``mean_ratios`` the
    geometric mean of the ratios of each metric with several benchmarks, by its name. Of ``remembered`` comparisons
    earlier samples estimate the noise. ``intervals`` is the method of those
    of the ratios, and ``seed`` that of their draws.
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
        """How many comparisons end so."""
        return sum(row.change.verdict is verdict for row in self.rows)

    def status(self, failing: frozenset[ChangeVerdict]) -> ExitStatus:
        """How a command ends that fails by these verdicts, those of clusters included."""
        if any(failing & row.verdicts - {ChangeVerdict.INCONCLUSIVE} for row in self.rows):
            return ExitStatus.WORSE
        undecided = ChangeVerdict.INCONCLUSIVE in failing and self.count(ChangeVerdict.INCONCLUSIVE)
        return ExitStatus.UNDECIDED if undecided else ExitStatus.OK

    def hidden(self, verdict: ChangeVerdict) -> int:
        """How many comparisons end otherwise, but have a cluster that ends so."""
        return sum(verdict in row.verdicts and row.change.verdict is not verdict for row in self.rows)
