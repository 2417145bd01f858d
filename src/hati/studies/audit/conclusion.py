"""The conclusion of an audit: the outcomes of comparisons of random halves, and of earlier with later halves.

The runs of one thing are split into two samples; these also give the smallest change that would cause an alarm.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from hati.core import Better, FloatArray, Sample, replace
from hati.knowledge import Entry
from hati.stats import Index, Proportion, proportion, sign_test, t_quantile
from hati.studies.comparison import (
    CANDIDATES,
    MEAN,
    ChangeVerdict,
    ChoiceBasis,
    Decision,
    MeanSides,
    Question,
    RunValues,
    SamplePair,
    Sides,
    Statistic,
    StatisticChoice,
    VarianceRatios,
    choose_for_each,
    cluster_changes,
    decide,
    ratio_of,
)


class Directions(Struct, frozen=True):
    """The number of alarms that say slower and that say faster, and the p-value of both being equally likely."""

    slower: int
    faster: int
    p_value: float


class ClusterAlarms(Struct, frozen=True):
    """The fraction of comparisons with a changed cluster, for ``benchmarks`` whose observations form clusters.

    ``misplaced`` is the fraction of comparisons that report a larger cluster, or a changed share, although all
    observations of one half are smaller by the margin.
    """

    alarms: Proportion
    misplaced: Proportion
    benchmarks: tuple[str, ...]


class InTime(Struct, frozen=True):
    """The earlier halves of the runs compared with the later ones, one comparison for each benchmark.

    ``started`` is true if the order is by the runs' starts, false if by position. ``alarms`` are those of the
    comparisons; ``direction`` counts the benchmarks whose later half is worse and better, significant or not.
    ``p_value`` is the probability that random halves differ at least as much in all, if the order of runs does not
    matter.
    """

    started: bool
    alarms: Proportion
    slower: int
    faster: int
    direction: Directions
    p_value: float


class StatisticSensitivity(Struct, frozen=True):
    """The smallest change, a fraction, that a statistic finds in 80 % of all cases; None if there is none."""

    statistic: Statistic
    detectable: float | None


class RecommendedStatistic(Struct, frozen=True):
    """The statistic of a metric that varies least between the audited runs, for later ones."""

    metric: str
    choice: StatisticChoice


class AuditedBenchmark(Struct, frozen=True):
    """One sample: the results of its splits into halves of ``runs`` runs, and its detectable change.

    ``false_same`` counts the splits that are called the same although one half is worse by the margin; ``detectable``
    is the smallest change, a fraction, that is found in 80 % of them, None if none is. ``later`` is the verdict on the
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

    Without any change, ``false_alarms`` is the fraction of all comparisons that end in an alarm, ``any_alarm`` that of
    splits with an alarm of any benchmark, and ``uncorrected`` that of p-values up to alpha. ``same`` and ``false_same``
    are the fractions that are called the same, without a change and with one of the margin. ``clusters`` is None if no
    observations form any. ``detectable`` is the smallest change of one benchmark alone that is found in 80 % of all
    cases; ``by_statistic`` is the same for each statistic alone. ``known`` are the statistics that were chosen before
    and used, by metric.
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
        """The number of comparisons of random halves."""
        return self.splits * len(self.rows)


FEWEST_RUNS = 4
"""With fewer runs, halves do not show their noise."""
_ALIKE = 0.03


class Whole(NamedTuple):
    """All runs of a sample as both sides of a comparison with itself, by each possible statistic of a run.

    ``earlier`` holds the variance ratios of these statistics in earlier samples, None without any; ``known`` is the
    choice that was made before, which a comparison with an automatic statistic uses.
    """

    metric: str
    sides: Mapping[Statistic, Sides]
    earlier: VarianceRatios | None = None
    known: StatisticChoice | None = None

    def choice(self, chosen: StatisticChoice) -> StatisticChoice:
        """The known choice instead of the ``chosen`` one, except for values that are not above zero."""
        return chosen if self.known is None or chosen.basis is ChoiceBasis.NOT_POSITIVE else self.known


class Halves(NamedTuple):
    """The places of the runs of two halves of a sample, of equal size."""

    before: Index
    after: Index

    def values(self, whole: Sides) -> Sides:
        """The run values of the halves; both sides of the ``whole`` are the sample itself."""
        return Sides(whole.before.of(self.before), whole.before.of(self.after), whole.earlier)

    def samples(self, sample: Sample) -> SamplePair:
        """The halves as a pair of samples."""
        before, after = (tuple(sample.runs[place] for place in places) for places in self)
        return SamplePair(replace(sample, runs=before), replace(sample, runs=after))


