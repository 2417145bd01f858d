"""The conclusion of a comparison, as plain values, and its changes in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Any

from msgspec import Struct, field

from hati.core import Configuration, ExitStatus, Metric, SampleFormat, Workload, requests
from hati.document.document import Cell, Shown, change, change_number, p_text, percent
from hati.document.publishing import Interval, Of
from hati.stats import TwoSampleTest
from hati.studies.comparison.statistic import MEAN, ChoiceBasis, StatisticChoice

TAIL_PART = 0.25
"""The part of alpha for the tail if the statistic of a run is not the mean."""
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
    and revision differ together. ``interval_method`` is that of the ratio's interval.
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
    interval_method: IntervalMethod = IntervalMethod.T

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
    earlier samples help to estimate the noise. ``seed`` is the seed of the draws of bootstrap intervals.
    """

    alpha: float
    margin: float
    statistic: str
    rows: tuple[Comparison, ...]
    borrowed: float
    mean_ratios: dict[str, float]
    warnings: tuple[str, ...]
    remembered: int = 0
    seed: int | None = None

    @property
    def intervals(self) -> IntervalMethod:
        """The method for the intervals of ratios: the bootstrap where one is by it."""
        bootstrap = any(row.interval_method is IntervalMethod.BOOTSTRAP for row in self.rows)
        return IntervalMethod.BOOTSTRAP if bootstrap else IntervalMethod.T

    def count(self, verdict: ChangeVerdict) -> int:
        """The number of comparisons with this verdict."""
        return sum(row.change.verdict is verdict for row in self.rows)

    def status(self, failing: frozenset[ChangeVerdict]) -> ExitStatus:
        """The exit status of a command that fails on these verdicts, including those of clusters."""
        if any(failing & row.verdicts - {ChangeVerdict.INCONCLUSIVE} for row in self.rows):
            return ExitStatus.WORSE
        undecided = ChangeVerdict.INCONCLUSIVE in failing and self.count(ChangeVerdict.INCONCLUSIVE)
        return ExitStatus.UNDECIDED if undecided else ExitStatus.OK


_NOTHING = "~"
WITH_POWER = "with 80 % probability, if the estimate and the noise hold"
"""The condition on which a number of runs would decide."""


class ChangeJson(Struct, frozen=True):
    """A change: its verdict and evidence; ``estimate`` is a fraction, ``ratio`` after over before."""

    verdict: Annotated[ChangeVerdict, Of("change.verdict")]
    estimate: Annotated[float | None, Of(lambda of: None if of.change.ratio is None else of.change.ratio - 1.0)]
    ratio: Annotated[float | None, Of("change.ratio")]
    interval: Annotated[Interval | None, Of("change.interval")]
    p_value: Annotated[float | None, Of("change.p_value")]
    q_value: Annotated[float | None, Of("change.q_value")]
    detectable: Annotated[float | None, Of("change.detectable")]
    runs_needed: Annotated[int | None, Of("change.runs_needed")]


def change_text(found: Change) -> Shown:
    """The change in percent; ``~`` where the ratio does not exist."""
    if found.ratio is None:
        return Shown(_NOTHING, None)
    return Shown(change(found.ratio - 1.0), found.ratio)


def needed_notes(rows: Sequence[Comparison], runs: str) -> list[str]:
    """The note that explains the numbers of runs that would decide; empty if there are none."""
    undecided = [row.change for row in rows if row.change.verdict is ChangeVerdict.INCONCLUSIVE]
    if all(found.runs_needed is None for found in undecided):
        return []
    return [f"The second number of {runs} would decide {WITH_POWER}."]


def verdict_text(found: Change) -> str:
    """The verdict, marked if it is that of the tail alone."""
    return f"{found.verdict.value} (tail)" if found.of_tail else found.verdict.value


def interval_text(interval: tuple[float, float]) -> str:
    """The interval of a ratio as changes in percent, without the percent sign."""
    low, high = (change_number(end - 1.0) for end in interval)
    return f"{low} to {high}"


