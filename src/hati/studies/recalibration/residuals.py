"""Whether what is measured now is still what a screening's model predicts, but for the level.

The test of predictive failure of Chow (1960), Tests of equality between sets of coefficients in two linear
regressions, Econometrica 28(3), 591-605, with a level of its own for the new values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hati.core import Configuration, FloatArray, Metric
from hati.stats import f_above
from hati.studies.recalibration.prediction import Prediction
from hati.studies.screening import Scale, ScreeningConclusion

_Known = Mapping[Configuration, float]


@dataclass(frozen=True)
class ResidualShift:
    """How far values are from their predictions, both about their means: root mean squares on ``scale``.

    ``expected`` is what is to be expected where nothing changed; ``p_value`` is that of no shift beyond it.
    """

    metric: Metric
    scale: Scale
    found: float
    expected: float
    p_value: float
    configurations: int


def residual_shift(
    screened: ScreeningConclusion,
    configurations: Sequence[Configuration],
    values: FloatArray,
    before: _Known | None = None,
) -> ResidualShift | None:
    """Test whether values are off their predictions by more than the screening's own runs were.

    A prediction is the model's; of a configuration that was measured ``before``, beside the screening, it is what was
    measured then, which takes away what the model has always been wrong by. Levels are not compared. A shift of less
    than the screening's relevant effect is none.

    Args:
        screened: the screening.
        configurations: what was measured now; each once.
        values: of the metric, in its unit, shape (rounds, configurations); nan where there is none.
        before: what configurations had then, in the metric's unit.

    Returns:
        None where fewer than two configurations were measured, or nothing tells how well the model fits.
    """
    model = Prediction.of(screened)
    if model is None:
        return None
    there = _usable(model, configurations, values, before or {})
    cells = [configuration for configuration, use in zip(configurations, there.used, strict=True) if use]
    columns = model.columns(cells) * ~there.known[:, None]
    away = there.now - there.then - columns @ model.coefficients
    margin = np.log1p(screened.relevant) if model.scale is Scale.LOG else screened.relevant * _size(screened)
    each = model.variance + there.noise + margin**2
    covariance = each * np.eye(len(cells)) + model.variance * (columns @ model.unscaled @ columns.T)
    levels = np.column_stack([there.known, ~there.known]).astype(np.float64)
    levels = levels[:, levels.any(axis=0)]
    return _tested(screened.metric, model, away, covariance, levels)


def _tested(
    metric: Metric, model: Prediction, away: FloatArray, covariance: FloatArray, levels: FloatArray
) -> ResidualShift | None:
    """Generalised least squares of the levels: the squares that are left, over their number, are F."""
    left = len(away) - levels.shape[1]
    if left < 1:
        return None
    weight = np.linalg.inv(covariance)
    level = np.linalg.solve(levels.T @ weight @ levels, levels.T @ weight @ away)
    rest = away - levels @ level
    statistic = float(rest @ weight @ rest) / left
    centred = np.eye(len(away)) - levels @ np.linalg.pinv(levels)
    return ResidualShift(
        metric=metric,
        scale=model.scale,
        found=float(np.sqrt(np.sum((centred @ away) ** 2) / left)),
        expected=float(np.sqrt(np.trace(centred @ covariance @ centred) / left)),
        p_value=float(f_above(np.array([statistic]), left, model.df)[0]),
        configurations=len(away),
    )


@dataclass(frozen=True, eq=False)
class _Cells:
    """What can be compared, on the model's scale: ``used`` of all configurations, the others by these.

    ``now`` are means over rounds, ``noise`` the variance of one; ``then`` what was measured before where ``known``.
    """

    used: NDArray[np.bool_]
    now: FloatArray
    noise: float
    then: FloatArray
    known: NDArray[np.bool_]


def _usable(model: Prediction, configurations: Sequence[Configuration], values: FloatArray, before: _Known) -> _Cells:
    then = np.array([before.get(configuration, np.nan) for configuration in configurations])
    if model.scale is Scale.LOG:
        with np.errstate(divide="ignore", invalid="ignore"):
            values, then = np.log(values), np.log(then)
    values = np.where(np.isfinite(values), values, np.nan)
    told = np.array([model.tells(configuration) for configuration in configurations], dtype=np.bool_)
    known = np.isfinite(then)
    used = np.asarray(~np.isnan(values).all(axis=0) & (told | known), dtype=np.bool_)
    chosen = values[:, used]
    counts = np.sum(~np.isnan(chosen), axis=0)
    now = np.nansum(chosen, axis=0) / counts
    spare = int(np.sum(counts - 1))
    variance = float(np.nansum((chosen - now) ** 2)) / spare if spare else 0.0
    noise = variance * float(np.mean(1.0 / counts)) if len(counts) else 0.0
    return _Cells(used, now, noise, np.where(known, then, 0.0)[used], known[used])


def _size(screened: ScreeningConclusion) -> float:
    """The mean size of a run's value."""
    return float(np.mean([abs(point.value) for point in screened.points]))
