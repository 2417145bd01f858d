"""Whether it matters in which order the runs were made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hati.core import Better, FloatArray, Sample
from hati.stats import proportion, sign_test
from hati.studies.audit.conclusion import Directions, InTime
from hati.studies.audit.outcomes import surprise
from hati.studies.audit.splitting import Whole, compared_halves, halves, order_in_time
from hati.studies.comparison import Decision, Question, Verdict, decide, ratio_of


class Later(NamedTuple):
    """The verdict on the later half of a benchmark's runs, and its ratio to the earlier one."""

    verdict: Verdict
    ratio: float | None


def later_halves(samples: Sequence[Sample], wholes: Sequence[Whole], question: Question) -> list[Decision]:
    """Of all samples the earlier half of the runs against the later one, compared together."""
    orders = [(order_in_time(sample), len(sample.runs)) for sample in samples]
    split = [halves(np.arange(runs) if order is None else order) for order, runs in orders]
    sides, rest = compared_halves(wholes, split, question)
    return decide(sides, question, rest)[0]


def later(decision: Decision, question: Question, sample: Sample) -> Later:
    """What is said of one of them."""
    size = decision.decided.estimate
    ratio = None if decision.scale == 0.0 else ratio_of(size, decision.scale)
    return Later(decision.verdict(question, sample.metric.better), ratio)


def in_time(
    samples: Sequence[Sample], decisions: Sequence[Decision], verdicts: Sequence[Verdict], random: FloatArray
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
    slower, faster = (sum(each is verdict for each in verdicts) for verdict in (Verdict.SLOWER, Verdict.FASTER))
    return InTime(
        started=all(order_in_time(sample) is not None for sample in samples),
        alarms=proportion(slower + faster, len(samples)),
        slower=slower,
        faster=faster,
        direction=Directions(worse, better, sign_test(worse, better)),
        p_value=(1 + as_large) / (1 + len(random)),
    )
