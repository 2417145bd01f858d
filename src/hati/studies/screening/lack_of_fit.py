"""How much of what a model leaves is the noise of runs, and how much effects that the model lacks."""

from __future__ import annotations

import math

from hati.stats import f_quantile, pure_error
from hati.studies.screening.conclusion import LackOfFit
from hati.studies.screening.measured import Measured
from hati.studies.screening.model_analysis import ModelAnalysis

_CONFIDENCE = 0.95


def lack_of_fit(found: Measured, analysis: ModelAnalysis) -> LackOfFit | None:
    """What repeated configurations tell of it; None where there are none, or the model leaves nothing."""
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
