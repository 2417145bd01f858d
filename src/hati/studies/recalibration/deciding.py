"""When important options are to be determined again: what a project wants, whether residuals changed, and whether
it is due.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import Configuration, FloatArray, InputError, Metric
from hati.stats import f_above, holm
from hati.studies.recalibration.prediction import MainEffectPrediction, scale_of
from hati.studies.screening import EffectScale, ScreeningConclusion

TOLERANCE = 0.05


class Policy(Struct, frozen=True):
    """The conditions that individually make a recalibration due; None, or False: not a condition.

    ``checks`` and ``days`` are counted from the last screening. ``residuals`` is the level of the test whether its
    model still predicts, to within ``tolerance``, a fraction. ``options``: one was added or removed, or its settings
    changed.

    Raises:
        InputError: for a policy of nothing, or of values that mean nothing.
    """

    checks: int | None = None
    days: float | None = None
    residuals: float | None = None
    options: bool = False
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        if self.checks is not None and self.checks < 1:
            raise InputError(f"every {self.checks} checks is never", fix="write 1 or more")
        if self.days is not None and not 0.0 < self.days < float("inf"):
            raise InputError(f"every {self.days:g} days is never", fix="write a number above 0")
        if self.residuals is not None and not 0.0 < self.residuals < 1.0:
            raise InputError(
                f"a level is a share between 0 and 1, not {self.residuals:g}", fix='write it as "1%" or 0.01'
            )
        if not 0.0 <= self.tolerance < float("inf"):
            raise InputError(f"a tolerance is a fraction from 0 on, not {self.tolerance:g}", fix='write it as "5%"')
        if (self.checks, self.days, self.residuals, self.options) == (None, None, None, False):
            raise InputError(
                "nothing makes a recalibration due", fix='say what does, as in: days = 30, residuals = "1%"'
            )


_Known = Mapping[Configuration, float]
_FEWEST = 2


class ResidualShift(Struct, frozen=True):
    """How far values are from their predictions, both about their means: root mean squares on ``scale``.

    ``expected`` is the shift without a change; ``p_value`` is that of no shift beyond it.
    """

    metric: Metric
    scale: EffectScale
    found: float
    expected: float
    p_value: float
    configurations: int


def residual_shift(
    screened: ScreeningConclusion,
    configurations: Sequence[Configuration],
    values: FloatArray,
    before: _Known | None = None,
    tolerance: float = TOLERANCE,
) -> ResidualShift | None:
    """Test whether values differ from a screening's prediction by more than noise.

    Expected are the values of all configurations ``before``, where known; else the values that the model
    of the screening predicts, which may err by as much as it did in the screening's own runs. Levels are not compared.
    A shift whose root mean square is within the tolerance is none.

    Args:
        screened: the screening.
        configurations: those measured now; each once.
        values: of the metric, in its unit, shape (rounds, configurations); nan where there is none.
        before: what configurations had then, in the metric's unit.
        tolerance: a fraction, of the mean size where values are not all positive.

    Returns:
        None where fewer than two configurations were measured, or the model's fit is unknown.
    """
    scale = scale_of(screened)
    now = _Now.of(values if scale is EffectScale.RAW else _logarithms(values))
    cells = [configuration for configuration, use in zip(configurations, now.measured, strict=True) if use]
    if len(cells) < _FEWEST:
        return None
    margin = float(np.log1p(tolerance)) if scale is EffectScale.LOG else tolerance * _size(screened)
    then = np.array([(before or {}).get(cell, np.nan) for cell in cells])
    then = then if scale is EffectScale.RAW else _logarithms(then)
    if now.df and not np.isnan(then).any():
        # An earlier measurement has at least one run, as noisy as one of today's.
        variances = now.variance * (1.0 + 1.0 / now.counts) + margin**2
        return _tested(screened.metric, scale, now.means - then, np.diag(variances), now.df, now.peaked)
    model = MainEffectPrediction.of(screened, scale)
    if model is None:
        return None
    columns = model.columns(cells)
    covariance = model.variance * (np.eye(len(cells)) + columns @ model.unscaled @ columns.T)
    covariance += np.diag(now.variance / now.counts + margin**2)
    return _tested(screened.metric, scale, now.means - columns @ model.coefficients, covariance, model.df)


def _tested(
    metric: Metric, scale: EffectScale, away: FloatArray, covariance: FloatArray, df: int, peaked: float = 1.0
) -> ResidualShift:
    """Generalised least squares of the level: the squares that are left, over their number, are F.

    Both numbers of degrees of freedom are divided by ``peaked``, 1 + gamma / 2 for noise of excess kurtosis gamma: Box
    (1953), Non-normality and tests on variances, Biometrika 40(3/4), 318-335.
    """
    left = len(away) - 1
    weight = np.linalg.inv(covariance)
    level = float(np.sum(weight @ away) / np.sum(weight))
    statistic = float((away - level) @ weight @ (away - level)) / left
    expected = (np.trace(covariance) - covariance.mean() * len(away)) / left
    return ResidualShift(
        metric=metric,
        scale=scale,
        found=float(np.std(away, ddof=1)),
        expected=float(np.sqrt(expected)),
        p_value=float(f_above(np.array([statistic]), left / peaked, df / peaked)[0]),
        configurations=len(away),
    )


class _Now(Struct, frozen=True, eq=False):
    """Of the ``measured`` configurations the ``means`` over ``counts`` rounds, and a round's variance about them.

    ``variance`` is known with ``df`` degrees of freedom; 0 where no configuration has two rounds. ``peaked`` is
    one plus half the excess kurtosis of a round, at least 1.
    """

    measured: NDArray[np.bool_]
    means: FloatArray
    counts: FloatArray
    variance: float
    df: int
    peaked: float

    @classmethod
    def of(cls, values: FloatArray) -> _Now:
        """Those of values on a scale, shape (rounds, configurations)."""
        measured = np.asarray(~np.isnan(values).all(axis=0), dtype=np.bool_)
        chosen = values[:, measured]
        counts = np.sum(~np.isnan(chosen), axis=0).astype(np.float64)
        means = np.nansum(chosen, axis=0) / counts
        df = int(np.sum(counts - 1.0))
        rest = chosen - means
        variance = float(np.nansum(rest**2)) / df if df else 0.0
        return cls(measured, means, counts, variance, df, _peaked(rest, counts, variance))


def _peaked(rest: FloatArray, counts: FloatArray, variance: float) -> float:
    """From deviations of rounds from their means, whose excess kurtosis is less than that of rounds."""
    if variance == 0.0:
        return 1.0
    rounds = max(2.0, float(np.mean(counts)))
    kept = ((rounds - 1.0) ** 3 + 1.0) / (rounds**2 * (rounds - 1.0))
    values = rest[~np.isnan(rest)]
    excess = float(np.mean(values**4)) / float(np.mean(values**2)) ** 2 - 3.0
    return 1.0 + max(0.0, excess) / kept / 2.0


def _logarithms(values: FloatArray) -> FloatArray:
    """Nan where there is none."""
    found = np.full(values.shape, np.nan)
    np.log(values, out=found, where=values > 0.0)
    return found


def _size(screened: ScreeningConclusion) -> float:
    """The mean size of a run's value."""
    return float(np.mean([abs(point.value) for point in screened.points]))


