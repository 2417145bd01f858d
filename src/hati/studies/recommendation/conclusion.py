"""The conclusion of a recommendation study, and the rules that a recommendation has to keep."""

from __future__ import annotations

import math
import re
from enum import StrEnum

import numpy as np
from msgspec import Struct

from hati.core import Better, Configuration, FloatArray, InputError, Metric, Place, Setting
from hati.stats import t_quantile

_ROUNDING = 1e-12

_RULE = re.compile(
    r"\s*(?P<metric>.+?)\s*(?P<comparator><=|>=)\s*(?:(?P<before>[0-9.eE+-]+)\s*\*\s*)?default"
    r"(?:\s*\*\s*(?P<after>[0-9.eE+-]+))?\s*"
)
_FIX = "write --keep 'METRIC <= 1.1 * default', or >="


class KeepRule(Struct, frozen=True):
    """``metric <= factor * default``, or >= if the limit is a ``lower`` one."""

    metric: str
    factor: float
    lower: bool = False

    def __post_init__(self) -> None:
        if not 0.0 < self.factor < float("inf"):
            raise InputError(f"the factor of --keep is a number above 0, not {self.factor:g}", fix=_FIX)

    def __str__(self) -> str:
        return f"{self.metric} {'>=' if self.lower else '<='} {self.factor:g} * default"

    def holds(self, value: float, baseline: float) -> bool:
        """Whether a value is within the limit set by the value at the default configuration, apart from rounding."""
        limit = self.factor * baseline
        beyond = limit - value if self.lower else value - limit
        return beyond <= _ROUNDING * (abs(value) + abs(limit))

    def margin(self, values: FloatArray, baselines: FloatArray, error: float) -> float | None:
        """The distance within the limit that shows the rule at that error; None with fewer than two runs each.

        It is that of Welch's one-sided t test of value - factor * baseline, whatever the values are.

        Args:
            values: runs of the configuration, shape (n,).
            baselines: runs of the default one, shape (m,).
            error: of the test, in (0, 0.5).
        """
        if min(len(values), len(baselines)) < 2:
            return None
        parts = np.array(
            [np.var(values, ddof=1) / len(values), self.factor**2 * np.var(baselines, ddof=1) / len(baselines)]
        )
        variance = float(parts.sum())
        if variance == 0.0:
            return 0.0
        df = variance**2 / float((parts**2 / (np.array([len(values), len(baselines)]) - 1)).sum())
        return t_quantile(1.0 - error, df) * math.sqrt(variance)


def parse_keep(text: str) -> KeepRule:
    """Read ``memory <= 1.1 * default``, ``memory <= default * 1.1`` or ``tps >= default``.

    Raises:
        InputError: for anything else, with the place and the fix.
    """
    match = _RULE.fullmatch(text)
    if match is None or (match["before"] and match["after"]):
        raise InputError("expected METRIC <= FACTOR * default", place=Place("--keep", None, 1, text), fix=_FIX)
    written = match["before"] or match["after"] or "1"
    try:
        factor = float(written)
    except ValueError:
        column = text.index(written) + 1
        raise InputError(f"{written!r} is not a number", place=Place("--keep", None, column, text), fix=_FIX) from None
    return KeepRule(match["metric"], factor, match["comparator"] == ">=")


class MetricChange(Struct, frozen=True):
    """The change of a metric by a recommended configuration, compared with the baseline.

    ``predicted`` and ``measured`` are in the metric's unit; the changes are fractions. ``interval`` is that of
    ``change``; intervals of the requested metric hold for all verdicts together with 95 %. Unknown values are None.
    ``pending`` runs of its round are still to be made: the change is judged only after the last one.
    """

    metric: Metric
    predicted: float | None
    predicted_change: float | None
    measured: float | None
    baseline: float | None
    change: float | None
    interval: tuple[float, float] | None
    pairs: int
    pending: int = 0

    @property
    def confirmed(self) -> bool:
        """Whether the whole interval is on the good side, after the last run of the round."""
        return not self.pending and _good(self.metric, self.interval)


class SettingGain(Struct, frozen=True):
    """The gain of a setting given the others: the change of the metric from the same configuration without it."""

    option: str
    setting: Setting
    metric: Metric
    change: float | None
    interval: tuple[float, float] | None
    pairs: int
    pending: int = 0

    @property
    def confirmed(self) -> bool:
        """Whether the whole interval is on the good side, after the last run of the round."""
        return not self.pending and _good(self.metric, self.interval)


