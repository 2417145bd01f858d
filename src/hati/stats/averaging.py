"""Averages over models: which factors are active (Box and Meyer), and prediction by all effects of all orders."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray, InputError
from hati.stats.linear_models import Index
from hati.stats.probable_models import SHIFT, Moments, block_columns, log_marginals, moments
from hati.stats.terms import Term

ACTIVITY = 0.25
GAMMAS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 9.0, 14.0, 20.0, 30.0, 50.0)
_MOST_MODELS = 500_000
_BATCH = 4_000_000


class FactorModels(Struct, frozen=True, eq=False):
    """Sets of active factors, the most probable first, and each factor's probability of being active.

    ``probabilities`` and ``variances`` (the residual's, per degree of freedom of the total) have shape (models,),
    ``factors`` shape (factors,). ``log_likelihood`` is that of ``gamma``, up to a constant.
    """

    models: tuple[Term, ...]
    probabilities: FloatArray
    variances: FloatArray
    factors: FloatArray
    gamma: float
    log_likelihood: float


def box_meyer(
    matrix: FloatArray,
    values: FloatArray,
    *,
    blocks: Index | None = None,
    activity: float = ACTIVITY,
    gamma: float | None = None,
    order: int = 3,
    most_active: int = 5,
    shift: float | None = None,
) -> FactorModels:
    """Posterior probabilities of all models: a set of active factors with all their interactions up to an order.

    Works for any two-level design, with repeated or missing runs; the mean has a flat prior (Box and Meyer 1993,
    equations 3 to 5).

    Args:
        matrix: entries -1 and +1, shape (runs, factors).
        values: one per run, shape (runs,).
        blocks: the block of each run, where there are several.
        activity: the prior probability that a factor is active.
        gamma: the size of an active effect's coefficient in standard deviations of a run; None for the
            most likely of ``GAMMAS``.
        order: the largest number of factors in an interaction.
        most_active: the largest number of active factors.
        shift: the size of shifts between blocks in standard deviations of a run; None for ``SHIFT``.

    Raises:
        InputError: for an ``activity`` outside (0, 1), sizes below 1, or more than 500,000 models.
    """
    matrix = np.asarray(matrix, dtype=np.float64)
    factors = matrix.shape[1]
    _check(factors, activity, order, most_active)
    most_active = min(most_active, factors)
    terms = [term for size in range(1, min(order, most_active) + 1) for term in combinations(range(factors), size)]
    columns = np.column_stack([matrix[:, list(term)].prod(axis=1) for term in terms])
    shifts = block_columns(blocks) if blocks is not None else None
    places = {term: place for place, term in enumerate(terms)}
    known = moments(columns, values, shifts, SHIFT if shift is None else shift)
    found = [
        _posterior(known, places, factors, activity, size, order, most_active)
        for size in (GAMMAS if gamma is None else (gamma,))
    ]
    return max(found, key=lambda models: models.log_likelihood)


def _posterior(
    found: Moments, places: dict[Term, int], factors: int, activity: float, gamma: float, order: int, most_active: int
) -> FactorModels:
    models, logarithms, variances = list[Term](), list[FloatArray](), list[FloatArray]()
    odds = np.log(activity / (1.0 - activity))
    for size in range(most_active + 1):
        sets = list(combinations(range(factors), size))
        models += sets
        for batch in _batches(sets, size):
            likely, left = log_marginals(found, _columns(batch, places, order), gamma)
            logarithms.append(likely + size * odds)
            variances.append(left / (found.runs - 1))
    logs = np.concatenate(logarithms)
    top = float(logs.max())
    weights = np.exp(logs - top)
    probabilities = weights / weights.sum()
    active = np.zeros((len(models), factors), dtype=bool)
    for place, model in enumerate(models):
        active[place, list(model)] = True
    best = np.argsort(-probabilities, kind="stable")
    return FactorModels(
        models=tuple(models[i] for i in best),
        probabilities=probabilities[best],
        variances=np.concatenate(variances)[best],
        factors=probabilities @ active,
        gamma=gamma,
        log_likelihood=top + float(np.log(weights.sum())),
    )


def _columns(sets: Sequence[Term], places: dict[Term, int], order: int) -> Index:
    """The columns of each set's main effects and interactions, shape (sets, terms)."""
    chosen = [
        [places[term] for size in range(1, min(order, len(model)) + 1) for term in combinations(model, size)]
        for model in sets
    ]
    return np.array(chosen, dtype=np.intp).reshape(len(sets), -1)


def _batches(sets: Sequence[Term], size: int) -> list[Sequence[Term]]:
    step = max(1, _BATCH // max(1, 4**size))
    return [sets[i : i + step] for i in range(0, len(sets), step)]


def _check(factors: int, activity: float, order: int, most_active: int) -> None:
    if not 0.0 < activity < 1.0:
        raise InputError(f"the probability that a factor is active is between 0 and 1, not {activity}")
    if order < 1 or most_active < 1:
        raise InputError("models have at least main effects, and at least one active factor")
    models = sum(comb(factors, size) for size in range(min(most_active, factors) + 1))
    if models > _MOST_MODELS:
        raise InputError(
            f"{models:,} sets of active factors are too many", fix="allow fewer active factors, or screen more first"
        )


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
        kernel = weight * _with_inactive(alike[option])[np.ix_(one[:, option], other[:, option])]
        additive += kernel
        product *= 1.0 + kernel
    return additive, product - 1.0 - additive


def _with_inactive(alike: FloatArray) -> FloatArray:
    """The covariances with a last row and column of zeros, which the index -1 (inactive) selects."""
    return np.pad(alike, (0, 1))


def _spread_over(runs: int) -> Index:
    """The runs to estimate weights from, evenly spaced."""
    return np.unique(np.linspace(0, runs - 1, min(runs, _MOST_RUNS)).round().astype(np.intp))


class _Pairs(Struct, frozen=True, eq=False):
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

    def matrix(self, values: FloatArray) -> FloatArray:
        """The symmetric matrix with these values of pairs."""
        found = np.empty((self.runs, self.runs))
        found[np.triu_indices(self.runs)] = values
        lower = np.tril_indices(self.runs, -1)
        found[lower] = found.T[lower]
        return found

    def triangle(self, matrix: FloatArray) -> FloatArray:
        """The upper triangle of a symmetric matrix, with the entries off the diagonal doubled."""
        doubled = 2.0 * matrix
        np.fill_diagonal(doubled, np.diag(matrix))
        return doubled[np.triu_indices(self.runs)]

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
