"""Whether two samples differ, for many benchmarks at once."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean

from hati.core import FloatArray, Sample, conversion
from hati.stats import Difference
from hati.studies.comparison.conclusion import Comparison, Comparisons, Side
from hati.studies.comparison.decisions import Decision, Question, Sides, decide
from hati.studies.comparison.matching import Pair
from hati.studies.comparison.statistic import Statistic, run_values

POWER = 0.8


def compare(found: Sequence[Pair], question: Question, warnings: Sequence[str] = ()) -> Comparisons:
    """Decide for each pair, with what all of them say of the noise.

    Run values are compared on the logarithmic scale, where a change is a ratio, or, where one is not above zero, as
    fractions of the first mean. Their variance borrows from the other pairs, the more the more alike they are, along
    how unsteady runs are within themselves (`variance_prior`). A change is told if it is significant at alpha over all
    pairs (false discovery rate) and not shown to be within the margin; two are the same if two one-sided tests at
    alpha each say so.

    Raises:
        InputError: where the units of a pair cannot be converted.
    """
    sides = [_sides(pair, question.statistic) for pair in found]
    decisions, prior = decide(sides)
    rows = tuple(_row(*each, question) for each in zip(found, sides, decisions, strict=True))
    return Comparisons(
        question.alpha, question.margin, str(question.statistic), rows, prior.df, _mean_ratios(rows), tuple(warnings)
    )


def _sides(pair: Pair, statistic: Statistic) -> Sides:
    factor = conversion(pair.after.metric.unit, pair.before.metric.unit)
    return Sides(run_values(pair.before, statistic), run_values(pair.after, statistic).times(factor))


def _row(pair: Pair, sides: Sides, decision: Decision, question: Question) -> Comparison:
    decided, scale, q_value = decision
    known = q_value is not None
    width = decided.half_width(1.0 - question.alpha)
    detectable = decided.detectable(question.alpha, POWER) if known else math.inf
    needed = decided.runs_needed(question.alpha, -question.limit, question.limit) if known else None

    def ratio(size: float) -> float:
        return math.exp(size) if scale is None else 1.0 + size

    return Comparison(
        benchmark=pair.before.benchmark,
        configuration=pair.before.configuration,
        workload=pair.before.workload,
        metric=pair.before.metric,
        verdict=decision.verdict(question, pair.before.metric.better),
        before=_side(pair.before, sides.before.values, decided, question),
        after=_side(pair.after, sides.after.values, decided, question),
        ratio=None if scale == 0.0 else ratio(decided.estimate),
        interval=(ratio(decided.estimate - width), ratio(decided.estimate + width)) if known else None,
        p_value=decided.p_value if known else None,
        q_value=q_value,
        detectable=ratio(detectable) - 1.0 if math.isfinite(detectable) else None,
        runs_needed=needed,
    )


def _side(sample: Sample, values: FloatArray, decided: Difference, question: Question) -> Side:
    alone = Difference(0.0, decided.variance / 2.0, decided.own, (len(values), len(values)), decided.borrowed)
    width = alone.half_width(1.0 - question.alpha)
    return Side(
        float(values.mean()), width if math.isfinite(width) else None, len(values), sample.revision, sample.machine
    )


def _mean_ratios(rows: Sequence[Comparison]) -> dict[str, float]:
    logs = defaultdict[str, list[float]](list)
    for row in rows:
        if row.ratio is not None and row.ratio > 0.0:
            logs[row.metric.name].append(math.log(row.ratio))
    return {name: math.exp(fmean(own)) for name, own in logs.items() if len(own) > 1}
