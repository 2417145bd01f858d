"""Whether the machine changed while a screening was measured."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray
from hati.stats import Index, Signs, rank_trend
from hati.studies.screening.analysis import Analysis


def drift(analysis: Analysis, matrix: Signs, rows: Index, order: Index) -> tuple[float, float]:
    """The rank correlation of values on the deciding scale with the order of runs, and its p-value.

    Taken out are the configurations' means, or the large effects where runs are single.

    Args:
        analysis: that of the runs.
        matrix: the design, shape (configurations, options).
        rows: the design's row of each run.
        order: the place of each run.
    """
    present, row = np.unique(rows, return_inverse=True)
    model = np.empty((len(rows), 0))
    if len(rows) < 2 * len(present):
        row, model = np.zeros_like(row), _large(analysis, matrix[rows])
    return rank_trend(analysis.decided, order.astype(np.float64), model, row)


def _large(analysis: Analysis, signs: Signs) -> FloatArray:
    """The columns of effects above half of the threshold, shape (runs, effects)."""
    limit = np.inf if analysis.threshold is None else analysis.threshold / 2.0
    terms = [effect.term for effect in analysis.effects if abs(effect.contrast) > limit]
    columns = [signs[:, list(term)].prod(axis=1) for term in terms]
    return np.asarray(columns, dtype=np.float64).reshape(len(terms), len(signs)).T
