"""Decisions on two samples of run values, for many benchmarks at once: arrays in, decisions out.

Also cluster by cluster: a change of a fast path under a slow one (Kalibera paper, section 4.2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hati.core import Better, FloatArray, conversion, replace
from hati.stats import (
    Bridge,
    Cluster,
    Difference,
    VariancePrior,
    adaptive_benjamini_hochberg,
    critical_p_value,
    difference,
    difference_of_means,
    earlier_variances,
    joined,
    least_ratio,
    matched_clusters,
    rank_shift,
    ratio_interval,
    t_quantile,
    variance_prior,
)
from hati.studies.comparison.conclusion import TAIL_PART, Change, ChangeVerdict, ClusterChange, ClusterSide
from hati.studies.comparison.matching import SamplePair
from hati.studies.comparison.statistic import Question, RunValues

POWER = 0.8
DIRECTION = 0.05
"""The one-sided level at which the mean must have moved as the tail did: the tail alone is not slower or faster."""
_LARGEST = 700.0
"""The logarithm of the largest ratio."""


class Sides(NamedTuple):
    """The run values of two samples, and of earlier ones of the same, all in one unit.

    Values are multiples of ``tick``, 0 if unknown: the variance that rounding adds is the least of their noise.
    ``bridges`` are the run values of revisions that both machines measured, if machine and revision differ together;
    otherwise None. Where ``of_means``, one side is a mean of observations, with which the other's arithmetic mean is
    compared: logarithms would compare the other's geometric mean.
    """

    before: RunValues
    after: RunValues
    earlier: tuple[RunValues, ...] = ()
    tick: float = 0.0
    bridges: tuple[tuple[RunValues, RunValues], ...] | None = None
    of_means: bool = False

    @property
    def rounding(self) -> float:
        """The variance that rounding adds to a run, as a fraction of its value squared."""
        return (self.tick / (float(self.before.values.mean()) or 1.0)) ** 2 / 12.0


class MeanSides(NamedTuple):
    """The same runs by their ``mean``, and by their ``tail``, which is the mean relative to the statistic.

    A change of only a part of the observations changes the tail. What the mean and the statistic have in common, such
    as the level of each run, cancels in it.
    """

    mean: Sides
    tail: Sides

    @classmethod
    def of(cls, mean: Sides, own: Sides) -> MeanSides:
        """Combine run values by the mean and by the statistic; all values of both samples are above zero."""
        earlier = zip(mean.earlier, own.earlier, strict=True)
        tails = (one.relative_to(other) for one, other in earlier if min(one.values.min(), other.values.min()) > 0.0)
        bridges = None
        if mean.bridges is not None and own.bridges is not None:
            both = zip(mean.bridges, own.bridges, strict=True)
            bridges = tuple((a.relative_to(c), b.relative_to(d)) for (a, b), (c, d) in both if _positive((c, d)))
        before, after = mean.before.relative_to(own.before), mean.after.relative_to(own.after)
        tail = Sides(before, after, tuple(tails), bridges=bridges)
        return cls(mean, tail)


class MeanDifference(NamedTuple):
    """The differences of mean and tail, with the noise estimated from all pairs."""

    mean: Difference
    tail: Difference

    @property
    def testable(self) -> bool:
        """Whether the tail can be tested: not if runs have so few observations that the statistic is their mean."""
        return self.tail.testable and (self.tail.standard_error > 0.0 or self.tail.estimate != 0.0)

    @property
    def p_value(self) -> float:
        """The p-value of no change of the tail, 1 if the mean is not shown to have moved in its direction.

        Runs whose fast path gets faster have a longer tail and a smaller mean.
        """
        same_way = self.mean.estimate * self.tail.estimate > 0.0
        return self.tail.p_value if same_way and self.mean.p_value <= 2.0 * DIRECTION else 1.0


class Decision(NamedTuple):
    """The difference of a pair, with its noise estimated from all pairs.

    It is of logarithms, or, if ``scale`` is given, of values divided by the scale: the size of the first mean, unless
    that is zero. ``q_value`` is the p-value corrected for all pairs, None if the noise is unknown; ``level`` is the
    largest p-value that is significant, given the others. If the statistic is not the mean and ``rest`` is given, the
    tail has a part of the level. ``least`` is the least possible ratio.
    """

    decided: Difference
    scale: float | None
    q_value: float | None
    level: float
    rest: MeanDifference | None = None
    least: float = -math.inf

    @property
    def p_value(self) -> float:
        """The p-value of no difference of statistic and tail, each with its part of alpha (weighted Bonferroni)."""
        return p_value_of(self.decided, self.rest)

    @property
    def own_level(self) -> float:
        """The largest p-value of the statistic alone that is significant."""
        return self.level if self.rest is None else self.level * (1.0 - TAIL_PART)

    @property
    def of_tail(self) -> bool:
        """Whether the tail differs: alone, or in the opposite direction to the statistic and by more than that."""
        if self.rest is None or self.q_value is None or self.rest.p_value > self.level * TAIL_PART:
            return False
        opposite = self.decided.estimate * self.rest.tail.estimate < 0.0
        return opposite or self.decided.p_value > self.own_level

    @property
    def leading(self) -> Difference:
        """The difference whose estimate and interval are reported."""
        return self.rest.tail if self.rest is not None and self.of_tail else self.decided

    @property
    def levels(self) -> tuple[Difference, ...]:
        """The differences that must lie within the margin for two to be the same: of the statistic and of the mean."""
        return (self.decided,) if self.rest is None else (self.decided, self.rest.mean)

    def within(self, question: Question) -> float:
        """The p-value of lying within the margin."""
        return max(part.within(-question.limit, question.limit) for part in self.levels)

    def shifted(self, shift: float) -> Decision:
        """The same decision with all values of the second sample larger by ``shift`` on the scale."""
        decided = replace(self.decided, estimate=self.decided.estimate + shift)
        if self.rest is None:
            return self._replace(decided=decided)
        mean = replace(self.rest.mean, estimate=self.rest.mean.estimate + shift)
        return self._replace(decided=decided, rest=self.rest._replace(mean=mean))

    def change(self, question: Question, better: Better) -> Change:
        """The reported change; ratios of a first mean of zero are None."""
        decided, verdict = self.leading, self.verdict(question, better)
        part = 1.0
        if self.rest is not None:
            part = TAIL_PART if self.of_tail else 1.0 - TAIL_PART
        if self.scale == 0.0:
            return Change(verdict, p_value=None if self.q_value is None else self.p_value, q_value=self.q_value)
        interval = self._interval(decided, 1.0 - part * question.alpha)
        if self.q_value is None:
            return Change(verdict, _finite(self._ratio(decided.estimate)), interval)
        return Change(
            verdict=verdict,
            ratio=_finite(self._ratio(decided.estimate)),
            interval=interval,
            p_value=self.p_value,
            q_value=self.q_value,
            detectable=_finite(self._ratio(self._detectable(question)) - 1.0),
            runs_needed=self._runs_needed(question, verdict),
            of_tail=self.of_tail,
        )

    def _interval(self, decided: Difference, confidence: float) -> tuple[float, float] | None:
        """The interval of the ratio; None if it has no end."""
        width = decided.half_width(confidence)
        if self.scale is None or self.least < 0.0 or not decided.standard_error:
            low, high = self._ratio(decided.estimate - width), self._ratio(decided.estimate + width)
            return (low, high) if math.isfinite(high) else None
        first, second = (decided.variance / runs for runs in decided.runs)
        return ratio_interval(1.0 + decided.estimate, first, second, 0.0, width / decided.standard_error)

    def _runs_needed(self, question: Question, verdict: ChangeVerdict) -> int | None:
        """The runs that find a change of the statistic, or show it and the mean to be within the margin."""
        own, alpha, limit = self.decided, question.alpha, question.limit
        needed = own.runs_needed(alpha, -limit, limit, self.own_level)
        if self.rest is None or abs(own.estimate) > limit:
            return needed
        mean = self.rest.mean.runs_needed(alpha, -limit, limit, self.own_level)
        same = None if needed is None or mean is None else max(needed, mean)
        changed = None if self._slight(question) else own.runs_needed(alpha, 0.0, 0.0, self.own_level)
        found = min((each for each in (same, changed) if each is not None), default=None)
        return found if found is None or verdict is not ChangeVerdict.INCONCLUSIVE else max(found, min(own.runs) + 1)

    def verdict(self, question: Question, better: Better) -> ChangeVerdict:
        """SAME if two one-sided tests show it, else a change if it is significant over all pairs.

        A change that is shown to be within the margin is not reported, even if the means may differ by more.
        """
        if self.q_value is None:
            return ChangeVerdict.INCONCLUSIVE
        if self._same(question):
            return ChangeVerdict.SAME
        if self.q_value > question.alpha or self._slight(question):
            return ChangeVerdict.INCONCLUSIVE
        worse = self.leading.estimate > 0.0 if better is Better.LOWER else self.leading.estimate < 0.0
        return ChangeVerdict.SLOWER if worse else ChangeVerdict.FASTER

    def _same(self, question: Question) -> bool:
        """Whether both are the same; no margin is a fraction of a mean of zero, so only equal values are the same."""
        if self.scale == 0.0:
            return self.decided.estimate == self.decided.standard_error == 0.0
        return self.within(question) <= question.alpha

    def _slight(self, question: Question) -> bool:
        """Whether the reported difference is shown to be within the margin; never for a first mean of zero."""
        limit = question.limit
        return self.scale != 0.0 and self.leading.within(-limit, limit) <= question.alpha

    def _detectable(self, question: Question) -> float:
        """The change that is significant with the power, and not shown to be within the margin."""
        decided = self.decided
        apart = t_quantile(1.0 - question.alpha, decided.df) - t_quantile(POWER, decided.df)
        return max(decided.detectable(self.own_level, POWER), question.limit - apart * decided.standard_error)

    def _ratio(self, size: float) -> float:
        return ratio_of(size, self.scale)


def decide(
    sides: Sequence[Sides], question: Question, rest: Sequence[MeanSides | None] = ()
) -> tuple[list[Decision], VariancePrior]:
    """The decisions on pairs that are compared together, and the prior of their variances.

    If ``rest`` is given, for each pair or None, a change of the mean is tested, too.
    """
    decided, scales, prior = _informed(sides)
    kept = _mean_differences(rest or [None] * len(sides))
    p_values = [p_value_of(own, other) if own.testable else None for own, other in zip(decided, kept, strict=True)]
    corrections = corrected(p_values, question.alpha)
    found = [
        Decision(own, scale, *correction, other, least_ratio(each.before.values, each.after.values))
        for each, own, scale, correction, other in zip(sides, decided, scales, corrections, kept, strict=True)
    ]
    return found, prior


def p_value_of(decided: Difference, rest: MeanDifference | None) -> float:
    """The p-value of no difference, of the statistic or of the tail."""
    if rest is None:
        return decided.p_value
    return min(1.0, decided.p_value / (1.0 - TAIL_PART), rest.p_value / TAIL_PART)


def p_values_of(decided: Sequence[Difference | None]) -> list[float | None]:
    """The p-values of differences, None without a difference or if the noise is unknown."""
    return [one.p_value if one is not None and one.testable else None for one in decided]


def corrected(p_values: Sequence[float | None], alpha: float) -> list[tuple[float | None, float]]:
    """P-values corrected for their number, and the largest value at which each would be significant at alpha."""
    tested = [place for place, one in enumerate(p_values) if one is not None]
    known = np.array([one for one in p_values if one is not None])
    adjusted = adaptive_benjamini_hochberg(known).tolist()
    levels = [critical_p_value(np.delete(known, place), alpha) for place in range(len(tested))]
    found = dict(zip(tested, zip(adjusted, levels, strict=True), strict=True))
    return [found.get(place, (None, alpha)) for place in range(len(p_values))]


def _informed(sides: Sequence[Sides]) -> tuple[list[Difference], list[float | None], VariancePrior]:
    """The differences with noise estimated from earlier samples and the other pairs, too, and their scales."""
    differences = _remembering(sides, [_difference(each) for each in sides])
    prior = _prior(sides, [own for own, _ in differences])
    borrowed = [own.borrowing(prior, place) for place, (own, _) in enumerate(differences)]
    scales = [scale for _, scale in differences]
    decided = list(map(_joined, sides, borrowed, scales))
    return decided, scales, prior


def _joined(sides: Sides, apart: Difference, scale: float | None) -> Difference:
    """The difference without that of the machines; this needs logarithms."""
    if sides.bridges is None:
        return apart
    known = [Bridge.of(*(one.values for one in both)) for both in sides.bridges if _positive(both)]
    noise = sides.rounding * (1.0 / apart.runs[0] + 1.0 / apart.runs[1])
    return joined(apart, known if scale is None else (), noise)


def _positive(both: tuple[RunValues, RunValues]) -> bool:
    return all(float(one.values.min()) > 0.0 for one in both)


def _mean_differences(rest: Sequence[MeanSides | None]) -> list[MeanDifference | None]:
    there = [each for each in rest if each is not None]
    if not there:
        return [None] * len(rest)
    means, tails = (_informed(sides)[0] for sides in zip(*there, strict=True))
    found = iter(map(MeanDifference, means, tails))
    both = [None if each is None else next(found) for each in rest]
    return [each if each is not None and each.testable else None for each in both]


def on_scale(sides: Sides) -> tuple[FloatArray, FloatArray, float | None]:
    """Both samples' values as they are compared: logarithms, or divided by the scale, which is None for logarithms."""
    before, after = sides.before.values, sides.after.values
    if not sides.of_means and min(before.min(), after.min()) > 0.0:
        return np.log(before), np.log(after), None
    scale = abs(float(before.mean()))
    return before / (scale or 1.0), after / (scale or 1.0), scale


