"""Prediction by an average over models: all effects of all orders, each shrunk by what the runs say of its options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hati.core import FloatArray
from hati.stats.least_squares import Index

_ALWAYS = 100.0
"""The prior variance of what is in every model, in variances of the values: hardly anything is excluded."""
_FIRST = (0.1, 1.0, 0.3, 0.05)
"""Where the search begins: an option's weight, the variance of main effects, of interactions, and of the noise."""
_BOUNDS = ((-12.0, 3.0), (-8.0, 4.0), (-10.0, 4.0), (-14.0, 1.0))
"""Of the logarithms of these."""
_RATE = 0.5
"""Of the exponential priors of the weights and of the interactions' variance."""
_STEPS = 100
_ROUNDING = 1e-12
_MOST_RUNS = 300
"""Weights are estimated from no more runs; predictions are from all."""


@dataclass(frozen=True, eq=False)
class AveragedModel:
    """A fitted average over models.

    ``weights``, shape (options,), say how much of the variation an option takes part in; ``main`` and ``interaction``
    are the variances of effects of weight one, ``noise`` that of a run, all of the values' variance. ``levels`` and
    ``coefficients`` are the runs'.
    """

    sizes: tuple[int, ...]
    weights: FloatArray
    main: float
    interaction: float
    noise: float
    levels: NDArray[np.int16]
    coefficients: FloatArray

    def predicted(self, population: NDArray[np.int16]) -> FloatArray:
        """The posterior mean of what the options add for those configurations, shape (configurations,)."""
        additive = np.zeros((len(population), len(self.levels)))
        product = np.ones_like(additive)
        for option, weight in enumerate(self.weights):
            kernel = weight * _alike(population[:, option], self.levels[:, option], self.sizes[option])
            additive += kernel
            product *= 1.0 + kernel
        covariance = self.main * additive + self.interaction * (product - 1.0 - additive)
        return np.asarray(covariance @ self.coefficients)


def averaged_model(
    levels: NDArray[np.int16], sizes: Sequence[int], always: FloatArray, values: FloatArray
) -> AveragedModel:
    """Fit the average over all models of main effects and interactions of every order.

    Coefficients of the effect of a set of options are independent and normal, with variance proportional to the product
    of the options' weights; the posterior mean under this prior is the average over all sets of effects. The covariance
    of two configurations is a sum of products over options of w k, where k compares their settings: the ANOVA kernel
    (Durrande, Ginsbourger, Roustant and Carraro 2013, Journal of Multivariate Analysis 115, 57-67), with one variance
    for main effects and one for interactions (as in Duvenaud, Nickisch and Rasmussen 2011, Additive Gaussian
    processes, equation 7). Weights and variances maximise the marginal likelihood (Rasmussen and Williams 2006,
    Gaussian Processes for Machine Learning, equations 5.8 and 5.9) times exponential priors, by which options that do
    nothing have hardly any weight.

    Args:
        levels: each run's settings, shape (runs, options), -1 where inactive.
        sizes: the number of settings of each option.
        always: columns that are in every model, such as the means of blocks, shape (runs, any).
        values: one per run.
    """
    scale = float(np.std(values))
    if len(values) < 2 or scale <= _ROUNDING * float(np.max(np.abs(values), initial=0.0)):
        return AveragedModel(tuple(sizes), np.zeros(len(sizes)), 0.0, 0.0, 1.0, levels, np.zeros(len(values)))
    scaled = (values - values.mean()) / scale
    spread = np.sqrt(np.mean(always**2, axis=0))
    columns = always / np.where(spread > 0.0, spread, 1.0)
    given = _ALWAYS * columns @ columns.T
    alike = np.array([_alike(levels[:, i], levels[:, i], size) for i, size in enumerate(sizes)])
    rows = _spread_over(len(values))
    found = _Likelihood(alike[:, rows[:, None], rows], given[np.ix_(rows, rows)], scaled[rows]).maximum()
    weights, (main, interaction, noise) = np.exp(found[:-3]), np.exp(found[-3:]).tolist()
    additive, beyond = _kernels(weights, alike)
    covariance = main * additive + interaction * beyond + given + noise * np.eye(len(values))
    coefficients = scale * np.linalg.solve(covariance, scaled)
    return AveragedModel(tuple(sizes), weights, main, interaction, noise, levels, coefficients)


def _kernels(weights: FloatArray, alike: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Those of main effects and of interactions, for variances of one."""
    additive = np.tensordot(weights, alike, axes=1)
    return additive, np.prod(1.0 + weights[:, None, None] * alike, axis=0) - 1.0 - additive


def _alike(one: NDArray[np.int16], other: NDArray[np.int16], size: int) -> FloatArray:
    """How alike settings are: 1 where equal, -1 / (settings - 1) where not, 0 where the option is inactive."""
    if size < 2:
        return np.zeros((len(one), len(other)))
    equal = (size * (one[:, None] == other[None, :]) - 1.0) / (size - 1.0)
    return np.asarray(np.where((one[:, None] < 0) | (other[None, :] < 0), 0.0, equal), dtype=np.float64)


def _spread_over(runs: int) -> Index:
    """Runs to estimate weights from, in even steps."""
    return np.unique(np.linspace(0, runs - 1, min(runs, _MOST_RUNS)).round().astype(np.intp))


@dataclass(frozen=True, eq=False)
class _Likelihood:
    """The marginal likelihood as a function of the logarithms of weights and of the three variances."""

    alike: FloatArray
    given: FloatArray
    values: FloatArray

    def maximum(self) -> FloatArray:
        """Where it is largest."""
        from scipy.optimize import minimize  # slow to load

        count = len(self.alike)
        start = np.log([_FIRST[0]] * count + list(_FIRST[1:]))
        bounds = [_BOUNDS[0]] * count + list(_BOUNDS[1:])
        found = minimize(self, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": _STEPS})
        return np.asarray(found.x, dtype=np.float64)

    def __call__(self, logs: FloatArray) -> tuple[float, FloatArray]:
        """Minus its logarithm with the priors', and the gradient."""
        weights, (main, interaction, noise) = np.exp(logs[:-3]), np.exp(logs[-3:]).tolist()
        additive, beyond = _kernels(weights, self.alike)
        covariance = main * additive + interaction * beyond + self.given + noise * np.eye(len(self.values))
        factor, inverse = np.linalg.cholesky(covariance), np.linalg.inv(covariance)
        solved = inverse @ self.values
        value = 0.5 * float(self.values @ solved) + float(np.log(np.diag(factor)).sum())
        slopes = 0.5 * (inverse - np.outer(solved, solved))
        gradient = np.empty(len(logs))
        for option, others in enumerate(_products_of_others(1.0 + weights[:, None, None] * self.alike)):
            own = self.alike[option] * (main + interaction * (others - 1.0))
            gradient[option] = weights[option] * float(np.sum(slopes * own))
        gradient[-3] = main * float(np.sum(slopes * additive))
        gradient[-2] = interaction * float(np.sum(slopes * beyond))
        gradient[-1] = noise * float(np.trace(slopes))
        gradient[:-3] += _RATE * weights
        gradient[-2] += _RATE * interaction
        return value + _RATE * (float(weights.sum()) + interaction), gradient


def _products_of_others(factors: FloatArray) -> FloatArray:
    """For each factor the product of all others: no division, since factors may be zero."""
    found = np.ones_like(factors)
    for i in range(len(factors) - 1):
        found[i + 1] = found[i] * factors[i]
    after = np.ones_like(factors[0])
    for i in range(len(factors) - 1, 0, -1):
        after = after * factors[i]
        found[i - 1] *= after
    return found
