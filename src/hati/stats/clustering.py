"""Clusters of observations, separated at valleys of the density that runs have in common, and the matching of two
samples' clusters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, replace

_FEWEST = 40
_CELLS = 2**13
_PER_BANDWIDTH = 4
_COARSEST = 0.5
_REACH = 8.0
_EVIDENCE = 5.0
"""Least evidence for a valley against both its sides, in standard deviations. It is high because the deepest of many
places is chosen and observations are autocorrelated; shapes with one mode, heavy tails and outliers show less."""
_DEPTH = 0.5
_SUMMARY_LEVELS = np.linspace(0.05, 0.95, 19)
_EFFECTIVE = 2.0 * math.sqrt(math.pi)


class _Place(NamedTuple):
    """A valley of a smoothed density, as cells, and the evidence for it."""

    left: int
    bottom: int
    right: int
    evidence: float


def valley(runs: Sequence[FloatArray], fewest: int = 1) -> float | None:
    """The value where the density of all runs' observations is lowest between two modes; None where it has one mode.

    Kernel estimates of the density, from coarse to fine, are searched for the valley with the most evidence: smoothing
    with a normal kernel creates no modes (Silverman 1981, J. Royal Statistical Society B 43, 97-99), so a significant
    valley is one of the density itself. It counts if it is at most half as high as the lower of its sides, in all
    observations together and in more than half of the runs: a difference between runs is not a cluster.

    Args:
        runs: observations, shape (n,) each; commonly logarithms, so that clusters of all sizes are about as wide.
        fewest: the smallest number of observations on each side.

    >>> rng = np.random.default_rng(1)
    >>> runs = [np.concatenate([rng.normal(0.0, 0.1, 60), rng.normal(4.0, 0.1, 40)]) for _ in range(3)]
    >>> 1.0 < valley(runs) < 3.0
    True
    """
    runs = [np.sort(values) for values in runs if len(values)]
    if sum(map(len, runs)) < max(_FEWEST, 2 * fewest):
        return None
    spread = float(np.std(np.concatenate(runs)))
    finest = _finest_bandwidth(runs)
    if finest <= 0.0:
        return None
    density = _Density.of(runs, finest)
    bandwidth = max(_COARSEST * spread, finest)
    while True:
        place = density.deepest(bandwidth)
        if place.evidence >= _EVIDENCE and density.divides(place, bandwidth, fewest):
            return density.low + place.bottom * density.step
        if bandwidth <= finest:
            return None
        bandwidth = max(bandwidth / 2.0, finest)


def _finest_bandwidth(runs: Sequence[FloatArray]) -> float:
    """The bandwidth below which a density shows chance, the clock's tick, or shifts between runs; runs are sorted.

    The limit for chance is Silverman's (1986, Density Estimation for Statistics and Data Analysis, equation 3.31).
    """
    pooled = np.concatenate(runs)
    low, high = np.quantile(pooled, (0.25, 0.75))
    spread = float(np.std(pooled))
    narrow = min(spread, float(high - low) / 1.349) or spread
    steps = [np.diff(values) for values in runs]
    ticks = [float(np.median(step[step > 0.0])) for step in steps if np.any(step > 0.0)]
    summaries = [values[np.rint(_SUMMARY_LEVELS * (len(values) - 1)).astype(np.int64)] for values in runs]
    shift = float(np.median(np.std(summaries, axis=0, ddof=1))) if len(summaries) > 1 else 0.0
    tick = float(np.median(ticks)) if ticks else 0.0
    silverman = 0.9 * narrow / math.pow(len(pooled), 0.2)
    return max(silverman, tick, shift)


class _Density(Struct, frozen=True, eq=False):
    """Observations counted in cells of the width ``step`` about ``low``, ``low + step``, ...: shape (runs, cells)."""

    low: float
    step: float
    counts: FloatArray

    @classmethod
    def of(cls, runs: Sequence[FloatArray], finest: float) -> _Density:
        low = min(float(values.min()) for values in runs)
        high = max(float(values.max()) for values in runs)
        step = max(finest / _PER_BANDWIDTH, (high - low) / (_CELLS - 1))
        cells = math.ceil((high - low) / step) + 1
        counted = [np.bincount(np.rint((values - low) / step).astype(np.int64), minlength=cells) for values in runs]
        return cls(low, step, np.array(counted, dtype=np.float64))

    def deepest(self, bandwidth: float) -> _Place:
        """The valley with the most evidence at that bandwidth.

        Heights are effective numbers of observations, whose square roots have the variance 1/4 at any height.
        """
        heights = self._smoothed(bandwidth)
        sides = np.minimum(np.maximum.accumulate(heights), np.maximum.accumulate(heights[::-1])[::-1])
        evidence = math.sqrt(2.0) * (np.sqrt(sides) - np.sqrt(heights))
        lowest = int(np.argmax(evidence))
        left = int(np.argmax(heights[: lowest + 1]))
        right = lowest + int(np.argmax(heights[lowest:]))
        between = heights[left : right + 1]
        flat = np.flatnonzero(between <= between.min() + 1e-9 * between.max())
        return _Place(left, left + int(flat[len(flat) // 2]), right, float(evidence[lowest]))

    def divides(self, place: _Place, bandwidth: float, fewest: int) -> bool:
        """Whether both sides have enough observations, and the valley is deep in all runs together and in most runs."""
        left, bottom, right = (self._near(cell, bandwidth) for cell in (place.left, place.bottom, place.right))
        total = self.counts.sum(axis=0)
        enough = min(total[: place.bottom].sum(), total[place.bottom :].sum()) >= fewest
        deep = bottom.sum() <= _DEPTH * min(left.sum(), right.sum())
        return bool(enough and deep and np.mean(_DEPTH * np.minimum(left, right) > bottom) > 0.5)

    def _smoothed(self, bandwidth: float) -> FloatArray:
        """The effective number of observations about each cell, shape (cells,)."""
        cells = self.counts.shape[1]
        padded = 1 << math.ceil(math.log2(cells + _REACH * bandwidth / self.step))
        kernel = np.exp(-2.0 * (math.pi * bandwidth * np.fft.rfftfreq(padded, self.step)) ** 2)
        density = np.fft.irfft(np.fft.rfft(self.counts.sum(axis=0), padded) * kernel, padded)[:cells] / self.step
        return np.maximum(density, 0.0) * bandwidth * _EFFECTIVE

    def _near(self, cell: int, bandwidth: float) -> FloatArray:
        """The effective number of observations about one cell in each run, shape (runs,)."""
        away = (np.arange(self.counts.shape[1]) - cell) * self.step / bandwidth
        kernel: FloatArray = np.exp(-0.5 * away**2) / math.sqrt(2.0 * math.pi) * _EFFECTIVE
        return np.asarray(self.counts @ kernel)


LEAST_SHARE = 0.05
"""A cluster's smallest fraction of the observations; fewer are outliers, and too few in a run for a median."""
_LEVELS = np.arange(1, 200) / 200


