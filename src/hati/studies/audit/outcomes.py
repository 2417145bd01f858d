"""How comparisons of random halves end."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hati.core import Better, FloatArray, Sample, replace
from hati.studies.audit.sensitivity import same_though_changed, smallest_changes
from hati.studies.audit.splitting import Halves, Whole, compared_halves
from hati.studies.comparison import Decision, Pair, Question, Verdict, cluster_changes, decide

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
        """Where a change is told."""
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
    found = cluster_changes([Pair(sample, sample) for sample in samples], question)
    return [place for place, parts in enumerate(found) if parts]


class ClusterOutcomes(NamedTuple):
    """Of splits and samples, each of shape (splits, samples).

    Whether a change of any cluster is told; and whether, all of the second half being smaller by the margin, a cluster
    is said to have become larger, or its share to have changed.
    """

    alarms: Marks
    misplaced: Marks


def cluster_outcomes(
    samples: Sequence[Sample], splits: Iterable[Sequence[Halves]], question: Question
) -> ClusterOutcomes:
    """Compare the clusters of halves as they are, and with one half shifted."""
    alarms, misplaced = [], []
    larger = [Verdict.SLOWER if sample.metric.better is Better.LOWER else Verdict.FASTER for sample in samples]
    for split in splits:
        pairs = [own.samples(sample) for own, sample in zip(split, samples, strict=True)]
        alarms.append([any(part.told for part in parts) for parts in cluster_changes(pairs, question)])
        moved = cluster_changes([_shifted(pair, 1.0 / (1.0 + question.margin)) for pair in pairs], question)
        misplaced.append(
            [
                any(part.share_moved or part.change.verdict is wrong for part in parts)
                for parts, wrong in zip(moved, larger, strict=True)
            ]
        )
    return ClusterOutcomes(np.array(alarms, dtype=np.bool_), np.array(misplaced, dtype=np.bool_))


def _shifted(pair: Pair, factor: float) -> Pair:
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
        slower=np.array([verdict is Verdict.SLOWER for verdict in verdicts]),
        faster=np.array([verdict is Verdict.FASTER for verdict in verdicts]),
        same=np.array([verdict is Verdict.SAME for verdict in verdicts]),
        significant=np.array([each.q_value is not None and each.p_value <= question.alpha for each in decisions]),
        false_same=np.array([same_though_changed(each, question) for each in decisions]),
        changes=smallest_changes(decisions, question),
        surprise=np.array([surprise(each) for each in decisions]),
    )
