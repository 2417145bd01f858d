"""Whether two samples differ, for many benchmarks at once."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np

from hati.core import FloatArray, Sample, conversion
from hati.stats import Difference, VariancePrior, difference, variance_prior
from hati.studies.comparison.clusters import cluster_changes
from hati.studies.comparison.conclusion import ClusterChange, Comparison, Comparisons, Side
from hati.studies.comparison.judging import Scale, corrected, judged, p_value
from hati.studies.comparison.matching import Pair
from hati.studies.comparison.question import Question
from hati.studies.comparison.statistic import Statistic, batch_deviation


class _Measured(NamedTuple):
    """A pair's run values, both in the first's unit, and their difference on the scale that decides."""

    pair: Pair
    before: FloatArray
    after: FloatArray
    scale: Scale
    decided: Difference


def compare(found: Sequence[Pair], question: Question, warnings: Sequence[str] = ()) -> Comparisons:
    """Decide for each pair, with what all of them say of the noise.

    Run values are compared on the logarithmic scale, where a change is a ratio, or, where one is not above zero, as
    fractions of the first mean. Their variance borrows from the other pairs, the more the more alike they are, along
    how unsteady runs are within themselves (`variance_prior`). A change is told if it is significant at alpha over all
    pairs (false discovery rate) and not shown to be within the margin; two are the same if two one-sided tests at
    alpha each say so. Where observations form clusters, these are compared too (`cluster_changes`).

    Raises:
        InputError: where the units of a pair cannot be converted.
    """
    measured = [_measured(pair, question.statistic) for pair in found]
    prior = _prior(measured)
    decided = [each.decided.borrowing(prior, place) for place, each in enumerate(measured)]
    tested = [None if one.scale.unit == 0.0 else p_value(each) for one, each in zip(measured, decided, strict=True)]
    q_values = corrected(tested)
    parts = cluster_changes(found, question)
    rows = tuple(_row(*each, question) for each in zip(measured, decided, q_values, parts, strict=True))
    return Comparisons(
        question.alpha, question.margin, str(question.statistic), rows, prior.df, _mean_ratios(rows), tuple(warnings)
    )


def _measured(pair: Pair, statistic: Statistic) -> _Measured:
    factor = conversion(pair.after.metric.unit, pair.before.metric.unit)
    before = np.array([statistic.of(values) for values in pair.before.steady])
    after = factor * np.array([statistic.of(values) for values in pair.after.steady])
    if min(before.min(), after.min()) > 0.0:
        return _Measured(pair, before, after, Scale(None), difference(np.log(before), np.log(after)))
    unit = abs(float(before.mean()))
    return _Measured(pair, before, after, Scale(unit), difference(before / (unit or 1.0), after / (unit or 1.0)))


def _prior(measured: Sequence[_Measured]) -> VariancePrior:
    deviations = [_unsteadiness(each.pair) for each in measured]
    related = [np.log(np.array(deviations, dtype=np.float64))] if all(deviations) else []
    variances = np.array([each.decided.variance for each in measured])
    return variance_prior(variances, np.array([each.decided.own for each in measured]), related)


def _unsteadiness(pair: Pair) -> float | None:
    """The mean over all runs of how unsteady they are within; None where a run is too short to tell."""
    found = [batch_deviation(values) for sample in (pair.before, pair.after) for values in sample.steady]
    told = [one for one in found if one is not None]
    return fmean(told) if len(told) == len(found) else None


def _row(
    measured: _Measured,
    decided: Difference,
    q_value: float | None,
    clusters: tuple[ClusterChange, ...],
    question: Question,
) -> Comparison:
    first = measured.pair.before
    return Comparison(
        benchmark=first.benchmark,
        configuration=first.configuration,
        workload=first.workload,
        metric=first.metric,
        change=judged(decided, q_value, question, measured.scale, first.metric.better),
        before=_side(first, measured.before, decided, question),
        after=_side(measured.pair.after, measured.after, decided, question),
        clusters=clusters,
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
        ratio = row.change.ratio
        if ratio is not None and ratio > 0.0:
            logs[row.metric.name].append(math.log(ratio))
    return {name: math.exp(fmean(own)) for name, own in logs.items() if len(own) > 1}
