"""Which effects are significant, by what the noise is known from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hati.core import FloatArray
from hati.stats import (
    Index,
    LeastSquares,
    LenthReference,
    correlated_reference,
    degrees_of_freedom,
    detectable_by_lenth,
    detectable_by_pure_error,
    f_quantile,
    holm,
    lenth_reference,
    pseudo_standard_error,
    pure_error,
    step_critical,
    t_quantile,
    t_two_sided,
)
from hati.studies.screening.conclusion import Noise

FEWEST_CONTRASTS = 3
"""Below three contrasts their median says nothing of noise."""

_CONFIDENCE = 0.95
_LACK_OF_FIT = 0.01
"""The probability of finding a lack of fit where there is none."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """The noise and what stands out of it.

    ``deviation`` estimates the standard deviation of a run with ``df`` degrees of freedom, None where nothing tells of
    it. ``p_values``, study-wise, are of the reported effects. ``threshold`` is the size above which a main effect is
    significant, ``detectable`` the size that would have been found with 80 % power.
    """

    judged_by: Noise
    deviation: float | None
    df: float
    p_values: FloatArray | None
    threshold: float | None
    detectable: float | None

    def standard_errors(self, variances: FloatArray) -> FloatArray | None:
        """Of effects with those variances for runs of variance one."""
        return None if self.deviation is None else self.deviation * np.sqrt(variances)

    @property
    def margin(self) -> float:
        """So many standard errors are the half-width of a 95 % interval."""
        return t_quantile(0.5 + _CONFIDENCE / 2.0, self.df)


_NOTHING = Judgement(Noise.NONE, None, 0.0, None, None, None)


def noise_source(fit: LeastSquares, values: FloatArray, rows: Index, blocks: Index) -> tuple[Noise, float, float]:
    """What to judge by, the standard deviation of a run by it, and its degrees of freedom.

    Pure error where repetitions give it at least the degrees of freedom that Lenth's method would have (a third of the
    contrasts): always with two complete repetitions or more. Lenth's method where effects are aliased and most of them
    are larger than repetitions explain: what the design does not list biases what it lists, and no
    repetition shows by how much.
    """
    variance, df = pure_error(values, rows, blocks)
    contrasts = len(fit.terms) + len(fit.remainder)
    repeated = bool(df) and df >= degrees_of_freedom(contrasts)
    if contrasts < FEWEST_CONTRASTS:
        return (Noise.PURE_ERROR, float(np.sqrt(variance)), df) if repeated else (Noise.NONE, 0.0, 0.0)
    pseudo, lenth_df = pseudo_standard_error(fit.standardised(values)), degrees_of_freedom(contrasts)
    if not repeated:
        return Noise.LENTH, pseudo, lenth_df
    if any(fit.aliases) and pseudo**2 > variance * f_quantile(1.0 - _LACK_OF_FIT, lenth_df, df):
        return Noise.LACK_OF_FIT, pseudo, lenth_df
    return Noise.PURE_ERROR, float(np.sqrt(variance)), df


def judge(
    fit: LeastSquares, values: FloatArray, rows: Index, blocks: Index, *, alpha: float, relevant: float
) -> Judgement:
    """Judge the main effects and two-factor interactions of a fit, all as one family.

    With pure error: t tests with Holm's correction over all of them. Without: Lenth's statistic over all contrasts,
    those of higher order included, against the simulated distribution of its largest. Either way the probability that
    any effect of a study without effects is called significant is at most ``alpha``.

    Args:
        fit: how effects are estimated from these runs.
        values: on the deciding scale, shape (runs,).
        rows: the design's row of each run.
        blocks: the repetition of each run.
        alpha: the study-wise error.
        relevant: the effect on the deciding scale below which none is important.
    """
    judged_by, deviation, df = noise_source(fit, values, rows, blocks)
    reported = fit.reported
    if judged_by is Noise.NONE or not len(reported):
        return _NOTHING
    errors = deviation * np.sqrt(fit.variances[reported])
    statistics = _ratio(np.abs(fit.effects(values)[reported]), errors)
    typical = deviation * float(np.sqrt(np.median(fit.variances[reported])))
    if judged_by is Noise.PURE_ERROR:
        p_values = holm(t_two_sided(statistics, df))
        left = max(1, int(np.sum(p_values > alpha)))
        threshold = step_critical(alpha, left, df) * typical
        first = step_critical(alpha, len(reported), df)
        detectable = detectable_by_pure_error(typical, int(df), first, relevant)
    else:
        reference = _reference(fit)
        p_values = np.where(statistics > 0.0, reference.p_values(statistics), 1.0)
        critical = reference.critical(alpha)
        threshold = critical * typical
        contrasts = len(fit.terms) + len(fit.remainder)
        detectable = detectable_by_lenth(typical, contrasts, critical, relevant)
    return Judgement(judged_by, deviation, df, p_values, threshold, detectable)


def _reference(fit: LeastSquares) -> LenthReference:
    if fit.correlation is None:
        return lenth_reference(len(fit.terms))
    return correlated_reference(fit.correlation, len(fit.remainder))


def _ratio(sizes: FloatArray, errors: FloatArray) -> FloatArray:
    """Sizes in standard errors; without any noise, infinite for what is not zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sizes > 0.0, sizes / errors, 0.0)
