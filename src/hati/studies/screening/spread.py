"""The same questions about variation: ln s^2 as the response."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hati.core import FloatArray
from hati.stats import Contrasts, Index, log_variances
from hati.studies.screening.analysis import Analysis, analyse_log_variance
from hati.studies.screening.measured import Measured

FEWEST = 3
"""So many runs of every configuration, or the variance between them says next to nothing."""


@dataclass(frozen=True, eq=False)
class Spread:
    """An analysis of ln s^2, ``of`` the ``observations`` within runs or the ``runs`` of each configuration."""

    of: str
    analysis: Analysis


def analyse_spread(contrasts: Contrasts, measured: Measured, *, alpha: float, relevant: float) -> Spread | None:
    """The effects on ln s^2, or None where there is no variance to speak of.

    Of the observations within each run where every run has two or more that differ; otherwise of the runs of each
    configuration where each has three or more. A family of its own: its study-wise error is ``alpha`` again.
    """
    within = log_variances(measured.samples)
    if within is not None:
        found = analyse_log_variance(contrasts, within, measured.rows, measured.blocks, alpha=alpha, relevant=relevant)
        return Spread("observations", found)
    present, row = np.unique(measured.rows, return_inverse=True)
    groups: list[FloatArray] = [measured.values[row == i] for i in range(len(present))]
    between = log_variances(groups)
    if between is None or min(len(group) for group in groups) < FEWEST:
        return None
    single: Index = np.zeros(len(present), dtype=np.intp)
    found = analyse_log_variance(contrasts, between, present, single, alpha=alpha, relevant=relevant)
    return Spread("runs", found)
