"""On which scale a linear model fits best: the Box-Cox profile likelihood."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.stats.least_squares import Index, without_means

_POWERS = np.round(np.arange(-60, 61) * 0.05, 2)
_SAME = 1e-9
_ENTRIES = 4_000_000
_DROP = 1.920729410347062  # half of the 95 % quantile of chi-square with one degree of freedom


class BoxCox(Struct, frozen=True):
    """The profile likelihood of the power in a power transformation of the response.

    ``power`` maximises it over [-3, 3]; ``interval`` is its 95 % likelihood interval, cut at those limits;
    ``log_gain`` is the log likelihood at power 0 (the logarithm) minus that at power 1 (no transformation).
    """

    power: float
    interval: tuple[float, float]
    log_gain: float


def box_cox(values: FloatArray, model: FloatArray, groups: Index) -> BoxCox:
    """How well a linear model fits each power of the values, besides a mean for each group.

    Box and Cox (1964), An analysis of transformations, JRSS B 26(2), 211-252, section 3: with the
    responses divided by their geometric mean, the log likelihood is -n/2 ln(residual sum of squares).

    Args:
        values: the responses, shape (n,), all above zero.
        model: the model's columns besides, shape (n, p), p may be 0.
        groups: the group of each value, shape (n,).
    """
    logs = np.log(values)
    logs = logs - logs.mean()
    basis, sizes, _ = np.linalg.svd(without_means(model, groups), full_matrices=False)
    basis = basis[:, sizes > _SAME * np.sqrt(len(values))]
    step = max(1, _ENTRIES // len(values))
    parts = [_squares(logs, _POWERS[i : i + step], basis, groups) for i in range(0, len(_POWERS), step)]
    likelihood = -0.5 * len(values) * np.log(np.concatenate(parts))
    power, best = _peak(likelihood)
    low, high = _crossings(likelihood, best - _DROP)
    zero, one = (int(np.flatnonzero(power_ == _POWERS)[0]) for power_ in (0.0, 1.0))
    return BoxCox(power, (low, high), float(likelihood[zero] - likelihood[one]))


def _squares(logs: FloatArray, powers: FloatArray, basis: FloatArray, groups: Index) -> FloatArray:
    """The residual sum of squares for each power."""
    with np.errstate(divide="ignore", invalid="ignore"):
        transformed = np.expm1(np.outer(logs, powers)) / powers
    transformed[:, powers == 0.0] = logs[:, None]
    centred = without_means(transformed, groups)
    residuals = centred - basis @ (basis.T @ centred)
    # Rounding leaves a little of an exact fit; without a floor it would be compared by its last digits.
    floor = len(logs) * (1e-12 * np.abs(transformed).max(axis=0)) ** 2 + np.finfo(float).tiny
    return np.asarray(np.maximum(np.sum(residuals**2, axis=0), floor))


def _peak(likelihood: FloatArray) -> tuple[float, float]:
    """The maximum between the grid's points, by a parabola through the best three."""
    i = int(np.argmax(likelihood))
    if i in (0, len(_POWERS) - 1):
        return float(_POWERS[i]), float(likelihood[i])
    left, middle, right = likelihood[i - 1 : i + 2]
    bend = left - 2.0 * middle + right
    shift = 0.5 * (left - right) / bend if bend < 0 else 0.0
    step = float(_POWERS[1] - _POWERS[0])
    return float(_POWERS[i]) + shift * step, float(middle - 0.25 * (left - right) * shift)


def _crossings(likelihood: FloatArray, level: float) -> tuple[float, float]:
    """Where the likelihood rises above a level for the first time, and falls below it for the last."""
    above = np.flatnonzero(likelihood >= level)
    if not len(above):  # a peak narrower than the grid
        i = int(np.argmax(likelihood))
        return float(_POWERS[max(i - 1, 0)]), float(_POWERS[min(i + 1, len(_POWERS) - 1)])
    low, high = int(above[0]), int(above[-1])
    return _between(likelihood, level, low, low - 1), _between(likelihood, level, high, high + 1)


def _between(likelihood: FloatArray, level: float, inside: int, outside: int) -> float:
    if not 0 <= outside < len(_POWERS):
        return float(_POWERS[inside])
    part = (likelihood[inside] - level) / (likelihood[inside] - likelihood[outside])
    return float(_POWERS[inside] + part * (_POWERS[outside] - _POWERS[inside]))
