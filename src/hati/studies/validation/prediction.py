"""Whether a model predicts runs that it was not fitted to."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hati.core import FloatArray
from hati.stats import Index, pure_error, within_residuals
from hati.stats.distributions import f_above, f_quantile
from hati.stats.terms import spanned
from hati.studies.validation.conclusion import PredictionCheck
from hati.studies.validation.screened import Runs, Screened

Columns = tuple[FloatArray, FloatArray]
"""Of the screening's runs, and of the later ones."""

ALPHA = 0.05
REPETITIONS = "repetitions"
RESIDUALS = "what the model leaves of the screening's runs"
NO_RUNS = PredictionCheck(0, 0, None, None, "nothing yet", None, None, None, None, None)
_POWER = 0.8
_SIMULATIONS = 199
_LEAST_PURE = 8
"""The degrees of freedom from which repetitions estimate the noise; with fewer, the model's residuals do."""
LEAST_PREDICTED = 3
_RANK = 1e-9
_UNKNOWN = 1e-6
_EXACT = 1e-14
_FLOOR = 4.0
"""Noise below this part of the relevant size does not count."""


def check_predictions(
    screened: Screened,
    predicting: Columns,
    judging: Columns,
    later: Runs,
    reselected: Callable[[FloatArray], Columns],
    rng: np.random.Generator,
) -> PredictionCheck:
    """Test the errors of predictions for later runs, a shift and a trend of all of them left out (Chow 1960).

    The statistic is (S2 - S1) / d over the noise's variance, S1 being the sum of squared residuals of the screening's
    runs, S2 that of all runs with blocks and a trend of the later ones, and d how much more of the latter is free: F
    with d and the noise's degrees of freedom if nothing but the model is active (Chow 1960, Econometrica 28, 591-605).
    That is the squared error relative to its covariance I + X0 (X'X)^-1 X0'; unpredictable parts do
    not count. The model was chosen by the same runs that it was fitted to, so that its errors are larger: where the
    p-value matters, it is that of 199 simulations in which nothing but the judging columns is active and the model is
    chosen again.

    Args:
        screened: the runs of the screening.
        predicting: the columns that predict, shape (runs, columns) each; the mean included.
        judging: columns whose residuals estimate the noise where repetitions do not.
        later: the later runs.
        reselected: ``predicting`` as it would have been with other values of the screening's runs.
        rng: for the simulations.
    """
    model, ahead = predicting
    noise, df, known_from = _noise(screened, screened.runs.values, judging[0])
    inverse = np.linalg.pinv(model, rcond=_RANK)
    known = predictable(model, ahead)
    shifts = spanned(later.nuisance)
    first, both = spanned(model), spanned(_with_shifts(model, ahead, shifts))
    before = screened.runs.values
    free = len(later) - (both.shape[1] - first.shape[1])
    if np.count_nonzero(known) < LEAST_PREDICTED or free < 1 or df < 1:
        return PredictionCheck(int(known.sum()), len(later), None, None, known_from, None, None, None, None, None)
    ratio = _ratio(predicting, shifts, before, later.values, noise)
    p_value = float(f_above(np.array(max(ratio, 0.0)), free, df))
    if p_value <= ALPHA:
        simulated = _simulated(screened, judging, shifts, reselected, rng)
        p_value = max(p_value, float(1 + np.count_nonzero(simulated >= ratio)) / (len(simulated) + 1))
    errors = (later.values - ahead @ (inverse @ before))[known]
    own = spanned(later.nuisance[known])
    sizes = np.abs([screened.relative(float(error)) for error in errors - own @ (own.T @ errors)])
    carried = len(later) - float(np.sum(both[len(before) :] ** 2))
    hidden = noise * _needed(free, df) * free / carried
    return PredictionCheck(
        runs=int(known.sum()),
        random=len(later),
        p_value=p_value,
        df=(free, df),
        noise=known_from,
        ratio=ratio,
        median=float(np.median(sizes)),
        largest=float(sizes.max()),
        deviation=screened.relative(float(np.sqrt(noise))),
        unseen=screened.relative(float(np.sqrt(hidden))) if known_from == REPETITIONS else None,
    )


def predictable(model: FloatArray, ahead: FloatArray) -> NDArray[np.bool_]:
    """Which rows a model can predict: those that are combinations of the rows that it was fitted to."""
    projected = np.linalg.pinv(model, rcond=_RANK) @ model
    return np.asarray(np.linalg.norm(ahead - ahead @ projected, axis=1) < _UNKNOWN)


def _ratio(columns: Columns, shifts: FloatArray, before: FloatArray, values: FloatArray, noise: float) -> float:
    model, ahead = columns
    first, both = spanned(model), spanned(_with_shifts(model, ahead, shifts))
    free = len(values) - (both.shape[1] - first.shape[1])
    if free < 1:
        return 0.0
    return float((_left(both, np.concatenate([before, values])) - _left(first, before)) / free / noise)


def _simulated(
    screened: Screened,
    judging: Columns,
    shifts: FloatArray,
    reselected: Callable[[FloatArray], Columns],
    rng: np.random.Generator,
) -> FloatArray:
    """The statistic of studies in which nothing but the judging columns is active.

    Not the columns that predict: what these have of chance would be taken for true, and chosen again for good reason.
    """
    columns, ahead = judging
    noise, _, _ = _noise(screened, screened.runs.values, columns)
    coefficients = np.linalg.pinv(columns, rcond=_RANK) @ screened.runs.values
    found = []
    for _ in range(_SIMULATIONS):
        before = columns @ coefficients + np.sqrt(noise) * rng.standard_normal(len(columns))
        after = ahead @ coefficients + np.sqrt(noise) * rng.standard_normal(len(ahead))
        projected, _, _ = _noise(screened, before, columns)
        found.append(_ratio(reselected(before), shifts, before, after, projected))
    return np.array(found)


def _with_shifts(model: FloatArray, ahead: FloatArray, shifts: FloatArray) -> FloatArray:
    """The columns of all runs, and the later ones' own, which are zero before."""
    return np.hstack([np.vstack([model, ahead]), np.vstack([np.zeros((len(model), shifts.shape[1])), shifts])])


def _left(basis: FloatArray, values: FloatArray) -> float:
    left = values - basis @ (basis.T @ values)
    return float(left @ left)


def _noise(screened: Screened, values: FloatArray, judging: FloatArray) -> tuple[float, int, str]:
    """The variance of a run, its degrees of freedom, and what it is known from."""
    runs = screened.runs
    floor = (screened.relevant / _FLOOR) ** 2
    least = _EXACT * float(np.sum((values - values.mean()) ** 2)) or _EXACT
    _, rows = np.unique(runs.levels, axis=0, return_inverse=True)
    own: Index = np.asarray(rows, dtype=np.intp).ravel()
    trend = next((within_residuals(each, own, runs.blocks)[0] for each in runs.trends.T), None)
    variance, df = pure_error(values, own, runs.blocks, trend)
    if df >= _LEAST_PURE:
        return max(variance, floor, least), int(df), REPETITIONS
    basis = spanned(judging)
    df = len(runs) - basis.shape[1]
    return max(_left(basis, values) / max(df, 1), floor, least), int(df), RESIDUALS


def _needed(free: int, df: int) -> float:
    """How much more variance than expected the test sees with 80 % power, as a fraction of the noise's."""
    return f_quantile(1.0 - ALPHA, free, df) / f_quantile(1.0 - _POWER, free, df) - 1.0