def ratio_of(size: float, scale: float | None) -> float:
    """A difference on that scale as the ratio of the second to the first; infinite beyond the range of numbers."""
    if scale is not None:
        return 1.0 + size
    return math.exp(size) if size < _LARGEST else math.inf


def spread_of(width: float, mean: float, scale: float | None) -> float | None:
    """The half-width of a mean's interval on that scale as a fraction of the mean; None if there is none."""
    if not math.isfinite(width) or (scale is not None and mean == 0.0):
        return None
    return width if scale is None else width * (scale or 1.0) / abs(mean)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _difference(sides: Sides) -> tuple[Difference, float | None]:
    before, after, scale = on_scale(sides)
    means = [
        side.mean_on(values, float(side.values.mean()) if scale is None else scale or 1.0)
        for side, values in ((sides.before, before), (sides.after, after))
    ]
    found = difference_of_means(*means)
    return replace(found, variance=max(found.variance, sides.rounding)), scale


def _prior(sides: Sequence[Sides], differences: Sequence[Difference]) -> VariancePrior:
    """The prior of variances, related to the mean unsteadiness within runs if all runs are long enough for it."""
    unsteady = np.array([np.mean([*each.before.unsteady, *each.after.unsteady]) for each in sides])
    related = [] if np.isnan(unsteady).any() else [np.log(unsteady)]
    variances = np.array([each.variance for each in differences])
    return variance_prior(variances, np.array([each.df for each in differences]), related)