def p_cell(found: Change) -> Cell:
    """The corrected p-value of no change; None if the noise is unknown."""
    return None if found.q_value is None else Shown(p_text(found.q_value), found.q_value)


def statistic_name(row: Comparison) -> str:
    """The name of the statistic that is compared."""
    return (MEAN if row.choice is None else row.choice.statistic).title


def statistics_text(found: Comparisons) -> str:
    """The statistics that stand for a run, as text."""
    names = dict.fromkeys(found.statistic if row.choice is None else row.choice.statistic.title for row in found.rows)
    *most, last = names
    return f"its {', '.join(most)} or {last}" if most else f"its {last}"


def wide_interval_notes(rows: Sequence[Comparison], alpha: float, margin: float) -> list[str]:
    """The note on rows that are the same and whose interval is not within the margin; empty without such rows."""
    ends = [row.change.interval for row in rows if row.change.verdict is ChangeVerdict.SAME and not row.change.of_tail]
    wide = [end for end in ends if end is not None and not 1.0 / (1.0 + margin) <= end[0] <= end[1] <= 1.0 + margin]
    if not wide:
        return []
    which = f"{len(wide)} of {len(rows)} rows {'is' if len(wide) == 1 else 'are'}" if len(rows) > 1 else "The row is"
    return [
        f"{which} the same with an interval beyond the margin: two one-sided tests decide, each at {percent(alpha)}. "
        f"Together they exclude what an interval of {percent(1.0 - 2.0 * alpha)} confidence excludes; the one shown "
        f"has {percent(1.0 - alpha)}, and is wider."
    ]


def statistic_notes(rows: Sequence[Comparison]) -> list[str]:
    """Why each statistic was chosen, where it was, in one sentence."""
    groups: dict[tuple[str, ChoiceBasis], list[StatisticChoice]] = defaultdict(list)
    for row in rows:
        if row.choice is not None and not _asked(row):
            groups[statistic_name(row), row.choice.basis].append(row.choice)
    version = max((choice.version for choices in groups.values() for choice in choices), default=0)
    chosen = (_chosen(name, choices, len(rows)) for (name, _), choices in groups.items())
    notes = [f"Statistic (auto, version {version}): {'; '.join(chosen)}."] if groups else []
    if any(choice.keeps_mean for choices in groups.values() for choice in choices):
        notes.append(
            f"The mean relative to it is tested too, with {percent(TAIL_PART)} of alpha: a change of that alone is"
            " marked (tail)."
        )
    return notes


class ChoiceJson(Struct, frozen=True):
    """A chosen statistic, with the version of its rule."""

    statistic: Annotated[str, Of(lambda choice: str(choice.statistic))]
    basis: ChoiceBasis
    sources: int
    spread: float | None
    version: int


def chosen(row: Any) -> StatisticChoice | None:
    """How a comparison's statistic was chosen; None where the user chose it."""
    return None if row.choice is None or _asked(row) else row.choice


def _asked(row: Comparison) -> bool:
    return row.choice is None or row.choice.basis is ChoiceBasis.ASKED