def compared_halves(
    wholes: Sequence[Whole], split: Sequence[Halves], question: Question
) -> tuple[list[Sides], list[MeanSides | None]]:
    """The halves of all samples as `compare` has them: by the requested statistic, or one chosen from other samples."""
    each = list(zip(wholes, split, strict=True))
    if isinstance(question.statistic, Statistic):
        statistic = question.statistic
        return [own.values(whole.sides[statistic]) for whole, own in each], [None] * len(each)
    values = [
        [np.array([side.of(places).values for side in _all_runs(whole)]) for places in own] for whole, own in each
    ]
    chosen = choose_for_each([whole.metric for whole in wholes], values, [whole.earlier for whole in wholes])
    choices = [whole.choice(one) for whole, one in zip(wholes, chosen, strict=True)]
    found = [own.values(whole.sides[choice.statistic]) for (whole, own), choice in zip(each, choices, strict=True)]
    rest = [
        MeanSides.of(own.values(whole.sides[MEAN]), sides) if choice.keeps_mean else None
        for (whole, own), choice, sides in zip(each, choices, found, strict=True)
    ]
    return found, rest


def _all_runs(whole: Whole) -> list[RunValues]:
    return [whole.sides[statistic].before for statistic in CANDIDATES]


def halves(order: Index) -> Halves:
    """The first and the second half of an order; with an odd number of runs, the one in the middle is left out."""
    half = len(order) // 2
    return Halves(order[:half], order[-half:])


def order_in_time(sample: Sample) -> Index | None:
    """The places of the runs in the order of their starts; None if one is unknown."""
    starts = [run.started.timestamp() for run in sample.runs if run.started is not None]
    return np.argsort(np.array(starts), kind="stable") if len(starts) == len(sample.runs) else None


def correlation(runs: int) -> float:
    """The least correlation of the alarms of two random splits of ``runs`` runs.

    It is one over the number of different splits: four runs have three, and at most one of them is significant at usual
    levels. It is at least 3 %: for ten runs and more that are normal, long-tailed, skewed or bimodal, simulations show
    0 to 3.5 %.
    """
    half = runs // 2
    return max(_ALIKE, 2.0 / math.comb(2 * half, half))


POWER = 0.8


def smallest_changes(decisions: Sequence[Decision], question: Question) -> FloatArray:
    """The smallest change of each pair's second sample, a fraction, at which it is called larger; shape (pairs,).

    Only this pair changes: every run by the same factor, or, if raw values are compared, by the same fraction of the
    first mean. The change is infinite if the noise is unknown.
    """
    found = [_smallest(each, question) for each in decisions]
    return np.array(found, dtype=np.float64)


def found_mostly(changes: FloatArray) -> float | None:
    """The smallest change that is found in a fraction ``POWER`` of cases; None if there is none."""
    least = float(np.sort(changes, axis=None)[math.ceil(POWER * changes.size) - 1])
    return least if math.isfinite(least) else None


def same_though_changed(decision: Decision, question: Question) -> bool:
    """Whether two would be called the same if the second were larger by the margin."""
    if decision.q_value is None or decision.scale == 0.0:
        return False
    return decision.shifted(question.limit).within(question) <= question.alpha


def _smallest(decision: Decision, question: Question) -> float:
    if decision.q_value is None or decision.scale == 0.0:
        return math.inf
    decided = decision.decided
    not_the_same = min(
        question.limit - t_quantile(1.0 - question.alpha, part.df) * part.standard_error - part.estimate
        for part in decision.levels
    )
    shift = max(-decided.estimate, decided.significant(decision.own_level) - decided.estimate, not_the_same)
    return max(0.0, ratio_of(shift, decision.scale) - 1.0)


Marks = NDArray[np.bool_]
_LEAST_P = 1e-300


class Outcomes(NamedTuple):
    """The outcomes of comparisons, each of shape (splits, benchmarks).

    These are the verdict; whether the p-value is at most alpha; whether the halves would be called the same if the
    second were larger by the margin; the change from which on the second is called larger; and -ln p, 0 if the noise is
    unknown.
    """

    slower: Marks
    faster: Marks
    same: Marks
    significant: Marks
    false_same: Marks
    changes: FloatArray
    surprise: FloatArray

    @property
    def alarms(self) -> Marks:
        """The reported changes."""
        return self.slower | self.faster


def random_outcomes(
    samples: Sequence[Sample], wholes: Sequence[Whole], splits: Iterable[Sequence[Halves]], question: Question
) -> Outcomes:
    """Compare the halves of all samples together, for each of the splits."""
    found = []
    for split in splits:
        sides, rest = compared_halves(wholes, split, question)
        decisions, _ = decide(sides, question, rest)
        found.append(_outcome(samples, decisions, question))
    return Outcomes(*(np.array(rows) for rows in zip(*found, strict=True)))


def clustered(samples: Sequence[Sample], question: Question) -> list[int]:
    """The places of the samples whose observations form clusters."""
    found = cluster_changes([SamplePair(sample, sample) for sample in samples], question)
    return [place for place, parts in enumerate(found) if parts]


