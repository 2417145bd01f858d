"""The average over models: prediction by all effects of all orders."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray
from hati.stats.linear_models import Index

_ALWAYS = 100.0
"""The prior variance of the terms in every model, in variances of the values: hardly anything is excluded."""
_FIRST = (0.1, 1.0, 0.3, 0.05)
"""The start of the search: an option's weight, the variance of main effects, of interactions, and of the noise."""
_BOUNDS = ((-12.0, 3.0), (-8.0, 4.0), (-10.0, 4.0), (-14.0, 1.0))
"""Bounds of the logarithms of these."""
_RATE = 0.5
"""The rate of the exponential priors of the weights and of the interactions' variance."""
_STEPS = 100
_ROUNDING = 1e-12
_SMALL = 1e-8
_MOST_RUNS = 300
"""Weights are estimated from at most this number of runs; predictions use all."""


class AveragedModel(Struct, frozen=True, eq=False):
    """A fitted average over models.

    ``weights``, shape (options,), are the options' parts in the variation; ``main`` and ``interaction`` are the
    variances of effects of weight one, ``noise`` is that of a run, all relative to the values' variance. ``alike``
    holds each option's covariances between settings; ``levels`` and ``coefficients`` are those of the runs.
    """

    alike: tuple[FloatArray, ...]
    weights: FloatArray
    main: float
    interaction: float
    noise: float
    levels: NDArray[np.int16]
    coefficients: FloatArray

    def predicted(self, population: NDArray[np.int16]) -> FloatArray:
        """The posterior mean of the options' contribution for those configurations, shape (configurations,)."""
        additive, beyond = _kernels(self.weights, population, self.levels, self.alike)
        return np.asarray((self.main * additive + self.interaction * beyond) @ self.coefficients)


def unordered_settings(settings: int) -> FloatArray:
    """The covariance matrix of unordered settings: 1 with themselves, -1 / (settings - 1) with others.

    It is that of independent effects less their mean.
    """
    if settings < 2:
        return np.zeros((settings, settings))
    return (settings * np.eye(settings) - 1.0) / (settings - 1.0)


def ordered_settings(ranks: Sequence[int]) -> FloatArray:
    """The covariance matrix of ordered settings, given their ranks from 0: neighbours are the most alike.

    It is that of a random walk less its mean, with a mean variance of 1: any profile is possible, smooth ones are
    likelier. For two settings it equals that of unordered ones.
    """
    walk = np.minimum.outer(np.array(ranks), np.array(ranks)).astype(np.float64)
    centred = walk - walk.mean(axis=0) - walk.mean(axis=1)[:, None] + walk.mean()
    total = float(np.trace(centred))
    return np.asarray(centred * len(walk) / total if total > 0.0 else centred, dtype=np.float64)


def averaged_model(
    levels: NDArray[np.int16], alike: Sequence[FloatArray], always: FloatArray, values: FloatArray
) -> AveragedModel:
    """Fit the average over all models of main effects and interactions of every order.

    Coefficients of the effect of a set of options are independent and normal, with variance proportional to the product
    of the options' weights; the posterior mean under this prior is the average over all sets of effects. The covariance
    of two configurations is a sum of products over options of w k, where k compares their settings: the ANOVA kernel
    (Durrande, Ginsbourger, Roustant and Carraro 2013, Journal of Multivariate Analysis 115, 57-67), with one variance
    for main effects and one for interactions (as in Duvenaud, Nickisch and Rasmussen 2011, Additive Gaussian
    processes, equation 7). Weights and variances maximise the marginal likelihood (Rasmussen and Williams 2006,
    Gaussian Processes for Machine Learning, equations 5.8 and 5.9) times exponential priors, which give inactive
    options hardly any weight.

    Args:
        levels: each run's settings, shape (runs, options), -1 where inactive.
        alike: each option's covariances between its settings, of mean zero: `unordered_settings` or
            `ordered_settings`.
        always: columns that are in every model, such as the means of blocks, shape (runs, any).
        values: one per run.
    """
    scale = float(np.std(values))
    if len(values) < 2 or scale <= _ROUNDING * float(np.max(np.abs(values), initial=0.0)):
        return AveragedModel(tuple(alike), np.zeros(len(alike)), 0.0, 0.0, 1.0, levels, np.zeros(len(values)))
    scaled = (values - values.mean()) / scale
    spread = np.sqrt(np.mean(always**2, axis=0))
    columns = always / np.where(spread > 0.0, spread, 1.0)
    given = _ALWAYS * columns @ columns.T
    rows = _spread_over(len(values))
    pairs = _Pairs.of(levels[rows], alike)
    found = _Likelihood(pairs, given[np.ix_(rows, rows)], scaled[rows]).maximum()
    weights, (main, interaction, noise) = np.exp(found[:-3]), np.exp(found[-3:]).tolist()
    additive, beyond = _kernels(weights, levels, levels, alike)
    covariance = main * additive + interaction * beyond + given + noise * np.eye(len(values))
    coefficients = scale * np.linalg.solve(covariance, scaled)
    return AveragedModel(tuple(alike), weights, main, interaction, noise, levels, coefficients)