def _remembering(
    sides: Sequence[Sides], differences: Sequence[tuple[Difference, float | None]]
) -> list[tuple[Difference, float | None]]:
    """The differences with noise estimated from earlier samples, too, each about its own mean."""
    if not any(each.earlier for each in sides):
        return list(differences)
    known = [_earlier(each, scale) for each, (_, scale) in zip(sides, differences, strict=True)]
    variances, df = (np.array([getattr(own, name) for own, _ in differences]) for name in ("variance", "own"))
    found = earlier_variances(variances, df, *(np.array(part) for part in zip(*known, strict=True)))
    return [
        (own.remembering(float(variance), float(worth)), scale)
        for (own, scale), variance, worth in zip(differences, *found, strict=True)
    ]


def _earlier(sides: Sides, scale: float | None) -> tuple[float, float]:
    """The pooled variance of earlier samples, on the scale of the difference, and its degrees of freedom."""
    values = [each.values for each in sides.earlier if scale is not None or each.values.min() > 0.0]
    scaled = [np.log(each) if scale is None else each / (scale or 1.0) for each in values]
    df = sum(len(each) - 1 for each in scaled)
    squares = sum(float(((each - each.mean()) ** 2).sum()) for each in scaled)
    return (squares / df, float(df)) if df else (0.0, 0.0)


