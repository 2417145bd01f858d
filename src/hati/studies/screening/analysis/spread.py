"""The analysis of variation; lack of fit compared with the noise of runs; and whether the machine changed
meanwhile.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.stats import (
    Contrasts,
    Index,
    Signs,
    f_quantile,
    log_variances,
    pure_error,
    rank_trend,
    within_residuals,
    without_means,
)
from hati.studies.screening.analysis.contrasts import Analysis, analyse_log_variance
from hati.studies.screening.analysis.model import ModelAnalysis
from hati.studies.screening.analysis.runs import MeasuredDesign
from hati.studies.screening.conclusion import EffectScale, LackOfFit

FEWEST = 3
"""The runs of every configuration below which the variance between them says next to nothing."""

_SAME = 1e-9


class Spread(Struct, frozen=True, eq=False):
    """An analysis of ln s^2, ``of`` the ``observations`` within runs or the ``runs`` of each configuration.

    Or of their logarithms: ``log observations``, ``log runs``.
    """

    of: str
    analysis: Analysis


def analyse_spread(
    contrasts: Contrasts, measured: MeasuredDesign, scale: EffectScale, *, alpha: float, relevant: float
) -> Spread | None:
    """The effects on ln s^2, or None without a variance.

    Of the observations within each run where every run has two or more that differ; otherwise of the runs of each
    configuration where each has three or more. A family of its own: its study-wise error is ``alpha`` again.

    Where the deciding scale is the logarithm, s^2 is of logarithms, if these exist: what multiplies all values by m
    adds 2 ln m to the ln s^2 of values, though it leaves their relative variation as it was. Effects are estimated
    together with a trend over the order of runs, where that is known, and within machines.
    """
    found = _within_runs(contrasts, measured, scale, alpha=alpha, relevant=relevant)
    return found or _between_runs(contrasts, measured, scale, alpha=alpha, relevant=relevant)


def _within_runs(
    contrasts: Contrasts, measured: MeasuredDesign, scale: EffectScale, *, alpha: float, relevant: float
) -> Spread | None:
    logs = scale is EffectScale.LOG and all(np.min(sample) > 0.0 for sample in measured.samples)
    within = log_variances([np.log(sample) for sample in measured.samples] if logs else measured.samples)
    if within is None:
        return None
    rows, blocks, order = measured.rows, measured.blocks, measured.in_time
    found = analyse_log_variance(contrasts, within, rows, blocks, alpha=alpha, relevant=relevant, order=order)
    return Spread("log observations" if logs else "observations", found)


def _between_runs(
    contrasts: Contrasts, measured: MeasuredDesign, scale: EffectScale, *, alpha: float, relevant: float
) -> Spread | None:
    """A configuration's place in time is the mean over its runs."""
    present, row = np.unique(measured.rows, return_inverse=True)
    runs = np.bincount(row)
    if np.min(runs) < FEWEST:
        return None
    values, order = np.log(measured.values) if scale is EffectScale.LOG else measured.values, measured.in_time
    cleared = _cleared(values, row, measured.blocks, order)
    weights = 1.0 / _machine_variances(cleared, row, measured.machines)
    groups = [row == i for i in range(len(present))]
    between = log_variances([cleared[own] for own in groups], [weights[own] for own in groups])
    if between is None:
        return None
    mean_order = None if order is None else np.bincount(row, weights=order) / runs
    single: Index = np.zeros(len(present), dtype=np.intp)
    found = analyse_log_variance(contrasts, between, present, single, alpha=alpha, relevant=relevant, order=mean_order)
    return Spread("log runs" if scale is EffectScale.LOG else "runs", found)


def _cleared(values: FloatArray, rows: Index, blocks: Index, order: FloatArray | None) -> FloatArray:
    """The values without the effects of blocks and of a linear trend over the order, which are not variation."""
    residuals, _ = within_residuals(values, rows, blocks)
    if order is not None:
        trend, _ = within_residuals(order - order.mean(), rows, blocks)
        square = float(trend @ trend)
        if square > _SAME * len(values):
            residuals = residuals - float(trend @ residuals) / square * trend
    return np.asarray((np.bincount(rows, weights=values) / np.bincount(rows))[rows] + residuals)


def _machine_variances(values: FloatArray, rows: Index, machines: Index) -> FloatArray:
    """Of each run the variance of its machine relative to that of all: runs of one configuration, pooled; or 1."""
    cells = rows * (int(machines.max()) + 1) + machines
    squares = without_means(values[:, None], cells)[:, 0] ** 2
    _, first = np.unique(cells, return_index=True)
    freedom = np.bincount(machines) - np.bincount(machines[first])
    sums = np.bincount(machines, weights=squares)
    if np.min(sums) <= _SAME * np.sum(sums):
        return np.ones(len(values))
    return np.asarray((sums / freedom * (freedom.sum() / sums.sum()))[machines])


_CONFIDENCE = 0.95


def lack_of_fit(found: MeasuredDesign, analysis: ModelAnalysis) -> LackOfFit | None:
    """The lack of fit by repeated configurations; None without any, or where the model leaves no residual."""
    readable, left = analysis.readable, analysis.judged.variance
    noise, df = pure_error(readable.values, found.rows, found.blocks)
    if not df or left is None:
        return None
    return LackOfFit(
        noise=readable.relative(math.sqrt(noise)),
        left=readable.relative(math.sqrt(left)),
        repeated=df,
        found=left > noise * f_quantile(_CONFIDENCE, analysis.judged.df, df),
    )


def drift(
    analysis: Analysis, matrix: Signs, rows: Index, order: Index, blocks: FloatArray | None = None
) -> tuple[float, float]:
    """The rank correlation of values on the deciding scale with the order of runs, and its p-value.

    Taken out are the configurations' means, or the large effects where runs are single, and the blocks.

    Args:
        analysis: that of the runs.
        matrix: the design, shape (configurations, options).
        rows: the design's row of each run.
        order: the place of each run.
        blocks: columns that are taken out, shape (runs, any).
    """
    present, row = np.unique(rows, return_inverse=True)
    model = np.empty((len(rows), 0)) if blocks is None else blocks
    if len(rows) < 2 * len(present):
        row, model = np.zeros_like(row), np.hstack([model, _large(analysis, matrix[rows])])
    return rank_trend(analysis.decided, order.astype(np.float64), model, row)


def _large(analysis: Analysis, signs: Signs) -> FloatArray:
    """The columns of effects above half of the threshold, shape (runs, effects)."""
    limit = np.inf if analysis.threshold is None else analysis.threshold / 2.0
    terms = [effect.term for effect in analysis.effects if abs(effect.contrast) > limit]
    columns = [signs[:, list(term)].prod(axis=1) for term in terms]
    return np.asarray(columns, dtype=np.float64).reshape(len(terms), len(signs)).T
