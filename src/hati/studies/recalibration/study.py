"""Policies of recalibration, shifts of residuals, and changes between two screenings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import Configuration, FloatArray, InputError, Metric, Run, Setting
from hati.design import sum_codes
from hati.stats import f_above, holm
from hati.studies.command_line import CommandLine
from hati.studies.screening import Choice, Effect, EffectScale, Options, ScreeningConclusion

if TYPE_CHECKING:
    from hati.space import Space


def values_of(runs: Iterable[Run], metric: Metric, configurations: Sequence[Configuration]) -> FloatArray:
    """The mean of each run, in the metric's unit, shape (most runs of any, configurations); nan for missing runs.

    Raises:
        InputError: if a run's unit cannot be converted to the metric's.
    """
    found: dict[Configuration, list[float]] = {configuration: [] for configuration in configurations}
    for run in runs:
        value = run.value(metric) if run.task.configuration in found else None
        if value is not None:
            found[run.task.configuration].append(value)
    values = np.full((max(map(len, found.values()), default=0), len(configurations)), np.nan)
    for place, configuration in enumerate(configurations):
        own = found[configuration]
        values[: len(own), place] = own
    return values


_MOST_GONE = 8


def earlier_space(choice: Choice, options: Sequence[str], made: Iterable[Configuration], today: Space) -> Space | None:
    """The space of two-setting options in which ``made`` are configurations of a chosen fraction; None if unknown.

    The order of an option's settings, which determines the sign of its effect, is today's; for an option that is gone,
    it is an order in which all runs are in the fraction.
    """
    from hati.design import configurations
    from hati.space import Option, Space

    seen = list(made)
    settings = {name: tuple(dict.fromkeys(each[name] for each in seen if name in each)) for name in options}
    if any(len(own) != 2 for own in settings.values()) or len(options) != choice.factors:
        return None
    orders = [_orders(own, name, today) for name, own in settings.items()]
    if sum(len(order) > 1 for order in orders) > _MOST_GONE:
        return None
    for chosen in product(*orders):
        space = Space(tuple(Option(name, own, own[0]) for name, own in zip(options, chosen, strict=True)))
        try:
            planned = set(configurations(choice.design(tuple(options)), space))
        except InputError:
            return None
        if planned.issuperset(seen):
            return space
    return None


def _orders(own: tuple[Setting, ...], name: str, today: Space) -> list[tuple[Setting, ...]]:
    known = next((option.settings for option in today.options if option.name == name), ())
    if set(map(_typed, own)) == set(map(_typed, known)):
        return [known]
    return [own, own[::-1]]


def _typed(setting: Setting) -> tuple[type, Setting]:
    return type(setting), setting


class Prior(Struct, frozen=True):
    """An earlier screening: its study's key, and its options.

    ``conclusion`` is None if it cannot be reproduced, because other options have another design.
    """

    study: str
    options: tuple[str, ...]
    conclusion: ScreeningConclusion | None = None

    def likely(self, names: Sequence[str]) -> tuple[int, ...]:
        """The positions of the options that were important, the most influential first."""
        if self.conclusion is None:
            return ()
        return tuple(names.index(name) for name in self.conclusion.influential if name in names)


def scale_of(screened: ScreeningConclusion) -> EffectScale:
    """The log scale if all values are positive: a level that rises by a tenth does not change ratios. Else raw."""
    return EffectScale.LOG if min(point.value for point in screened.points) > 0.0 else EffectScale.RAW


class MainEffectPrediction(Struct, frozen=True, eq=False):
    """The main effects of all options, by least squares from the means of a screening's configurations.

    All main effects are used, not only the important ones, because a selected fit predicts worse than it seems to.
    ``coefficients`` has shape (columns,), for the columns of ``settings``, and ``unscaled`` is their covariance in
    units of ``variance``: that of a configuration's mean about the model, estimated with ``df`` degrees of freedom. It
    contains noise and the effects that the model omits.
    """

    settings: Mapping[str, tuple[Setting, ...]]
    coefficients: FloatArray
    unscaled: FloatArray
    variance: float
    df: int

    @classmethod
    def of(cls, screened: ScreeningConclusion, scale: EffectScale) -> MainEffectPrediction | None:
        """The prediction of a screening; None if its runs leave no degrees of freedom for the model's fit."""
        values, configurations = _means(screened, scale)
        matrix, settings = _estimable({one.name: one.settings for one in screened.options}, configurations)
        df = len(values) - matrix.shape[1]
        if df < 1:
            return None
        unscaled = np.asarray(np.linalg.inv(matrix.T @ matrix), dtype=np.float64)
        coefficients = unscaled @ matrix.T @ values
        rest = values - matrix @ coefficients
        return cls(settings, coefficients[1:], unscaled[1:, 1:], float(rest @ rest) / df, df)

    def columns(self, configurations: Sequence[Configuration]) -> FloatArray:
        """The model's columns for configurations, shape (configurations, columns)."""
        coded = [_coded(name, own, configurations) for name, own in self.settings.items()]
        return np.hstack([np.zeros((len(configurations), 0)), *coded])


