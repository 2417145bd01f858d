"""Clusters of observations that runs have in common, and which of two samples' belong together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, replace
from hati.stats.valleys import valley

LEAST_SHARE = 0.05
"""A smaller part of the observations is outliers: too few in a run for a median that is compared."""
_LEVELS = np.arange(1, 200) / 200


class Cluster(Struct, frozen=True, eq=False):
    """One cluster of a sample: the ``medians`` of the runs that have observations in it, and each run's share in it."""

    medians: FloatArray
    shares: FloatArray

    @property
    def centre(self) -> float:
        """The median of the runs' medians."""
        return float(np.median(self.medians))

    def moved(self, shift: float) -> Cluster:
        """The same, all observations being larger by that."""
        return replace(self, medians=self.medians + shift)

    @property
    def share(self) -> float:
        """The mean of the runs' shares."""
        return float(np.mean(self.shares))


def cluster_cuts(runs: Sequence[FloatArray]) -> tuple[float, ...]:
    """Where a sample's clusters end, ascending; empty where it is one cluster.

    The sample is divided at its deepest `valley`, and so is each part, as long as there is one with at least a
    twentieth of all observations on both sides.

    Args:
        runs: observations, shape (n,) each; commonly logarithms.
    """
    fewest = max(1, round(LEAST_SHARE * sum(map(len, runs))))
    return _cuts(runs, fewest)


def _cuts(runs: Sequence[FloatArray], fewest: int) -> tuple[float, ...]:
    cut = valley(runs, fewest)
    if cut is None:
        return ()
    below = _cuts([values[values < cut] for values in runs], fewest)
    return (*below, cut, *_cuts([values[values >= cut] for values in runs], fewest))


def clusters(runs: Sequence[FloatArray], cuts: Sequence[float]) -> tuple[Cluster, ...]:
    """The parts of a sample that cuts make, one more than cuts, each with at least one observation in some run."""
    parts = [np.split(values, np.searchsorted(values, cuts)) for values in map(np.sort, runs)]
    found = []
    for own in zip(*parts, strict=True):
        medians = [float(np.median(values)) for values in own if len(values)]
        shares = [len(values) / len(run) for values, run in zip(own, runs, strict=True)]
        found.append(Cluster(np.array(medians), np.array(shares)))
    return tuple(found)


def common_shift(first: Sequence[FloatArray], second: Sequence[FloatArray]) -> float:
    """By how much most of the second sample's observations are larger: the middle of the shortest third of differences.

    The differences are those of quantiles, at 199 levels. Fractions that moved change some of them by the distance of
    clusters, and leave the others, which are alike (after the shortest half: Rousseeuw and Leroy 1987, Robust
    Regression and Outlier Detection, section 4.2).
    """
    levels = [np.quantile(np.concatenate(runs), _LEVELS) for runs in (first, second)]
    differences = np.sort(levels[1] - levels[0])
    third = len(differences) // 3
    start = int(np.argmin(differences[third:] - differences[: len(differences) - third]))
    return float(np.median(differences[start : start + third + 1]))


def matched_clusters(first: Sequence[FloatArray], second: Sequence[FloatArray]) -> tuple[tuple[Cluster, Cluster], ...]:
    """The clusters of two samples in pairs, ascending; one pair where neither has several.

    The samples are aligned by what all observations moved (`common_shift`) and divided at the same places, so that a
    common shift moves the cuts with it. Where each sample by itself has evidently the same clusters, but other ones
    than both together, one of these moved alone: then each is divided by itself. A cluster that only the one sample has
    is one without a share in the other.
    """
    shift = common_shift(first, second)
    aligned = [values - shift for values in second]
    own = cluster_cuts(first), cluster_cuts(aligned)
    if own == ((), ()):
        return tuple(zip(clusters(first, ()), clusters(second, ()), strict=True))
    smaller = min(sum(map(len, runs)) for runs in (first, second))
    joint = _cuts([*first, *aligned], max(1, round(LEAST_SHARE * smaller)))
    found = clusters(first, own[0]), clusters(aligned, own[1])
    if len(joint) == len(own[0]) or not _alike(*found):
        cuts = joint if len(joint) >= max(map(len, own)) else sorted({*own[0], *own[1]})
        found = _divided(first, aligned, cuts)
    return tuple((before, after.moved(shift)) for before, after in zip(*found, strict=True))


def _divided(
    first: Sequence[FloatArray], second: Sequence[FloatArray], cuts: Sequence[float]
) -> tuple[tuple[Cluster, ...], tuple[Cluster, ...]]:
    """Both samples at the same cuts, without those that make a cluster that is small in both."""
    left = list(cuts)
    while True:
        found = clusters(first, left), clusters(second, left)
        shares = [max(before.share, after.share) for before, after in zip(*found, strict=True)]
        thin = [place for place, share in enumerate(shares) if share < LEAST_SHARE]
        if not thin or not left:
            return found
        del left[max(thin[0] - 1, 0)]


def _alike(first: Sequence[Cluster], second: Sequence[Cluster]) -> bool:
    """Whether each cluster's centre is nearest to that of the same place, seen from both samples."""
    away = np.abs(np.subtract.outer([part.centre for part in first], [part.centre for part in second]))
    order = np.arange(len(first))
    return len(first) == len(second) and bool(
        np.array_equal(away.argmin(axis=0), order) and np.array_equal(away.argmin(axis=1), order)
    )
