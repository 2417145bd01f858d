"""Two samples compared cluster by cluster: a change of a fast path under a slow one (Kalibera paper, section 4.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hati.core import Better, conversion, replace
from hati.stats import Cluster, Difference, difference, matched_clusters, rank_shift
from hati.studies.comparison.conclusion import Change, ChangeVerdict, ClusterChange, ClusterSide
from hati.studies.comparison.decisions import Decision, corrected, p_values_of
from hati.studies.comparison.matching import SamplePair
from hati.studies.comparison.statistic import Question


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
