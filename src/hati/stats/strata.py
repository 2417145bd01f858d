"""Means over a stratified population, with the errors of their estimates, and their equivalence."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError
from hati.stats.distributions import t_cdf, t_quantile
from hati.stats.linear_models import Index

_FEWEST_DF = 4
_FEWEST_EQUAL = 2
"""Degrees of freedom below which equal values show no absence of variation: two rounded values are often equal."""
_TOLERANCE = 1e-9


class MeanEstimate(Struct, frozen=True):
    """An estimated mean, its standard error and the error's degrees of freedom; None where these are unknown."""

    estimate: float
    standard_error: float | None
    df: float

    def interval(self, confidence: float = 0.95) -> tuple[float, float] | None:
        """The interval by Student's t, None where the error is not known."""
        if self.standard_error is None:
            return None
        half = t_quantile(0.5 + confidence / 2.0, self.df) * self.standard_error
        return (self.estimate - half, self.estimate + half)


def stratified_mean(values: FloatArray, owners: Index, shares: FloatArray) -> MeanEstimate:
    """The population's mean: the strata's means, weighted by their shares.

    ``values`` and ``owners`` (a value's stratum) have shape (n,), ``shares`` (strata,) and sum 1. The variance is that
    of Cochran (1977), Sampling Techniques, section 5.4, without the correction for finite strata, as values have noise
    of their own; its degrees of freedom are Satterthwaite's, formula 5.16 there. Strata of one value are collapsed with
    their neighbours (section 5A.12), which errs on the wide side; a single one has the variance within the others.
    The error of two equal values, with one degree of freedom, is unknown.

    Raises:
        InputError: where a stratum has no value.
    """
    means, counts = _means_of_strata(values, owners, shares)
    parts = [
        (shares[h] ** 2 * float(np.var(values[owners == h], ddof=1)) / counts[h], counts[h] - 1)
        for h in np.flatnonzero(counts > 1)
    ]
    singles = np.flatnonzero(counts == 1)
    if len(singles) == 1 and parts:
        rest = values - means[owners]
        free = float(len(values) - len(shares))
        parts.append((float(shares[singles[0]] ** 2 * (rest @ rest) / free), free))
    parts += _collapsed(means, shares, singles)
    estimate = float(shares @ means)
    if not parts:
        return MeanEstimate(estimate, None, 0.0)
    variance = float(sum(part for part, _ in parts))
    below = float(sum(part**2 / df for part, df in parts))
    df = variance**2 / below if below > 0.0 else float(sum(df for _, df in parts))
    if variance == 0.0 and df < _FEWEST_EQUAL:
        return MeanEstimate(estimate, None, 0.0)
    return MeanEstimate(estimate, math.sqrt(variance), df)