class RecalibrationCondition(StrEnum):
    """What of a policy is met."""

    UNSCREENED = "unscreened"
    CHECKS = "checks"
    DAYS = "days"
    RESIDUALS = "residuals"
    OPTIONS = "options"


class Since(Struct, frozen=True):
    """What happened to a benchmark since it was last screened, by ``study``; None where it never was.

    ``screened`` is when its last run started; ``checks`` counts those since, the present one included. ``added`` and
    ``removed`` name options; ``altered``: they are the same, and their settings or constraints are not. ``shifts`` are
    of the metrics whose residuals were tested.
    """

    benchmark: str
    study: str | None = None
    screened: datetime | None = None
    checks: int = 0
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    altered: bool = False
    shifts: tuple[ResidualShift, ...] = ()


class Reason(Struct, frozen=True):
    """A condition that is met for a benchmark: its ``value``, and the ``limit`` of the policy.

    They count checks or days; of residuals they are the p-value, corrected for all metrics that were tested, and the
    level. ``shift`` is given for residuals only.
    """

    condition: RecalibrationCondition
    since: Since
    value: float | None = None
    limit: float | None = None
    shift: ResidualShift | None = None


class Recalibration(Struct, frozen=True):
    """Whether important options are due to be determined again: where there is a reason."""

    reasons: tuple[Reason, ...] = ()

    @property
    def due(self) -> bool:
        """Whether there is any reason."""
        return bool(self.reasons)


def due(policy: Policy, benchmarks: Sequence[Since], now: datetime) -> Recalibration:
    """Hold each benchmark against the policy.

    The level of residuals is that of all benchmarks and metrics of this check together (Holm).
    """
    return Recalibration(
        tuple(reason for since in benchmarks for reason in _counted(policy, since, now))
        + tuple(_shifted(policy, benchmarks))
    )


def _counted(policy: Policy, since: Since, now: datetime) -> Iterator[Reason]:
    if since.screened is None:
        yield Reason(RecalibrationCondition.UNSCREENED, since)
        return
    if policy.checks is not None and since.checks >= policy.checks:
        yield Reason(RecalibrationCondition.CHECKS, since, since.checks, policy.checks)
    days = (now - since.screened) / timedelta(days=1)
    if policy.days is not None and days >= policy.days:
        yield Reason(RecalibrationCondition.DAYS, since, days, policy.days)
    if policy.options and (since.added or since.removed or since.altered):
        yield Reason(RecalibrationCondition.OPTIONS, since)


def _shifted(policy: Policy, benchmarks: Sequence[Since]) -> Iterator[Reason]:
    tested = [(since, shift) for since in benchmarks for shift in since.shifts]
    if policy.residuals is None or not tested:
        return
    corrected = holm(np.array([shift.p_value for _, shift in tested]))
    for (since, shift), p_value in zip(tested, corrected.tolist(), strict=True):
        if p_value <= policy.residuals:
            yield Reason(RecalibrationCondition.RESIDUALS, since, p_value, policy.residuals, shift)
