"""Whether a model predicts runs that it was not fitted to."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray
from hati.stats import Index, pure_error
from hati.stats.distributions import f_above, f_quantile
from hati.stats.projection import spanned
from hati.studies.validation.conclusion import PredictionCheck
from hati.studies.validation.screened import Screened

ALPHA = 0.05
REPETITIONS = "repetitions"
RESIDUALS = "what the model leaves of the screening's runs"
NO_RUNS = PredictionCheck(0, 0, None, None, "nothing yet", None, None, None, None, None)
_POWER = 0.8
_LEAST_PURE = 8
"""So many degrees of freedom of repetitions tell the noise; with fewer it is the model's residuals."""
_LEAST_PREDICTED = 3
_RANK = 1e-9
_UNKNOWN = 1e-6
_FLOOR = 4.0
"""Noise below this part of what matters does not count."""


def check_predictions(
    screened: Screened, model: FloatArray, judging: FloatArray, ahead: FloatArray, values: FloatArray
) -> PredictionCheck:
    """Test the errors of predictions for later runs, a shift of all of them left out (Chow 1960).

    The statistic is (S2 - S1) / d over the noise's variance, S1 being the sum of squared residuals of the screening's
    runs, S2 that of all runs with a shift of the later ones, and d how much more of the latter is free: F with d and
    the noise's degrees of freedom if nothing but the model is active (Chow 1960, Econometrica 28, 591-605). That is the
    squared error beside its covariance I + X0 (X'X)^-1 X0'; what the screening cannot predict at all does not count.

    Args:
        screened: the runs of the screening.
        model: the columns that predict, for those, shape (runs, columns); the mean included.
        judging: columns whose residuals tell the noise where repetitions do not.
        ahead: the columns that predict, for the later runs.
        values: of these, on the deciding scale.
    """
    noise, df, known_from = _noise(screened, judging)
    inverse = np.linalg.pinv(model, rcond=_RANK)
    known = np.linalg.norm(ahead - ahead @ (inverse @ model), axis=1) < _UNKNOWN
    first, both = spanned(model), spanned(_with_shift(model, ahead))
    before = screened.runs.values
    free = len(values) - (both.shape[1] - first.shape[1])
    if np.count_nonzero(known) < _LEAST_PREDICTED or free < 1 or df < 1:
        return PredictionCheck(int(known.sum()), len(values), None, None, known_from, None, None, None, None, None)
    ratio = (_left(both, np.concatenate([before, values])) - _left(first, before)) / free / noise
    errors = (values - ahead @ (inverse @ before))[known]
    sizes = np.abs([screened.relative(float(error)) for error in errors - np.mean(errors)])
    carried = len(values) - float(np.sum(both[len(before) :] ** 2))
    hidden = noise * _needed(free, df) * free / carried
    return PredictionCheck(
        runs=int(known.sum()),
        random=len(values),
        p_value=float(f_above(np.array(max(ratio, 0.0)), free, df)),
        df=(free, df),
        noise=known_from,
        ratio=ratio,
        median=float(np.median(sizes)),
        largest=float(sizes.max()),
        deviation=screened.relative(float(np.sqrt(noise))),
        unseen=screened.relative(float(np.sqrt(hidden))) if known_from == REPETITIONS else None,
    )


def _with_shift(model: FloatArray, ahead: FloatArray) -> FloatArray:
    shift = np.repeat([0.0, 1.0], [len(model), len(ahead)])[:, None]
    return np.hstack([np.vstack([model, ahead]), shift])


def _left(basis: FloatArray, values: FloatArray) -> float:
    left = values - basis @ (basis.T @ values)
    return float(left @ left)


def _noise(screened: Screened, judging: FloatArray) -> tuple[float, int, str]:
    """The variance of a run, its degrees of freedom, and what it is known from."""
    runs = screened.runs
    floor = (screened.relevant / _FLOOR) ** 2
    _, rows = np.unique(runs.levels, axis=0, return_inverse=True)
    own: Index = np.asarray(rows, dtype=np.intp).ravel()
    variance, df = pure_error(runs.values, own, runs.blocks)
    if df >= _LEAST_PURE:
        return max(variance, floor), int(df), REPETITIONS
    basis = spanned(judging)
    df = len(runs) - basis.shape[1]
    return max(_left(basis, runs.values) / max(df, 1), floor), int(df), RESIDUALS


def _needed(free: int, df: int) -> float:
    """How much more variance than expected the test sees with 80 % power, as a fraction of the noise's."""
    return f_quantile(1.0 - ALPHA, free, df) / f_quantile(1.0 - _POWER, free, df) - 1.0