def _means(screened: ScreeningConclusion, scale: EffectScale) -> tuple[FloatArray, list[Configuration]]:
    """Each configuration's mean on a scale, without the differences between repetitions common to all of them.

    A configuration's n-th run belongs to the n-th repetition, since each repetition is a block of all configurations.
    """
    runs: dict[Configuration, list[float]] = {}
    for point in sorted(screened.points, key=lambda point: point.order):
        value = float(np.log(point.value)) if scale is EffectScale.LOG else point.value
        runs.setdefault(point.configuration, []).append(value)
    most = max(map(len, runs.values()))
    drift = np.mean([own for own in runs.values() if len(own) == most], axis=0)
    return np.array([float(np.mean(np.array(own) - drift[: len(own)])) for own in runs.values()]), list(runs)


def _estimable(
    options: Mapping[str, tuple[Setting, ...]], configurations: Sequence[Configuration]
) -> tuple[FloatArray, dict[str, tuple[Setting, ...]]]:
    """The model's columns, the level's first, and the options that runs distinguish from those before them."""
    matrix, kept = np.ones((len(configurations), 1)), {}
    for name, settings in options.items():
        wider = np.hstack([matrix, _coded(name, settings, configurations)])
        if np.linalg.matrix_rank(wider) == wider.shape[1]:
            matrix, kept[name] = wider, settings
    return matrix, kept


def _coded(name: str, settings: tuple[Setting, ...], configurations: Sequence[Configuration]) -> FloatArray:
    """An option's columns by sum coding, shape (configurations, settings - 1); 0 where it is inactive."""
    rows = [settings.index(each[name]) if name in each else len(settings) for each in configurations]
    return sum_codes(len(settings))[rows]


class EffectStatus(StrEnum):
    """The change of an effect's status."""

    BECAME = "became important"
    CEASED = "no longer shown"
    STAYED = "still important"
    NEVER = "not shown"


class EffectChange(Struct, frozen=True):
    """An effect then and now, fractions on the deciding scale of each screening, with intervals of 95 %.

    They are None if a screening has no such effect. ``moved`` is true if the intervals do not overlap.
    """

    options: Options
    change: EffectStatus
    before: float | None
    before_interval: tuple[float, float] | None
    after: float | None
    after_interval: tuple[float, float] | None

    @property
    def moved(self) -> bool:
        """Whether the sizes are distinguishable; far less than one in twenty equal effects are."""
        if self.before_interval is None or self.after_interval is None:
            return False
        return max(self.before_interval[0], self.after_interval[0]) > min(
            self.before_interval[1], self.after_interval[1]
        )


class EffectChanges(Struct, frozen=True):
    """All options, and the interactions that are important in either screening, the largest present effect first.

    ``added`` and ``removed`` name options that only one of the screenings has.
    """

    before: str
    after: str
    metric: str
    effects: tuple[EffectChange, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]

    def of(self, change: EffectStatus) -> tuple[EffectChange, ...]:
        """The effects with that change of status."""
        return tuple(effect for effect in self.effects if effect.change is change)


def effect_changes(before: Prior, after: ScreeningConclusion) -> EffectChanges:
    """Compare the effects of a screening with those of a later one, of the same metric."""
    then = _by_options(before.conclusion.effects if before.conclusion else ())
    now, names = _by_options(after.effects), [option.name for option in after.options]
    terms = [
        key for key in dict.fromkeys((*now, *then)) if len(key) == 1 or _important(then, key) or _important(now, key)
    ]
    return EffectChanges(
        before=before.study,
        after=after.study,
        metric=after.metric.name,
        effects=tuple(_change(then.get(key), now.get(key)) for key in terms),
        added=tuple(name for name in names if name not in before.options),
        removed=tuple(name for name in before.options if name not in names),
    )


def _by_options(effects: Iterable[Effect]) -> dict[frozenset[str], Effect]:
    return {frozenset(effect.options): effect for effect in effects}


def _important(effects: dict[frozenset[str], Effect], key: frozenset[str]) -> bool:
    return key in effects and effects[key].shown


def _change(before: Effect | None, after: Effect | None) -> EffectChange:
    known = after or before
    assert known is not None
    return EffectChange(
        options=known.options,
        change=_KINDS[before is not None and before.shown, after is not None and after.shown],
        before=None if before is None else before.relative,
        before_interval=None if before is None else before.relative_interval,
        after=None if after is None else after.relative,
        after_interval=None if after is None else after.relative_interval,
    )


_KINDS = {
    (False, True): EffectStatus.BECAME,
    (True, False): EffectStatus.CEASED,
    (True, True): EffectStatus.STAYED,
    (False, False): EffectStatus.NEVER,
}


TOLERANCE = 0.05


