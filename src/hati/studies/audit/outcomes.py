"""How comparisons of random halves end, and of the earlier half with the later one; and the change that it takes
for an alarm.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hati.core import Better, FloatArray, Sample, replace
from hati.stats import proportion, sign_test, t_quantile
from hati.studies.audit.conclusion import Directions, InTime
from hati.studies.audit.splitting import Halves, Whole, compared_halves, halves, order_in_time
from hati.studies.comparison import ChangeVerdict, Decision, Question, SamplePair, cluster_changes, decide, ratio_of

POWER = 0.8


def smallest_changes(decisions: Sequence[Decision], question: Question) -> FloatArray:
    """For each pair the change of its second sample, as a fraction, from which on it is called larger than the first.

    It alone is changed, the others staying as they are; every run by the same factor, or where values are compared as
    they are by the same part of the first mean. Infinite where nothing is known of the noise. Shape (pairs,).
    """
    found = [_smallest(each, question) for each in decisions]
    return np.array(found, dtype=np.float64)


def found_mostly(changes: FloatArray, power: float = POWER) -> float | None:
    """The smallest change that is found in that share of cases; None where none is."""
    least = float(np.sort(changes, axis=None)[math.ceil(power * changes.size) - 1])
    return least if math.isfinite(least) else None


def same_though_changed(decision: Decision, question: Question) -> bool:
    """Whether two are called the same where the second is larger by the margin than it is."""
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
    """Of splits and benchmarks, each of shape (splits, benchmarks).

    What the verdict is; whether the p-value is up to alpha; whether the halves are called the same where the second is
    larger by the margin; from which change on the second is called larger; and -ln p, 0 where nothing is known.
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
    """Of splits and samples, each of shape (splits, samples).

    The first is whether a change of any cluster is reported. The second is whether, with the second half smaller by
    the margin, a cluster is reported larger, or its share changed.
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
    """-ln p: how much two halves differ, whatever it is of."""
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
    """Of all samples the earlier half of the runs against the later one, compared together."""
    orders = [(order_in_time(sample), len(sample.runs)) for sample in samples]
    split = [halves(np.arange(runs) if order is None else order) for order, runs in orders]
    sides, rest = compared_halves(wholes, split, question)
    return decide(sides, question, rest)[0]


def later(decision: Decision, question: Question, sample: Sample) -> Later:
    """The result of one of them."""
    size = decision.decided.estimate
    ratio = None if decision.scale == 0.0 else ratio_of(size, decision.scale)
    return Later(decision.verdict(question, sample.metric.better), ratio)


def in_time(
    samples: Sequence[Sample], decisions: Sequence[Decision], verdicts: Sequence[ChangeVerdict], random: FloatArray
) -> InTime:
    """All of them together; ``random`` is the surprise of random halves, shape (splits, benchmarks).

    Where the order of runs does not matter, the split in time is one more random split: the p-value is that of a
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
