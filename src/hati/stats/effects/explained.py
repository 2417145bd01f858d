"""How much of the variation over a space a few options explain together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from hati.core import FloatArray


def explained(levels: NDArray[np.int16], values: FloatArray, options: Sequence[int]) -> float:
    """The share of the values' variance that those options explain with all their interactions, from 0 to 1.

    The squared correlation ratio of the values with the options' combinations: the closed sensitivity index of Sobol
    (1993), which is R^2 of the model with all their interactions. An inactive option counts as one more setting.

    Args:
        levels: shape (configurations, options), -1 where inactive.
        values: shape (configurations,).
        options: the columns to look at.
    """
    total = float(np.sum((values - values.mean()) ** 2))
    if total <= 0.0 or not len(options):
        return 0.0
    code = np.zeros(len(values), dtype=np.int64)
    for option in options:
        column = levels[:, option].astype(np.int64) + 1
        code = np.unique(code * (int(column.max()) + 1) + column, return_inverse=True)[1]
    means = np.bincount(code, weights=values) / np.bincount(code)
    return 1.0 - float(np.sum((values - means[code]) ** 2)) / total


def rank_by_explained(levels: NDArray[np.int16], values: FloatArray) -> tuple[int, ...]:
    """All options, ranked by what they explain together with those before them; equals by position.

    Each next one is of the pair that adds most, the one that adds more of the two: an option that acts only together
    with another adds nothing alone. Where nothing adds any more, the others are ranked alone.

    Args:
        levels: shape (configurations, options), -1 where inactive.
        values: what is explained, such as a model's predictions; shape (configurations,).
    """
    total = float(np.sum((values - values.mean()) ** 2))
    ranked, left, reached = list[int](), list(range(levels.shape[1])), 0.0
    cells = np.zeros(len(values), dtype=np.int64)
    while left:
        codes = {option: levels[:, option].astype(np.int64) + 1 for option in left}
        alone = {option: _share(_joined(cells, codes[option]), values, total) for option in left}
        best = max(alone.values())
        if best < 1.0 - _SAME and len(left) > 1:
            pairs = {
                (one, other): _share(_joined(_joined(cells, codes[one]), codes[other]), values, total)
                for one, other in combinations(left, 2)
            }
            place = max(pairs, key=lambda pair: pairs[pair])
            best, chosen = pairs[place], max(place, key=lambda option: alone[option])
        else:
            chosen = max(left, key=lambda option: alone[option])
        if best <= reached + _SAME:
            return (*ranked, *sorted(left, key=lambda option: (-explained(levels, values, [option]), option)))
        reached = alone[chosen]
        ranked.append(chosen)
        left.remove(chosen)
        cells = np.unique(_joined(cells, codes[chosen]), return_inverse=True)[1].reshape(-1)
    return tuple(ranked)


def _joined(cells: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.int64]:
    return cells * (int(codes.max()) + 1) + codes


def _share(cells: NDArray[np.int64], values: FloatArray, total: float) -> float:
    """The share of the values' variance between cells."""
    if total <= 0.0:
        return 0.0
    sizes = np.bincount(cells)
    sums = np.bincount(cells, weights=values - values.mean())
    there = sizes > 0
    return float(np.sum(sums[there] ** 2 / sizes[there])) / total


_SAME = 1e-12
