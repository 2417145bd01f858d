"""How comparisons of random halves end."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hati.core import FloatArray, Sample
from hati.studies.audit.sensitivity import same_though_changed, smallest_changes
from hati.studies.audit.splitting import Halves
from hati.studies.comparison import Decision, Pair, Question, Sides, Verdict, cluster_changes, decide

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
    samples: Sequence[Sample], wholes: Sequence[Sides], splits: Iterable[Sequence[Halves]], question: Question
) -> Outcomes:
    """Compare the halves of all samples together, for each of the splits."""
    found = []
    for split in splits:
        decisions, _ = decide([own.values(each) for own, each in zip(split, wholes, strict=True)], question)
        found.append(_outcome(samples, decisions, question))
    return Outcomes(*(np.array(rows) for rows in zip(*found, strict=True)))


def clustered(samples: Sequence[Sample], question: Question) -> list[int]:
    """The places of the samples whose observations form clusters."""
    found = cluster_changes([Pair(sample, sample) for sample in samples], question)
    return [place for place, parts in enumerate(found) if parts]


def cluster_alarms(samples: Sequence[Sample], splits: Iterable[Sequence[Halves]], question: Question) -> Marks:
    """Whether a change of any cluster is told, for each split and sample; shape (splits, samples)."""
    found = []
    for split in splits:
        pairs = [own.samples(sample) for own, sample in zip(split, samples, strict=True)]
        found.append([any(part.told for part in parts) for parts in cluster_changes(pairs, question)])
    return np.array(found, dtype=np.bool_)


def surprise(decision: Decision) -> float:
    """-ln p: how much two halves differ, whatever it is of."""
    return 0.0 if decision.q_value is None else -math.log(max(decision.decided.p_value, _LEAST_P))


def _outcome(samples: Sequence[Sample], decisions: Sequence[Decision], question: Question) -> Outcomes:
    verdicts = [each.verdict(question, sample.metric.better) for sample, each in zip(samples, decisions, strict=True)]
    return Outcomes(
        slower=np.array([verdict is Verdict.SLOWER for verdict in verdicts]),
        faster=np.array([verdict is Verdict.FASTER for verdict in verdicts]),
        same=np.array([verdict is Verdict.SAME for verdict in verdicts]),
        significant=np.array(
            [each.q_value is not None and each.decided.p_value <= question.alpha for each in decisions]
        ),
        false_same=np.array([same_though_changed(each, question) for each in decisions]),
        changes=smallest_changes(decisions, question),
        surprise=np.array([surprise(each) for each in decisions]),
    )
