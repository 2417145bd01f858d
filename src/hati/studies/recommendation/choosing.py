"""Which configurations are worth recommending, from what is predicted for all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hati.core import FloatArray

_TINY = 1e-9


@dataclass(frozen=True)
class Recommendable:
    """The position of a configuration, and that of the metric for which it is recommended."""

    place: int
    metric: int


def worth_recommending(gains: FloatArray, near: FloatArray, most: int) -> tuple[Recommendable, ...]:
    """The best configuration for each metric, then those of the Pareto set that differ most from the ones before.

    One is left out where another that was taken, or the baseline, is nearly as good in every metric;
    the first of all only has to be better than the baseline.

    Args:
        gains: over the baseline, which is the first row and has none; shape (configurations, metrics).
        near: what counts as nearly as good, for each metric.
        most: how many may be taken.
    """
    allowed = np.maximum(near, _TINY)
    taken = list[Recommendable]()
    front = _front(gains)
    for metric in range(gains.shape[1]):
        best = _best(gains, front, metric, allowed)
        if gains[best, metric] > _TINY and (not taken or not _covered(gains, best, taken, allowed)):
            taken.append(Recommendable(best, metric))
    while len(taken) < most:
        left = [place for place in front if gains[place].max() > _TINY and not _covered(gains, place, taken, allowed)]
        if not left or gains.shape[1] == 1:
            break
        known = gains[[0, *(one.place for one in taken)]]
        distance = [np.abs((known - gains[place]) / allowed).max(axis=1).min() for place in left]
        place = left[int(np.argmax(distance))]
        taken.append(Recommendable(int(place), int(np.argmax(gains[place] > _TINY))))
    return tuple(taken[:most])


def _best(gains: FloatArray, front: list[int], metric: int, allowed: FloatArray) -> int:
    """Of those that are nearly the best for a metric, the one that is best for all together."""
    nearly = [place for place in front if gains[place, metric] >= gains[front, metric].max() - allowed[metric]]
    return max(nearly, key=lambda place: float(gains[place].sum()))


def _covered(gains: FloatArray, place: int, taken: list[Recommendable], allowed: FloatArray) -> bool:
    known = gains[[0, *(one.place for one in taken)]]
    return bool(np.any(np.all(known >= gains[place] - allowed, axis=1)))


def _front(gains: FloatArray) -> list[int]:
    """The configurations that no other one is better than in every metric, one of each that are equal."""
    rounded = np.round(gains / _TINY) * _TINY
    _, first = np.unique(rounded, axis=0, return_index=True)
    order = sorted(first.tolist(), key=lambda place: (-float(rounded[place].sum()), place))
    kept = list[int]()
    for place in order:
        if not kept or not np.any(np.all(rounded[kept] >= rounded[place], axis=1)):
            kept.append(place)
    return kept