class _Matched(NamedTuple):
    """A cluster of both samples; the difference of its centres is None if a sample has no run in it."""

    before: Cluster
    after: Cluster
    moved: Difference | None
    mixed: Difference


def cluster_changes(found: Sequence[SamplePair], question: Question) -> list[tuple[ClusterChange, ...]]:
    """The changes of each pair's clusters, ascending; empty with one cluster, or if a value is not above zero.

    The run is the unit here, too: it counts by the median of its observations in the cluster, and by their share.
    Centres of ten runs or more are compared by ranks: runs with a slow fast path throughout hide no change of others.
    The p-values of all pairs' centres are corrected together, and so are those of the shares (false discovery rate).
    If shares of a pair changed, only these are reported.
    """
    matched = [_matched(pair) for pair in found]
    every = [cluster for own in matched for cluster in own]
    moved = iter(corrected(p_values_of([one.moved for one in every]), question.alpha))
    mixed = iter(corrected(p_values_of([one.mixed for one in every]), question.alpha))
    return [
        _of_one_kind([_changed(one, next(moved), next(mixed)[0], question, pair.before.metric.better) for one in own])
        for pair, own in zip(found, matched, strict=True)
    ]


def _of_one_kind(parts: Sequence[ClusterChange]) -> tuple[ClusterChange, ...]:
    """The changes, without those of centres if shares moved: observations that switch clusters move both."""
    if not any(part.share_moved for part in parts):
        return tuple(parts)
    return tuple(
        replace(part, change=Change(ChangeVerdict.INCONCLUSIVE)) if part.change.changed else part for part in parts
    )