def _kernels(
    weights: FloatArray, one: NDArray[np.int16], other: NDArray[np.int16], alike: Sequence[FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """The kernels of main effects and of interactions, for variances of one."""
    additive = np.zeros((len(one), len(other)))
    product = np.ones_like(additive)
    for option, weight in enumerate(weights):
        rows = weight * _with_inactive(alike[option])[:, other[:, option]]
        kernel = rows[one[:, option]]
        additive += kernel
        kernel += 1.0
        product *= kernel
    return additive, product - 1.0 - additive


def _with_inactive(alike: FloatArray) -> FloatArray:
    """The covariances with a last row and column of zeros, which the index -1 (inactive) selects."""
    return np.pad(alike, (0, 1))


def _spread_over(runs: int) -> Index:
    """The runs to estimate weights from, evenly spaced."""
    return np.unique(np.linspace(0, runs - 1, min(runs, _MOST_RUNS)).round().astype(np.intp))


class _Pairs(Struct, frozen=True, eq=False, dict=True):
    """The similarity of each pair of runs in each option, shape (options, pairs).

    The pairs are the upper triangle of a matrix of ``runs``.
    """

    runs: int
    alike: FloatArray

    @classmethod
    def of(cls, levels: NDArray[np.int16], alike: Sequence[FloatArray]) -> _Pairs:
        """The pairs of runs with these levels."""
        one, other = np.triu_indices(len(levels))
        rows = [_with_inactive(own)[of[one], of[other]] for own, of in zip(alike, levels.T, strict=True)]
        return cls(len(levels), np.array(rows, dtype=np.float64).reshape(len(rows), len(one)))

    @cached_property
    def _upper(self) -> tuple[Index, Index]:
        return np.triu_indices(self.runs)

    @cached_property
    def _lower(self) -> tuple[Index, Index]:
        return np.tril_indices(self.runs, -1)

    def matrix(self, values: FloatArray) -> FloatArray:
        """The symmetric matrix with these values of pairs."""
        found = np.empty((self.runs, self.runs))
        found[self._upper] = values
        found[self._lower] = found.T[self._lower]
        return found

    def triangle(self, matrix: FloatArray) -> FloatArray:
        """The upper triangle of a symmetric matrix, with the entries off the diagonal doubled."""
        doubled = 2.0 * matrix
        np.fill_diagonal(doubled, np.diag(matrix))
        return np.asarray(doubled[self._upper])

    def factors(self, weights: FloatArray) -> list[FloatArray]:
        """For each option 1 + weight x alike, kept away from zero."""
        return [_apart_from_zero(1.0 + weight * alike) for weight, alike in zip(weights, self.alike, strict=True)]


class _Likelihood(Struct, frozen=True, eq=False):
    """The marginal likelihood as a function of the logarithms of weights and of the three variances."""

    pairs: _Pairs
    given: FloatArray
    values: FloatArray

    def maximum(self) -> FloatArray:
        """The logarithms at which it is largest."""
        from scipy.optimize import minimize  # slow to load

        count = len(self.pairs.alike)
        start = np.log([_FIRST[0]] * count + list(_FIRST[1:]))
        bounds = [_BOUNDS[0]] * count + list(_BOUNDS[1:])
        found = minimize(self, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": _STEPS})
        return np.asarray(found.x, dtype=np.float64)

    def __call__(self, logs: FloatArray) -> tuple[float, FloatArray]:
        """The negative logarithm of likelihood times priors, and its gradient."""
        weights, (main, interaction, noise) = np.exp(logs[:-3]), np.exp(logs[-3:]).tolist()
        alike, factors = self.pairs.alike, self.pairs.factors(weights)
        additive, product = weights @ alike, np.ones(alike.shape[1])
        for factor in factors:
            product *= factor
        beyond = product - 1.0 - additive
        covariance = self.pairs.matrix(main * additive + interaction * beyond) + self.given
        covariance[np.diag_indices(self.pairs.runs)] += noise
        root, inverse = np.linalg.cholesky(covariance), np.linalg.inv(covariance)
        solved = inverse @ self.values
        value = 0.5 * float(self.values @ solved) + float(np.log(np.diag(root)).sum())
        slopes = 0.5 * (inverse - np.outer(solved, solved))
        own = self.pairs.triangle(slopes)
        products = own * product
        additive_slopes = alike @ own
        product_slopes = np.array([products @ (one / factor) for one, factor in zip(alike, factors, strict=True)])
        gradient = np.empty(len(logs))
        gradient[:-3] = weights * ((main - interaction) * additive_slopes + interaction * product_slopes + _RATE)
        gradient[-3] = main * float(own @ additive)
        gradient[-2] = interaction * float(own @ beyond) + _RATE * interaction
        gradient[-1] = noise * float(np.trace(slopes))
        return value + _RATE * (float(weights.sum()) + interaction), gradient


def _apart_from_zero(factors: FloatArray) -> FloatArray:
    """The factors, with those close to zero replaced, so that a product can be divided by each."""
    factors[np.abs(factors) < _SMALL] = _SMALL
    return factors
