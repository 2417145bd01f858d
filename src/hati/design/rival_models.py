"""Follow-up runs that discriminate rival models, by the MD criterion (Meyer, Steinberg and Box 1996)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError
from hati.stats import Index

STARTS = 3
_PASSES = 4
_BETTER = 1e-9


class Rival(Struct, frozen=True, eq=False):
    """A model of the measurements: its posterior probability, the variance of a run in it, and its columns."""

    probability: float
    variance: float
    columns: Index


class Predictions(Struct, frozen=True, eq=False):
    """Predictions of candidate runs by each of some models, from the completed runs.

    ``means`` has shape (models, candidates); ``covariances`` (models, candidates, candidates) are those of the
    expected values in units of ``variances``, the models' variances of a run.
    """

    probabilities: FloatArray
    variances: FloatArray
    means: FloatArray
    covariances: FloatArray


class DiscriminatingRuns(Struct, frozen=True, eq=False):
    """Chosen candidates (possibly repeated), their MD, and how well they separate each two models.

    ``separations``, shape (models, models): for each two models, the mean of the expected log odds that the runs will
    give for either of them against the other.
    """

    rows: tuple[int, ...]
    criterion: float
    separations: FloatArray


def predictions(
    columns: FloatArray, values: FloatArray, candidates: FloatArray, precisions: FloatArray, rivals: Sequence[Rival]
) -> Predictions:
    """Fit every model, and predict.

    Args:
        columns: those of all models for the completed runs, shape (runs, columns), including the mean's.
        values: one per run.
        candidates: the same columns for the candidate runs, shape (candidates, columns).
        precisions: each coefficient's prior precision around 0, for runs of variance one; 0 for a flat prior.
        rivals: the models; each should have the mean's column.

    Raises:
        InputError: for no model.
    """
    if not rivals:
        raise InputError("there is no rival model")
    means, covariances = list[FloatArray](), list[FloatArray]()
    for rival in rivals:
        own, ahead = columns[:, rival.columns], candidates[:, rival.columns]
        uncertain = np.linalg.inv(own.T @ own + np.diag(precisions[rival.columns]))
        means.append(ahead @ (uncertain @ (own.T @ values)))
        covariances.append(ahead @ uncertain @ ahead.T)
    weights = np.array([rival.probability for rival in rivals])
    return Predictions(
        probabilities=weights,
        variances=np.array([rival.variance for rival in rivals]),
        means=np.array(means),
        covariances=np.array(covariances),
    )


def separations(found: Predictions, rows: Sequence[int]) -> FloatArray:
    """The separation of each two models by runs, shape (models, models); see ``DiscriminatingRuns``."""
    chosen = np.asarray(rows, dtype=np.intp)
    means = found.means[:, chosen]
    spread = found.covariances[:, chosen[:, None], chosen[None, :]] + np.eye(len(chosen))
    inverse = np.linalg.inv(spread)
    trace = np.einsum("iab,jba->ij", spread, inverse)
    apart = means[:, None, :] - means[None, :, :]
    distance = np.einsum("ija,jab,ijb->ij", apart, inverse, apart) / found.variances[:, None]
    one_way = 0.5 * (trace - len(chosen) + distance)
    return np.asarray((one_way + one_way.T) / 2.0)


def discrimination(found: Predictions, rows: Sequence[int]) -> float:
    """MD of those candidates: the mean separation of each two models, over the models' probabilities.

    Meyer, Steinberg and Box (1996), equation 11: the sum over i and j of P_i P_j I_ij with
    I_ij = (tr(V_j^-1 V_i) - n + (y_i - y_j)' V_j^-1 (y_i - y_j) / s_i^2) / 2; its logarithms of determinants cancel.
    """
    weights = np.outer(found.probabilities, found.probabilities)
    np.fill_diagonal(weights, 0.0)
    return float(np.sum(weights * separations(found, rows)))


def discriminating_runs(
    found: Predictions, size: int, generator: np.random.Generator, starts: int = STARTS, most_each: int | None = None
) -> DiscriminatingRuns:
    """The runs that best discriminate the models, by exchanges from several starts.

    The first start adds runs one by one, each the best given those before it; the others are random.

    Args:
        found: what the models predict of the candidates.
        size: the number of runs.
        generator: for the random starts.
        starts: how many starts.
        most_each: the largest number of runs of one candidate; None for no limit.

    Raises:
        InputError: for no run or no start, or too few candidates.
    """
    if size < 1 or starts < 1:
        raise InputError("a follow-up has at least one run, from at least one start")
    count = found.means.shape[1]
    each = size if most_each is None else most_each
    if count * each < size:
        raise InputError(f"{count} candidates are too few for a follow-up of {size} runs")
    stock = np.repeat(np.arange(count), min(each, size))
    best, reached = list[int](), -np.inf
    for start in range(starts):
        rows = (
            one_by_one(found, size, each)
            if start == 0
            else [int(i) for i in generator.choice(stock, size, replace=False)]
        )
        rows = _exchanged(found, rows, each)
        criterion = discrimination(found, rows)
        if criterion > reached * (1.0 + _BETTER) or not best:
            best, reached = rows, criterion
    return DiscriminatingRuns(tuple(sorted(best)), reached, separations(found, sorted(best)))


def one_by_one(found: Predictions, size: int, most_each: int | None = None) -> list[int]:
    """Candidates in order, each the most informative given those before it; arguments as in the exchange."""
    rows, each = list[int](), size if most_each is None else most_each
    for _ in range(size):
        rows.append(int(np.argmax(_gains(found, rows, each))))
    return rows


def _exchanged(found: Predictions, rows: list[int], each: int) -> list[int]:
    """Exchange each run for the best one given the others, until none improves."""
    for _ in range(_PASSES):
        before = list(rows)
        for place in range(len(rows)):
            gains = _gains(found, rows[:place] + rows[place + 1 :], each)
            best = int(np.argmax(gains))
            if gains[best] > gains[rows[place]] * (1.0 + _BETTER):
                rows[place] = best
        if rows == before:
            break
    return rows


def _gains(found: Predictions, rows: list[int], each: int) -> FloatArray:
    """The gain of the criterion by each candidate, shape (candidates,); -inf where it may not be added.

    The criterion of runs with one more is that of the runs plus that of the added one given the runs.
    """
    given = np.array(rows, dtype=np.intp)
    across = found.covariances[:, given, :]
    spread = found.covariances[:, given[:, None], given[None, :]] + np.eye(len(given))
    explained = np.linalg.solve(spread, across)
    own = 1.0 + np.diagonal(found.covariances, axis1=1, axis2=2)
    left = own - np.einsum("jrc,jrc->jc", across, explained)
    carried = np.matmul(spread[:, None], explained[None, :]) - 2.0 * across[:, None]
    trace = own[:, None, :] + np.sum(carried * explained[None, :], axis=2)
    expected = found.means[:, None, :] - np.tensordot(found.means[:, given], explained, axes=(1, 1))
    apart = expected - np.einsum("jjc->jc", expected)[None, :, :]
    odds = 0.5 * ((trace + apart**2 / found.variances[:, None, None]) / left[None, :, :] - 1.0)
    weights = np.outer(found.probabilities, found.probabilities)
    np.fill_diagonal(weights, 0.0)
    used = np.bincount(given, minlength=odds.shape[2]) >= each
    return np.where(used, -np.inf, np.tensordot(weights, odds, axes=2))
