"""Clusters of observations that runs have in common, and which of two samples' belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hati.core import FloatArray
from hati.stats.valleys import valley

_LEAST_SHARE = 0.01


@dataclass(frozen=True, eq=False)
class Cluster:
    """One cluster of a sample: the ``medians`` of the runs that have observations in it, and each run's share in it."""

    medians: FloatArray
    shares: FloatArray

    @property
    def centre(self) -> float:
        """The median of the runs' medians."""
        return float(np.median(self.medians))

    @property
    def share(self) -> float:
        """The mean of the runs' shares."""
        return float(np.mean(self.shares))


def cluster_cuts(runs: Sequence[FloatArray]) -> tuple[float, ...]:
    """Where a sample's clusters end, ascending; empty where it is one cluster.

    The sample is divided at its deepest `valley`, and so is each part, as long as there is one with at least a
    hundredth of all observations on both sides.

    Args:
        runs: observations, shape (n,) each; commonly logarithms.
    """
    fewest = max(1, round(_LEAST_SHARE * sum(map(len, runs))))
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


def matched_clusters(first: Sequence[FloatArray], second: Sequence[FloatArray]) -> tuple[tuple[Cluster, Cluster], ...]:
    """The clusters of two samples in pairs, ascending; one pair where neither has several.

    Each sample is divided by itself, so that a cluster that moved is still one. Where these are not evidently the
    same clusters, both samples are divided at the cuts of both: one that only the one sample has is one without a
    share in the other.
    """
    own = cluster_cuts(first), cluster_cuts(second)
    if own == ((), ()):
        return tuple(zip(clusters(first, ()), clusters(second, ()), strict=True))
    parts = clusters(first, own[0]), clusters(second, own[1])
    if _alike(*parts):
        return tuple(zip(*parts, strict=True))
    cuts = sorted({*own[0], *own[1]})
    while True:
        both = list(zip(clusters(first, cuts), clusters(second, cuts), strict=True))
        thin = [place for place, pair in enumerate(both) if max(pair[0].share, pair[1].share) < _LEAST_SHARE]
        if not thin:
            return tuple(both)
        del cuts[max(thin[0] - 1, 0)]


def _alike(first: Sequence[Cluster], second: Sequence[Cluster]) -> bool:
    """Whether each cluster's centre is nearest to that of the same place, seen from both samples."""
    away = np.abs(np.subtract.outer([part.centre for part in first], [part.centre for part in second]))
    order = np.arange(len(first))
    return len(first) == len(second) and bool(
        np.array_equal(away.argmin(axis=0), order) and np.array_equal(away.argmin(axis=1), order)
    )
