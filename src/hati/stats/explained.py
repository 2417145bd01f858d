"""How much of the variation over a space a few options explain together."""

from __future__ import annotations

from collections.abc import Sequence

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
    """All options, each next one that which explains most together with those before it; equals by position.

    Args:
        levels: shape (configurations, options), -1 where inactive.
        values: what is explained, such as a model's predictions; shape (configurations,).
    """
    ranked = list[int]()
    left = list(range(levels.shape[1]))
    reached = 0.0
    while left:
        shares = [explained(levels, values, [*ranked, option]) for option in left]
        if max(shares) <= reached + _SAME:  # nothing adds any more: the others by themselves
            return (*ranked, *sorted(left, key=lambda option: (-explained(levels, values, [option]), option)))
        reached = max(shares)
        ranked.append(left.pop(int(np.argmax(shares))))
    return tuple(ranked)


_SAME = 1e-12