def assisted_mean(values: FloatArray, owners: Index, shares: FloatArray, columns: FloatArray) -> MeanEstimate:
    """The population's mean with the help of columns whose mean over the population is 0, shape (n, columns).

    The regression estimator with one slope for all strata (Cochran 1977, section 7.10): it corrects for the sample's
    remaining imbalance in the columns, and its error is that of the residuals. The first columns are used, as many
    as leave half of the degrees of freedom and no fewer than four; without any it is `stratified_mean`.

    Raises:
        InputError: where a stratum has no value.
    """
    means, counts = _means_of_strata(values, owners, shares)
    free = len(values) - len(shares)
    centres = np.vstack([columns[owners == h].mean(axis=0) for h in range(len(shares))])
    within = columns - centres[owners]
    used = _independent(within, min(free // 2, free - _FEWEST_DF))
    if not used:
        return stratified_mean(values, owners, shares)
    within = within[:, used]
    inverse = np.linalg.inv(within.T @ within)
    pulls = (shares / counts)[owners] - within @ (inverse @ (shares @ centres[:, used]))
    rest = values - means[owners]
    rest = rest - within @ (inverse @ (within.T @ rest))
    left = free - len(used)
    variance = float(rest @ rest) / left * float(pulls @ pulls)
    return MeanEstimate(float(pulls @ values), math.sqrt(variance), float(left))


def stratum_means(values: FloatArray, owners: Index, shares: FloatArray) -> tuple[MeanEstimate, ...]:
    """Each stratum's mean, with the error by the stratum's own variance.

    The error of fewer than three values is unknown, and that of equal values. Variances are not pooled: those of strata
    differ, and tests of so few values seldom find it.

    Raises:
        InputError: where a stratum has no value.
    """
    means, counts = _means_of_strata(values, owners, shares)
    rest = values - means[owners]
    squares = np.bincount(owners, weights=rest * rest, minlength=len(shares))
    return tuple(
        MeanEstimate(float(mean), math.sqrt(square / (count - 1.0) / count), float(count - 1.0))
        if count - 1.0 >= _FEWEST_EQUAL and square > _TOLERANCE**2 * count * mean * mean
        else MeanEstimate(float(mean), None, 0.0)
        for mean, count, square in zip(means.tolist(), counts.tolist(), squares.tolist(), strict=True)
    )


def _means_of_strata(values: FloatArray, owners: Index, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The strata's means and their numbers of values."""
    counts = np.bincount(owners, minlength=len(shares)).astype(np.float64)
    if len(counts) > len(shares) or not np.all(counts):
        raise InputError("a stratum without a value has no estimate", fix="measure at least one of every stratum")
    return np.bincount(owners, weights=values, minlength=len(shares)) / counts, counts


def _collapsed(means: FloatArray, shares: FloatArray, singles: Index) -> list[tuple[float, float]]:
    """Variances and degrees of freedom of strata of one value, collapsed in pairs of neighbours, or the last three.

    A single such stratum has none.
    """
    if len(singles) < 2:
        return []
    starts = np.arange(0, len(singles) - 1, 2)[: len(singles) // 2]
    parts = []
    for group in np.split(singles, starts[1:]):
        totals = shares[group] * means[group]
        expected = shares[group] / shares[group].sum() * totals.sum()
        size = len(group)
        parts.append((float(np.sum((totals - expected) ** 2)) * size / (size - 1), size - 1.0))
    return parts


def _independent(columns: FloatArray, most: int) -> list[int]:
    """The first linearly independent columns, up to ``most``."""
    used: list[int] = []
    basis = np.empty((len(columns), 0))
    for place in range(columns.shape[1]):
        if len(used) >= most:
            break
        rest = columns[:, place] - basis @ (basis.T @ columns[:, place])
        size = float(np.linalg.norm(rest))
        if size > _TOLERANCE * max(1.0, float(np.linalg.norm(columns[:, place]))):
            used.append(place)
            basis = np.column_stack([basis, rest / size])
    return used


_ALPHA = 0.05


class Equivalence(Struct, frozen=True):
    """Two one-sided tests of a difference of means against a margin.

    ``interval`` has 90 % confidence: the means are ``equivalent`` where it is within the margin. ``provable`` is
    the smallest margin within which it is.
    """

    difference: float
    interval: tuple[float, float]
    margin: float
    p_value: float
    equivalent: bool
    provable: float


def equivalence(one: MeanEstimate, other: MeanEstimate, margin: float) -> Equivalence | None:
    """Two one-sided t tests (Schuirmann 1987) at 5 % of the difference one - other; None where no error is known.

    Raises:
        InputError: for a margin that is not above 0.
    """
    if not margin > 0.0:
        raise InputError(f"an equivalence margin is above 0, not {margin}")
    if one.standard_error is None or other.standard_error is None:
        return None
    difference = one.estimate - other.estimate
    error = math.hypot(one.standard_error, other.standard_error)
    if error == 0.0:
        inside = abs(difference) < margin
        return Equivalence(difference, (difference, difference), margin, float(not inside), inside, abs(difference))
    df = error**4 / sum(m.standard_error**4 / m.df for m in (one, other) if m.standard_error)
    half = t_quantile(1.0 - _ALPHA, df) * error
    interval = (difference - half, difference + half)
    p_value = t_cdf((abs(difference) - margin) / error, df)
    return Equivalence(difference, interval, margin, p_value, p_value < _ALPHA, max(abs(interval[0]), abs(interval[1])))
