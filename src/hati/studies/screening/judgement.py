"""Which effects are significant, by what the noise is known from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray
from hati.stats import (
    Index,
    LeastSquares,
    LenthReference,
    Shares,
    Term,
    adaptive_standard_error,
    correlated_reference,
    degrees_of_freedom,
    detectable_by_lenth,
    detectable_by_pure_error,
    f_quantile,
    lenth_reference,
    options_first,
    pseudo_standard_error,
    pure_error,
    step_critical,
    t_two_sided,
)
from hati.studies.screening.conclusion import Noise

FEWEST_CONTRASTS = 3
"""Below three contrasts their median says nothing of noise."""

_CONFIDENCE = 0.95
_LACK_OF_FIT = 0.01
"""The probability of finding a lack of fit where there is none."""


class Judgement(Struct, frozen=True, eq=False):
    """The noise and what stands out of it.

    ``deviation`` estimates the standard deviation of a run, None where nothing tells of it; ``margin`` standard errors
    are the half-width of a 95 % interval. ``p_values``, study-wise, are of the reported effects. ``threshold`` is the
    size above which a main effect is significant, ``detectable`` the size that would have been found with 80 % power.
    """

    judged_by: Noise
    deviation: float | None
    margin: float
    p_values: FloatArray | None
    threshold: float | None
    detectable: float | None

    def standard_errors(self, variances: FloatArray) -> FloatArray | None:
        """Of effects with those variances for runs of variance one."""
        return None if self.deviation is None else self.deviation * np.sqrt(variances)


class StudentReference(Struct, frozen=True):
    """Student's t with ``df`` degrees of freedom, as `LenthReference` is for contrasts without repetitions."""

    df: int

    def critical(self, alpha: float, tests: int) -> float:
        """What the largest of so many statistics exceeds with a probability of at most ``alpha``."""
        return step_critical(alpha, tests, self.df)

    def p_values(self, statistics: FloatArray, tests: int) -> FloatArray:
        """Probabilities that the largest of so many is as large, by Bonferroni."""
        return tests * t_two_sided(statistics, self.df)


_NOTHING = Judgement(Noise.NONE, None, 0.0, None, None, None)


def noise_source(fit: LeastSquares, values: FloatArray, rows: Index, blocks: Index) -> tuple[Noise, float, int]:
    """What to judge by, the standard deviation of a run by it, and the degrees of freedom of pure error.

    Pure error where repetitions give it at least the degrees of freedom that Lenth's method would have (a third of the
    contrasts): always with two complete repetitions or more. Lenth's method where effects are aliased and most of them
    are larger than repetitions explain: what the design does not list biases what it lists, and no
    repetition shows by how much.
    """
    variance, df = pure_error(values, rows, blocks, fit.trend)
    contrasts = len(fit.terms) + len(fit.remainder)
    repeated = bool(df) and df >= degrees_of_freedom(contrasts)
    if contrasts < FEWEST_CONTRASTS:
        return (Noise.PURE_ERROR, float(np.sqrt(variance)), df) if repeated else (Noise.NONE, 0.0, 0)
    standardised = fit.standardised(values)
    if not repeated:
        return Noise.LENTH, adaptive_standard_error(standardised), 0
    beyond = f_quantile(1.0 - _LACK_OF_FIT, degrees_of_freedom(contrasts), df)
    if any(fit.aliases) and pseudo_standard_error(standardised) ** 2 > variance * beyond:
        return Noise.LACK_OF_FIT, adaptive_standard_error(standardised), 0
    return Noise.PURE_ERROR, float(np.sqrt(variance)), df


def judge(
    fit: LeastSquares, values: FloatArray, rows: Index, blocks: Index, *, alpha: float, relevant: float
) -> Judgement:
    """Judge the main effects and two-factor interactions of a fit, options first.

    By t tests against pure error, or without repetitions by the adaptive standard error of all contrasts, those of
    higher order included, and its simulated distribution; corrected by `hati.stats.options_first`. The probability that
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
    statistics = _ratio(np.abs(fit.effects(values)[reported]), deviation * np.sqrt(fit.variances[reported]))
    typical = deviation * float(np.sqrt(np.median(fit.variances[reported])))
    sets = [(fit.terms[i], *fit.aliases[i]) for i in reported]
    reference = StudentReference(df) if judged_by is Noise.PURE_ERROR else _reference(fit)
    p_values = options_first(sets, statistics, reference.p_values)
    threshold, detectable = _power(fit, sets, p_values <= alpha, reference, typical, alpha=alpha, relevant=relevant)
    return Judgement(judged_by, deviation, reference.critical(1.0 - _CONFIDENCE, 1), p_values, threshold, detectable)


def _power(
    fit: LeastSquares,
    sets: Sequence[Sequence[Term]],
    significant: NDArray[np.bool_],
    reference: StudentReference | LenthReference,
    error: float,
    *,
    alpha: float,
    relevant: float,
) -> tuple[float | None, float | None]:
    """The size above which main effects are significant, and the size that is found with 80 % power."""
    shares = Shares.of(sets)
    if not shares.options:
        return None, None
    left = max(1, sum(len(own[0]) == 1 and not known for own, known in zip(sets, significant, strict=True)))
    threshold = error * reference.critical(alpha * shares.main_effects(left), left)
    first = reference.critical(alpha * shares.main_effects(shares.options), shares.options)
    if isinstance(reference, StudentReference):
        return threshold, detectable_by_pure_error(error, reference.df, first, relevant)
    return threshold, detectable_by_lenth(error, len(fit.terms) + len(fit.remainder), first, relevant)


def _reference(fit: LeastSquares) -> LenthReference:
    if fit.correlation is None:
        return lenth_reference(len(fit.terms))
    return correlated_reference(fit.correlation, len(fit.remainder))


def _ratio(sizes: FloatArray, errors: FloatArray) -> FloatArray:
    """Sizes in standard errors; without any noise, infinite for what is not zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sizes > 0.0, sizes / errors, 0.0)