def _chosen(name: str, choices: list[StatisticChoice], rows: int) -> str:
    number = len(choices)
    middle = sorted(choices, key=lambda choice: choice.spread or 0.0)[number // 2]
    return f"{name}; {middle.reason}" if number == rows else f"{name} of {number:,} ({middle.reason})"


_LABEL = "within one process"
_SEVERAL_FILES = "hati compare --before before-* --after after-*"
_FOR_EACH = "for i in $(seq 10); do "
_LINES: dict[str, tuple[str, str]] = {
    SampleFormat.GO: (
        f"{_FOR_EACH}go test -run '^$' -bench . -count 1; done > before.txt",
        "hati compare before.txt after.txt",
    ),
    SampleFormat.CRITERION: (
        f"{_FOR_EACH}CRITERION_HOME=$PWD/before-$i cargo bench; done",
        _SEVERAL_FILES,
    ),
    SampleFormat.GOOGLE_BENCHMARK: (
        f"{_FOR_EACH}./BENCHMARK --benchmark_out=before-$i.json --benchmark_out_format=json; done",
        _SEVERAL_FILES,
    ),
    SampleFormat.PYTEST_BENCHMARK: (
        f"{_FOR_EACH}pytest --benchmark-only --benchmark-json=before-$i.json; done",
        _SEVERAL_FILES,
    ),
    SampleFormat.CATCH2: (
        f"{_FOR_EACH}./TESTS --reporter xml --out before-$i.xml; done",
        _SEVERAL_FILES,
    ),
    SampleFormat.BENCHMARK_DOTNET: (
        "dotnet run -c Release -- --launchCount 10 --exporters fulljson",
        "hati compare BEFORE-report-full.json AFTER-report-full.json",
    ),
    SampleFormat.JMH: (
        "java -jar benchmarks.jar -f 10 -rf json -rff before.json",
        "hati compare before.json after.json",
    ),
    SampleFormat.PYPERF: ("python BENCHMARK.py --processes 10 -o before.json", "hati compare before.json after.json"),
    SampleFormat.HYPERFINE: (
        "hyperfine --runs 10 --export-json before.json COMMAND",
        "hati compare before.json after.json",
    ),
}
"""For each format, a command that runs ten processes and one that compares them."""


def several_processes(formats: Iterable[str]) -> list[str]:
    """Lines that say how to measure several processes with the tools that write these formats."""
    lines = ["note: one process a side does not show how much processes differ; several of each side decide:"]
    known = [_LINES[each] for each in formats if each in _LINES]
    if not known:
        return ["note: one run a side does not show how much runs differ; several of each side decide"]
    for line, comparing in known:
        lines += [f"  {line}", f"  {comparing}"]
    return lines


class WithinProcessJson(Struct, frozen=True):
    """The interval of the change within these processes, and the observations and batches of each side."""

    interval: Annotated[Interval | None, Of("change.interval")]
    observations: tuple[int, int]
    batches: tuple[int, int]
    decides: bool


def within_process_verdict(row: Comparison, within: WithinProcess) -> str:
    """The label, preceded by the verdict if there is one."""
    return f"{verdict_text(row.change)} ({_LABEL})" if within.decides else _LABEL


def within_process_sentence(row: Comparison, within: WithinProcess) -> str:
    """The result of a comparison, in a sentence."""
    label = within_process_verdict(row, within)
    if row.change.ratio is None or within.change.interval is None:
        return f"{label}: the ratio is unknown"
    text = f"{label}: {change(row.change.ratio - 1.0)} ({interval_text(within.change.interval)} %)"
    return text if within.decides else f"{text}; how much processes differ is not known"


def within_process_notes(rows: Sequence[Comparison]) -> list[str]:
    """Notes on what estimates and verdicts within one process hold for."""
    known = [row.within_process for row in rows if row.within_process is not None]
    other = {statistic_name(row) for row in rows if row.one_run_each and row.within_process is None and _of_other(row)}
    missing = [
        f"One process a side shows no interval of its {name}; it may show one of its mean (--statistic mean)."
        for name in sorted(other)
    ]
    if not known:
        return missing
    decides = any(within.decides for within in known)
    rest = (
        "the verdict holds for these two, and others may differ by more."
        if decides
        else "there is no verdict and no p. Name several files a side, or earlier ones by --history; --within-process "
        "decides for these two processes only."
    )
    return [
        f"{_LABEL[0].upper()}{_LABEL[1:]}: each side is one process. The interval is that of their observations, in "
        f"batches of consecutive ones. How much processes differ is not known: {rest}",
        *missing,
    ]


def _of_other(row: Comparison) -> bool:
    return row.choice is not None and row.choice.statistic != MEAN