def _matched(pair: SamplePair) -> list[_Matched]:
    factor = conversion(pair.after.metric.unit, pair.before.metric.unit)
    sides = pair.before.steady, tuple(factor * values for values in pair.after.steady)
    if min(float(values.min()) for side in sides for values in side) <= 0.0:
        return []
    both = matched_clusters(*([np.log(values) for values in side] for side in sides))
    if len(both) == 1:
        return []
    return [_Matched(first, second, _moved(first, second), _mixed(first, second)) for first, second in both]


def _moved(first: Cluster, second: Cluster) -> Difference | None:
    return rank_shift(first.medians, second.medians) if min(len(first.medians), len(second.medians)) > 0 else None


def _mixed(first: Cluster, second: Cluster) -> Difference:
    return difference(first.shares, second.shares)


def _changed(
    matched: _Matched, moved: tuple[float | None, float], mixed: float | None, question: Question, better: Better
) -> ClusterChange:
    nothing = Change(ChangeVerdict.INCONCLUSIVE)
    return ClusterChange(
        nothing if matched.moved is None else Decision(matched.moved, None, *moved).change(question, better),
        _side(matched.before),
        _side(matched.after),
        matched.mixed.p_value if matched.mixed.testable else None,
        mixed,
        mixed is not None and mixed <= question.alpha < matched.mixed.within(-question.margin, question.margin),
    )


def _side(cluster: Cluster) -> ClusterSide:
    runs = len(cluster.medians)
    return ClusterSide(math.exp(cluster.centre) if runs else None, cluster.share, runs)
