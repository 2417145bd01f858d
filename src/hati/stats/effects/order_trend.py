"""Effects beside a linear trend over the order of runs."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, replace
from hati.stats.effects.least_squares import Index, LeastSquares, within_residuals, without_means
from hati.stats.effects.model_terms import spanned

CONFOUNDED = 0.5
"""A column whose correlation with the order is larger cannot be distinguished from a trend."""
_BY_CHANCE = 3.0
_LARGE = 3.75
"""Contrasts are large beyond this many medians of all: Lenth's 2.5 s0."""
_NOTHING = 1e-12


def confounded_with_order(columns: FloatArray, trends: FloatArray, blocks: Index) -> Index:
    """The columns, shape (runs, any), that are correlated with the order of the runs beyond .5 within blocks.

    Of fewer than 36 runs in one order beyond three standard errors of a correlation by chance, which is more.

    Args:
        columns: of effects.
        trends: the places in one order, shape (runs,), or in several, shape (runs, orders), each zero in the others'
            runs; their multiple correlation counts.
        blocks: the block of each run.
    """
    orders = trends if trends.ndim == 2 else trends[:, None]
    free, basis = without_means(columns, blocks), spanned(without_means(orders, blocks))
    sizes = np.sqrt(np.sum(free**2, axis=0))
    correlations = np.linalg.norm(basis.T @ free, axis=0) / np.where(sizes > 0.0, sizes, np.inf)
    by_chance = (_BY_CHANCE + np.sqrt(basis.shape[1]) - 1.0) / np.sqrt(len(columns))  # Fisher's chi approximation
    return np.flatnonzero(correlations > max(CONFOUNDED, by_chance))


def beside_trend(fit: LeastSquares, values: FloatArray, order: FloatArray, rows: Index, blocks: Index) -> LeastSquares:
    """The same effects, each estimated beside a linear trend over the order of the runs.

    The trend is estimated from repetitions and from the contrasts that are not large, the one in question left out:
    in a design with as many contrasts as runs nothing else tells of it. Which contrasts are large is decided forward:
    in each step the trend or the contrast that explains most of the values is taken.

    Args:
        fit: how effects are estimated from these runs.
        values: on the deciding scale, shape (runs,).
        order: the place of each run in time.
        rows: the design's row of each run.
        blocks: the block of each run.
    """
    centred = order - order.mean()
    within, _ = within_residuals(centred, rows, blocks)
    unit = np.vstack([fit.operator / np.sqrt(fit.variances)[:, None], fit.remainder])
    along = unit @ centred
    rest = ~_Forward(unit @ values, along, float(within @ values), float(within @ within)).large()
    own = np.where(rest, along, 0.0)
    informed = float(within @ within + own @ own) - own**2
    told = informed > _NOTHING * float(centred @ centred)
    weights = np.where(told, along / np.where(told, informed, 1.0), 0.0)
    adjusted = unit - weights[:, None] * (within + own @ unit) + (weights * own)[:, None] * unit
    sizes = np.sqrt(np.sum(adjusted**2, axis=1))
    terms = len(fit.terms)
    return replace(
        fit,
        operator=adjusted[:terms] * np.sqrt(fit.variances)[:, None],
        variances=fit.variances * sizes[:terms] ** 2,
        remainder=adjusted[terms:] / np.where(sizes[terms:] > 0.0, sizes[terms:], 1.0)[:, None],
        trend=within,
    )


class _Forward(Struct, frozen=True, eq=False):
    """Contrasts of the values, and ``along`` the order; ``product`` and ``square`` are what repetitions say of both."""

    values: FloatArray
    along: FloatArray
    product: float
    square: float

    def large(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which contrasts are too large to tell of the trend."""
        large, trend = np.zeros(len(self.values), dtype=np.bool_), False
        for _ in range((len(self.values) + 1) // 2):
            told = self.square + float(self.along[~large] @ self.along[~large])
            slope = (self.product + float(self.values[~large] @ self.along[~large])) / told if told > _NOTHING else 0.0
            left = np.where(large, 0.0, np.abs(self.values - (slope * self.along if trend else 0.0)))
            place = int(np.argmax(left))
            by_trend = 0.0 if trend else abs(slope) * np.sqrt(told)
            if max(left[place], by_trend) <= _LARGE * float(np.median(left[~large])):
                break
            if by_trend >= left[place]:
                trend = True
            else:
                large[place] = True
        return large