class Policy(Struct, frozen=True):
    """The conditions each of which makes a recalibration due; None, or False, for an unused condition.

    ``checks`` and ``days`` are counted from the last screening. ``residuals`` is the level of the test whether its
    model still predicts, to within ``tolerance``, a fraction. ``options`` is met if one was added or removed, or its
    settings changed.

    Raises:
        InputError: for a policy without conditions, or with values out of range.
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
    """The distance of values from their predictions, both about their means: root mean squares on ``scale``.

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

    The expected values are those of all configurations ``before``, if known; else those that the screening's model
    predicts, which may err by as much as in the screening's own runs. Levels are not compared. A shift whose root mean
    square is within the tolerance does not count.

    Args:
        screened: the screening.
        configurations: those measured now; each once.
        values: of the metric, in its unit, shape (rounds, configurations); nan for missing ones.
        before: the earlier values of configurations, in the metric's unit.
        tolerance: a fraction, of the mean size if values are not all positive.

    Returns:
        None if fewer than two configurations were measured, or the model's fit is unknown.
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
    """The F test of the residual mean square about the level, which is estimated by generalised least squares.

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
    """The ``means`` of the ``measured`` configurations over ``counts`` rounds, and the variance of a round about them.

    ``variance`` has ``df`` degrees of freedom; it is 0 if no configuration has two rounds. ``peaked`` is one plus half
    the excess kurtosis of a round, at least 1.
    """

    measured: NDArray[np.bool_]
    means: FloatArray
    counts: FloatArray
    variance: float
    df: int
    peaked: float

    @classmethod
    def of(cls, values: FloatArray) -> _Now:
        """Summarise values on a scale, shape (rounds, configurations)."""
        measured = np.asarray(~np.isnan(values).all(axis=0), dtype=np.bool_)
        chosen = values[:, measured]
        counts = np.sum(~np.isnan(chosen), axis=0).astype(np.float64)
        means = np.nansum(chosen, axis=0) / counts
        df = int(np.sum(counts - 1.0))
        rest = chosen - means
        variance = float(np.nansum(rest**2)) / df if df else 0.0
        return cls(measured, means, counts, variance, df, _peaked(rest, counts, variance))


def _peaked(rest: FloatArray, counts: FloatArray, variance: float) -> float:
    """``peaked``, from deviations of rounds from their means, whose excess kurtosis is less than that of rounds."""
    if variance == 0.0:
        return 1.0
    rounds = max(2.0, float(np.mean(counts)))
    kept = ((rounds - 1.0) ** 3 + 1.0) / (rounds**2 * (rounds - 1.0))
    values = rest[~np.isnan(rest)]
    excess = float(np.mean(values**4)) / float(np.mean(values**2)) ** 2 - 3.0
    return 1.0 + max(0.0, excess) / kept / 2.0


def _logarithms(values: FloatArray) -> FloatArray:
    """The logarithms of values; nan for values not above zero."""
    found = np.full(values.shape, np.nan)
    np.log(values, out=found, where=values > 0.0)
    return found


def _size(screened: ScreeningConclusion) -> float:
    """The mean size of a run's value."""
    return float(np.mean([abs(point.value) for point in screened.points]))


class RecalibrationCondition(StrEnum):
    """A condition of a policy that is met."""

    UNSCREENED = "unscreened"
    CHECKS = "checks"
    DAYS = "days"
    RESIDUALS = "residuals"
    OPTIONS = "options"


class Since(Struct, frozen=True):
    """The events of a benchmark since it was last screened, by ``study``; None if it never was.

    ``screened`` is the time when the screening's last run started; ``checks`` counts the checks since, including the
    present one. ``added`` and ``removed`` name options; ``altered`` is true if options are the same, but their settings
    or constraints are not. ``shifts`` are those of the metrics whose residuals were tested.
    """

    benchmark: str
    study: str | None = None
    screened: datetime | None = None
    checks: int = 0
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    altered: bool = False
    shifts: tuple[ResidualShift, ...] = ()
    command: CommandLine = CommandLine()


class Reason(Struct, frozen=True):
    """A condition that is met for a benchmark: its ``value``, and the ``limit`` of the policy.

    They count checks or days; for residuals they are the p-value, corrected for all metrics that were tested, and the
    level. ``shift`` is given for residuals only.
    """

    condition: RecalibrationCondition
    since: Since
    value: float | None = None
    limit: float | None = None
    shift: ResidualShift | None = None


class Recalibration(Struct, frozen=True):
    """Whether important options are due to be determined again: they are if there is a reason."""

    reasons: tuple[Reason, ...] = ()

    @property
    def due(self) -> bool:
        """Whether there is any reason."""
        return bool(self.reasons)


def due(policy: Policy, benchmarks: Sequence[Since], now: datetime) -> Recalibration:
    """Compare each benchmark with the policy.

    The level of residuals holds for all benchmarks and metrics of this check together (Holm).
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
