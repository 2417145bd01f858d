"""The same questions about variation: ln s^2 as the response."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hati.core import FloatArray
from hati.stats import Contrasts, Index, log_variances, without_means
from hati.studies.screening.analysis import Analysis, analyse_log_variance
from hati.studies.screening.conclusion import Scale
from hati.studies.screening.measured import Measured

FEWEST = 3
"""So many runs of every configuration, or the variance between them says next to nothing."""

_SWEEPS = 100
_SAME = 1e-12


@dataclass(frozen=True, eq=False)
class Spread:
    """An analysis of ln s^2, ``of`` the ``observations`` within runs or the ``runs`` of each configuration.

    Or of their logarithms: ``log observations``, ``log runs``.
    """

    of: str
    analysis: Analysis


def analyse_spread(
    contrasts: Contrasts, measured: Measured, scale: Scale, *, alpha: float, relevant: float
) -> Spread | None:
    """The effects on ln s^2, or None where there is no variance to speak of.

    Of the observations within each run where every run has two or more that differ; otherwise of the runs of each
    configuration where each has three or more. A family of its own: its study-wise error is ``alpha`` again.

    Where the deciding scale is the logarithm, s^2 is of logarithms, if these exist: what multiplies all values by m
    adds 2 ln m to the ln s^2 of values, though it leaves their relative variation as it was.
    """
    logs = scale is Scale.LOG and all(np.min(sample) > 0.0 for sample in measured.samples)
    within = log_variances([np.log(sample) for sample in measured.samples] if logs else measured.samples)
    if within is not None:
        found = analyse_log_variance(contrasts, within, measured.rows, measured.blocks, alpha=alpha, relevant=relevant)
        return Spread("log observations" if logs else "observations", found)
    present, row = np.unique(measured.rows, return_inverse=True)
    if np.min(np.bincount(row)) < FEWEST:
        return None
    logs = scale is Scale.LOG
    values = _without_blocks(np.log(measured.values) if logs else measured.values, row, measured.blocks)
    between = log_variances([values[row == i] for i in range(len(present))])
    if between is None:
        return None
    single: Index = np.zeros(len(present), dtype=np.intp)
    found = analyse_log_variance(contrasts, between, present, single, alpha=alpha, relevant=relevant)
    return Spread("log runs" if logs else "runs", found)


def _without_blocks(values: FloatArray, rows: Index, blocks: Index) -> FloatArray:
    """The values less the effects of blocks besides those of configurations: drift between blocks is no variation.

    By alternating projections, which end after one sweep where every block holds every configuration.
    """
    rest = values[:, None]
    for _ in range(_SWEEPS):
        residuals = without_means(rest, rows)
        step = residuals - without_means(residuals, blocks)
        rest = rest - step
        if np.max(np.abs(step)) <= _SAME * np.max(np.abs(values)):
            break
    return np.asarray(rest[:, 0])