class KeptMetric(Struct, frozen=True):
    """The test of a rule by the means ``value`` and ``baseline`` (that of the default), in ``unit``.

    The rule is shown if the value is within the limit by the ``margin``, which is None if fewer than two pairs of runs
    have values. ``pending`` runs of its round are still to be made: nothing is shown before the last one.
    """

    rule: KeepRule
    unit: str
    value: float | None = None
    baseline: float | None = None
    margin: float | None = None
    pending: int = 0

    @property
    def held(self) -> bool:
        """Whether the means keep the rule."""
        return self.value is not None and self.baseline is not None and self.rule.holds(self.value, self.baseline)

    @property
    def bound(self) -> float | None:
        """The value shifted by the margin towards the limit, in the unit."""
        if self.value is None or self.margin is None:
            return None
        return self.value - self.margin if self.rule.lower else self.value + self.margin

    @property
    def shown(self) -> bool:
        """Whether the bound is within the limit, after the last run of the round."""
        if self.pending or self.bound is None or self.baseline is None:
            return False
        return self.rule.holds(self.bound, self.baseline)

    def relative(self, value: float | None) -> float | None:
        """A value as a change, a fraction of the default's; None if that is not above zero."""
        if value is None or self.baseline is None or self.baseline <= 0.0:
            return None
        return value / self.baseline - 1.0


class FollowedUp(Struct, frozen=True):
    """A candidate that was run against the baseline: its settings, the change of the metric, and whether it stays."""

    set: tuple[tuple[str, Setting], ...]
    change: float | None
    pairs: int
    selected: bool


class LeaveReason(StrEnum):
    """Why a candidate is not recommended."""

    RULED_OUT = "ruled out"
    RULED_OUT_TOGETHER = "ruled out with the others"
    NOT_TRIED = "not tried"
    UNFINISHED = "follow-up unfinished"
    NOT_MEASURED = "not measured"
    NO_GAIN = "no gain"
    RULE_BROKEN = "rule broken"
    RULE_BROKEN_TOGETHER = "rule broken with the others"
    ANOTHER_SETTING = "another setting gains more"
    NO_GAIN_GIVEN_OTHERS = "no gain given the others"
    NOT_CONFIRMED = "not confirmed"


class LeftOut(Struct, frozen=True):
    """A candidate that is not recommended: what it ``set``, the ``reason``, and the change in its runs.

    ``change`` is that of the metric against the default, or given the other settings if that is the reason: a
    fraction with its 95 % ``interval``, over ``pairs`` pairs of runs; None without any. ``broken`` holds the rules of
    ``--keep`` that the means break.
    """

    set: tuple[tuple[str, Setting], ...]
    reason: LeaveReason
    change: float | None = None
    interval: tuple[float, float] | None = None
    pairs: int = 0
    broken: tuple[KeptMetric, ...] = ()


class Recommended(Struct, frozen=True):
    """A configuration, the settings that change the baseline into it, and its effect on each metric.

    ``metric`` is the name of the metric for which it is recommended; ``gains`` has an entry for each setting if there
    are several, ``kept`` one for each rule.
    """

    configuration: Configuration
    set: tuple[tuple[str, Setting], ...]
    metric: str
    changes: tuple[MetricChange, ...]
    gains: tuple[SettingGain, ...] = ()
    kept: tuple[KeptMetric, ...] = ()

    @property
    def leading(self) -> MetricChange:
        """The change of the metric for which it is recommended."""
        return next(change for change in self.changes if change.metric.name == self.metric)

    @property
    def confirmed(self) -> bool:
        """Whether it was shown to be better than the baseline, by each of its settings, and every rule to hold."""
        return (
            self.leading.confirmed
            and all(gain.confirmed for gain in self.gains)
            and all(rule.shown for rule in self.kept)
        )


class RecommendationConclusion(Struct, frozen=True):
    """The settings to change, and whether fresh runs confirmed them; complete or not.

    ``baseline`` is the default configuration if that is valid. ``looked_up`` is true if runs come from a table, perhaps
    the same ones that the screening had. ``planned``, ``done`` and ``failed`` count runs; ``pairs`` counts the pairs of
    the last confirmation. ``instead_of`` is its configuration of several settings if one of these is recommended alone;
    ``left_out`` are the candidates that are not recommended.
    """

    study: str
    screening: str
    subject: str
    metric: Metric
    baseline: Configuration
    recommended: tuple[Recommended, ...]
    looked_up: bool
    pairs: int
    planned: int
    done: int
    failed: int
    failures: tuple[str, ...]
    seconds: float
    warnings: tuple[str, ...]
    followed_up: tuple[FollowedUp, ...] = ()
    instead_of: tuple[Recommended, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def _good(metric: Metric, interval: tuple[float, float] | None) -> bool:
    if interval is None:
        return False
    low, high = interval
    return high < 0.0 if metric.better is Better.LOWER else low > 0.0