class ClusterOutcomes(NamedTuple):
    """The outcomes for clusters, each of shape (splits, samples).

    ``alarms`` is whether a change of any cluster is reported. ``misplaced`` is whether, with the second half smaller by
    the margin, a cluster is reported as larger, or its share as changed.
    """

    alarms: Marks
    misplaced: Marks


def cluster_outcomes(
    samples: Sequence[Sample], splits: Iterable[Sequence[Halves]], question: Question
) -> ClusterOutcomes:
    """Compare the clusters of halves as they are, and with one half shifted."""
    alarms, misplaced = [], []
    larger = [
        ChangeVerdict.SLOWER if sample.metric.better is Better.LOWER else ChangeVerdict.FASTER for sample in samples
    ]
    for split in splits:
        pairs = [own.samples(sample) for own, sample in zip(split, samples, strict=True)]
        alarms.append([any(part.changed for part in parts) for parts in cluster_changes(pairs, question)])
        moved = cluster_changes([_shifted(pair, 1.0 / (1.0 + question.margin)) for pair in pairs], question)
        misplaced.append(
            [
                any(part.share_moved or part.change.verdict is wrong for part in parts)
                for parts, wrong in zip(moved, larger, strict=True)
            ]
        )
    return ClusterOutcomes(np.array(alarms, dtype=np.bool_), np.array(misplaced, dtype=np.bool_))


def _shifted(pair: SamplePair, factor: float) -> SamplePair:
    """The pair with all observations of the second sample multiplied by a factor."""
    runs = tuple(
        replace(run, observations=replace(run.observations, values=factor * run.observations.values))
        for run in pair.after.runs
    )
    return replace(pair, after=replace(pair.after, runs=runs))


def surprise(decision: Decision) -> float:
    """-ln p, a measure of the difference of two halves; 0 if the noise is unknown."""
    return 0.0 if decision.q_value is None else -math.log(max(decision.p_value, _LEAST_P))


def _outcome(samples: Sequence[Sample], decisions: Sequence[Decision], question: Question) -> Outcomes:
    verdicts = [each.verdict(question, sample.metric.better) for sample, each in zip(samples, decisions, strict=True)]
    return Outcomes(
        slower=np.array([verdict is ChangeVerdict.SLOWER for verdict in verdicts]),
        faster=np.array([verdict is ChangeVerdict.FASTER for verdict in verdicts]),
        same=np.array([verdict is ChangeVerdict.SAME for verdict in verdicts]),
        significant=np.array([each.q_value is not None and each.p_value <= question.alpha for each in decisions]),
        false_same=np.array([same_though_changed(each, question) for each in decisions]),
        changes=smallest_changes(decisions, question),
        surprise=np.array([surprise(each) for each in decisions]),
    )


class Later(NamedTuple):
    """The verdict on the later half of a benchmark's runs, and its ratio to the earlier one."""

    verdict: ChangeVerdict
    ratio: float | None


def later_halves(samples: Sequence[Sample], wholes: Sequence[Whole], question: Question) -> list[Decision]:
    """The comparisons of the earlier half of each sample's runs with the later one, decided together."""
    orders = [(order_in_time(sample), len(sample.runs)) for sample in samples]
    split = [halves(np.arange(runs) if order is None else order) for order, runs in orders]
    sides, rest = compared_halves(wholes, split, question)
    return decide(sides, question, rest)[0]


def later(decision: Decision, question: Question, sample: Sample) -> Later:
    """The result of one comparison of earlier and later halves."""
    size = decision.decided.estimate
    ratio = None if decision.scale == 0.0 else ratio_of(size, decision.scale)
    return Later(decision.verdict(question, sample.metric.better), ratio)


def in_time(
    samples: Sequence[Sample], decisions: Sequence[Decision], verdicts: Sequence[ChangeVerdict], random: FloatArray
) -> InTime:
    """The result over all comparisons in time; ``random`` is the surprise of random halves, shape (splits, benchmarks).

    If the order of runs does not matter, the split in time is one more random split: the p-value is that of a
    permutation test whose statistic is Fisher's sum of -ln p over the benchmarks.
    """
    observed = math.fsum(surprise(each) for each in decisions)
    as_large = int(np.count_nonzero(random.sum(axis=1) >= observed * (1.0 - 1e-12)))
    signs = [
        each.decided.estimate * (1.0 if sample.metric.better is Better.LOWER else -1.0)
        for sample, each in zip(samples, decisions, strict=True)
    ]
    worse, better = sum(sign > 0.0 for sign in signs), sum(sign < 0.0 for sign in signs)
    slower, faster = (
        sum(each is verdict for each in verdicts) for verdict in (ChangeVerdict.SLOWER, ChangeVerdict.FASTER)
    )
    return InTime(
        started=all(order_in_time(sample) is not None for sample in samples),
        alarms=proportion(slower + faster, len(samples)),
        slower=slower,
        faster=faster,
        direction=Directions(worse, better, sign_test(worse, better)),
        p_value=(1 + as_large) / (1 + len(random)),
    )