class Cluster(Struct, frozen=True, eq=False):
    """One cluster of a sample: the ``medians`` of the runs with observations in it, and each run's fraction in it."""

    medians: FloatArray
    shares: FloatArray

    @property
    def centre(self) -> float:
        """The median of the runs' medians."""
        return float(np.median(self.medians))

    def moved(self, shift: float) -> Cluster:
        """The cluster with all observations shifted by that amount."""
        return replace(self, medians=self.medians + shift)

    @property
    def share(self) -> float:
        """The mean of the runs' shares."""
        return float(np.mean(self.shares))


def cluster_cuts(runs: Sequence[FloatArray]) -> tuple[float, ...]:
    """The values at which a sample's clusters end, ascending; empty where it is one cluster.

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
    """The parts of a sample between cuts, one more than cuts, each with at least one observation in some run."""
    parts = [np.split(values, np.searchsorted(values, cuts)) for values in map(np.sort, runs)]
    found = []
    for own in zip(*parts, strict=True):
        medians = [float(np.median(values)) for values in own if len(values)]
        shares = [len(values) / len(run) for values, run in zip(own, runs, strict=True)]
        found.append(Cluster(np.array(medians), np.array(shares)))
    return tuple(found)


def common_shift(first: Sequence[FloatArray], second: Sequence[FloatArray]) -> float:
    """The shift of most observations of the second sample: the middle of the shortest third of quantile differences.

    The differences are taken at 199 levels. Where fractions of clusters changed, some differences change by the
    distance of clusters; the others stay alike (after the shortest half: Rousseeuw and Leroy 1987, Robust Regression
    and Outlier Detection, section 4.2).
    """
    levels = [np.quantile(np.concatenate(runs), _LEVELS) for runs in (first, second)]
    differences = np.sort(levels[1] - levels[0])
    third = len(differences) // 3
    start = int(np.argmin(differences[third:] - differences[: len(differences) - third]))
    return float(np.median(differences[start : start + third + 1]))


def matched_clusters(first: Sequence[FloatArray], second: Sequence[FloatArray]) -> tuple[tuple[Cluster, Cluster], ...]:
    """The clusters of two samples in pairs, ascending; one pair where neither has several.

    The samples are aligned by their `common_shift` and divided at the same places, so that a common shift moves the
    cuts with it. If each sample has clear clusters, but not those of both together, a cluster moved alone: then each
    sample is divided individually. A cluster of only one sample has an empty counterpart in the other.
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
    """Divide both samples at the same cuts, without cuts that separate a cluster that is small in both."""
    left = list(cuts)
    while True:
        found = clusters(first, left), clusters(second, left)
        shares = [max(before.share, after.share) for before, after in zip(*found, strict=True)]
        thin = [place for place, share in enumerate(shares) if share < LEAST_SHARE]
        if not thin or not left:
            return found
        del left[max(thin[0] - 1, 0)]


def _alike(first: Sequence[Cluster], second: Sequence[Cluster]) -> bool:
    """Whether clusters of equal rank have the nearest centres, seen from both samples."""
    away = np.abs(np.subtract.outer([part.centre for part in first], [part.centre for part in second]))
    order = np.arange(len(first))
    return len(first) == len(second) and bool(
        np.array_equal(away.argmin(axis=0), order) and np.array_equal(away.argmin(axis=1), order)
    )
