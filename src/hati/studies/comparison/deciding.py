"""Whether two samples differ, for many benchmarks at once."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

import numpy as np

from hati.core import Better, FloatArray, InputError, Sample, conversion
from hati.harness import disturbances
from hati.stats import Difference, VariancePrior, adaptive_benjamini_hochberg, difference, variance_prior
from hati.studies.comparison.conclusion import Comparison, Comparisons, Side, Verdict
from hati.studies.comparison.matching import Pair
from hati.studies.comparison.statistic import MEAN, Statistic, batch_deviation

ALPHA = 0.01
MARGIN = 0.05
POWER = 0.8


@dataclass(frozen=True)
class Question:
    """What is asked: changes at the level ``alpha``, equality within a ``margin``, of a ``statistic`` of runs.

    Raises:
        InputError: for an alpha or a margin that is not between 0 and 1.
    """

    alpha: float = ALPHA
    margin: float = MARGIN
    statistic: Statistic = MEAN

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 1.0:
            raise InputError(f"alpha is a probability between 0 and 1, not {self.alpha:g}")
        if not 0.0 < self.margin < 1.0:
            raise InputError(f"the margin is between 0 and 100 %, not {self.margin:g}", fix="write 5%")

    @property
    def limit(self) -> float:
        """The margin on the logarithmic scale: slower by it and faster by it are as far from the same."""
        return math.log1p(self.margin)


class _Measured(NamedTuple):
    """A pair's run values, both in the first's unit, and their difference on the scale that decides."""

    pair: Pair
    before: FloatArray
    after: FloatArray
    scale: float | None
    decided: Difference


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
    measured = [_measured(pair, question.statistic) for pair in found]
    prior = _prior(measured)
    decided = [each.decided.borrowing(prior, place) for place, each in enumerate(measured)]
    told = [place for place, each in enumerate(decided) if each.told and measured[place].scale != 0.0]
    adjusted = adaptive_benjamini_hochberg(np.array([decided[place].p_value for place in told]))
    q_values = dict(zip(told, adjusted.tolist(), strict=True))
    rows = tuple(_row(each, decided[place], q_values.get(place), question) for place, each in enumerate(measured))
    return Comparisons(
        question.alpha, question.margin, str(question.statistic), rows, prior.df, _mean_ratios(rows), tuple(warnings)
    )


def _measured(pair: Pair, statistic: Statistic) -> _Measured:
    factor = conversion(pair.after.metric.unit, pair.before.metric.unit)
    before = np.array([statistic.of(values) for values in pair.before.steady])
    after = factor * np.array([statistic.of(values) for values in pair.after.steady])
    if min(before.min(), after.min()) > 0.0:
        return _Measured(pair, before, after, None, difference(np.log(before), np.log(after)))
    scale = abs(float(before.mean()))
    return _Measured(pair, before, after, scale, difference(before / (scale or 1.0), after / (scale or 1.0)))


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


def _row(measured: _Measured, decided: Difference, q_value: float | None, question: Question) -> Comparison:
    pair, known = measured.pair, q_value is not None
    width = decided.half_width(1.0 - question.alpha)
    detectable = decided.detectable(question.alpha, POWER) if known else math.inf
    needed = decided.runs_needed(question.alpha, -question.limit, question.limit) if known else None

    def ratio(size: float) -> float:
        return math.exp(size) if measured.scale is None else 1.0 + size

    return Comparison(
        benchmark=pair.before.benchmark,
        configuration=pair.before.configuration,
        workload=pair.before.workload,
        metric=pair.before.metric,
        verdict=_verdict(decided, q_value, question, pair.before.metric.better),
        before=_side(pair.before, measured.before, decided, question),
        after=_side(pair.after, measured.after, decided, question),
        ratio=None if measured.scale == 0.0 else ratio(decided.estimate),
        interval=(ratio(decided.estimate - width), ratio(decided.estimate + width)) if known else None,
        p_value=decided.p_value if known else None,
        q_value=q_value,
        detectable=ratio(detectable) - 1.0 if math.isfinite(detectable) else None,
        runs_needed=needed,
    )


def _verdict(decided: Difference, q_value: float | None, question: Question, better: Better) -> Verdict:
    if q_value is None:
        return Verdict.INCONCLUSIVE
    if decided.within(-question.limit, question.limit) <= question.alpha:
        return Verdict.SAME
    if q_value > question.alpha:
        return Verdict.INCONCLUSIVE
    worse = decided.estimate > 0.0 if better is Better.LOWER else decided.estimate < 0.0
    return Verdict.SLOWER if worse else Verdict.FASTER


def _side(sample: Sample, values: FloatArray, decided: Difference, question: Question) -> Side:
    alone = Difference(0.0, decided.variance / 2.0, decided.own, (len(values), len(values)), decided.borrowed)
    width = alone.half_width(1.0 - question.alpha)
    return Side(
        float(values.mean()),
        width if math.isfinite(width) else None,
        len(values),
        sample.revision,
        sample.machine,
        sum(map(bool, disturbances([run.usage for run in sample.runs]))),
    )


def _mean_ratios(rows: Sequence[Comparison]) -> dict[str, float]:
    logs = defaultdict[str, list[float]](list)
    for row in rows:
        if row.ratio is not None and row.ratio > 0.0:
            logs[row.metric.name].append(math.log(row.ratio))
    return {name: math.exp(fmean(own)) for name, own in logs.items() if len(own) > 1}
