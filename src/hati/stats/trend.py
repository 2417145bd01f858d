"""Whether values drift over the order in which they were measured."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray
from hati.stats.distributions import t_two_sided
from hati.stats.least_squares import Index, without_means
from hati.stats.normal_scores import mid_ranks

_FEWEST_DF = 3
_SAME = 1e-9


def rank_trend(values: FloatArray, order: FloatArray, model: FloatArray, groups: Index) -> tuple[float, float]:
    """The partial rank correlation of values with their order, and its two-sided p-value.

    The means of the groups and the model's columns are taken out of the values; then the residuals and the order are
    ranked and the same is taken out of both ranks. What one is free of the other must be free of too, or the
    correlation's variance is not that of Student's t. With one group and no column it is Spearman's.

    The p-value is from Student's t with n - groups - columns - 1 degrees of freedom (Kendall and Stuart 1973, The
    advanced theory of statistics, volume 2, chapters 27 and 31). With fewer than three of them, or where nothing is
    left of values or order, there is no trend: (0.0, 1.0).

    Args:
        values: shape (n,).
        order: shape (n,).
        model: columns to take out, shape (n, p), p may be 0.
        groups: the group of each value, counted from 0, shape (n,).
    """
    free = without_means(model, groups)
    basis, sizes, _ = np.linalg.svd(free, full_matrices=False)
    basis = basis[:, sizes > _SAME * np.sqrt(len(values))]
    df = len(values) - len(np.unique(groups)) - basis.shape[1] - 1
    if df < _FEWEST_DF:
        return 0.0, 1.0
    residuals = _rest(values, basis, groups)
    if np.max(np.abs(residuals)) <= _SAME * np.max(np.abs(values)):
        return 0.0, 1.0
    one, other = (_rest(mid_ranks(each), basis, groups) for each in (residuals, order))
    size = float(np.sqrt((one @ one) * (other @ other)))
    if size <= _SAME * len(values):
        return 0.0, 1.0
    correlation = float(one @ other) / size
    spread = max(1.0 - correlation**2, 1e-300)
    statistic = np.array([correlation * np.sqrt(df / spread)])
    return correlation, float(t_two_sided(statistic, df)[0])


def _rest(values: FloatArray, basis: FloatArray, groups: Index) -> FloatArray:
    centred = without_means(values[:, None], groups)[:, 0]
    return np.asarray(centred - basis @ (basis.T @ centred))
