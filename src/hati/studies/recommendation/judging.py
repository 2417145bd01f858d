"""Rounds of blocks in which each configuration runs once, and the judgement of configurations by their runs.

Configurations are compared with others in the same blocks; each candidate that is not recommended has a reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from hati.core import Better, Configuration, Evidence, FloatArray, Metric, Setting
from hati.design import levels
from hati.space import Space
from hati.stats import Index, block_cells, least_ratio, pure_error, t_margin, t_quantile
from hati.studies.recommendation.better_settings import to_set
from hati.studies.recommendation.conclusion import (
    KeepRule,
    KeptMetric,
    LeaveReason,
    LeftOut,
    MetricChange,
    RecommendationPlan,
    Recommended,
    SettingGain,
)
from hati.studies.screening.runs import measured

STAGE = "confirmation"
FOLLOW_UP = "follow-up"

Settings = tuple[tuple[str, Setting], ...]


class Round(Struct, frozen=True):
    """Blocks in which each configuration runs once; the baseline is first, the configuration to confirm second.

    ``settings`` are those to be confirmed, ``without`` the configurations with each of them left out (the baseline for
    a single one); a follow-up has neither. ``alpha`` is the error of all verdicts together. ``pending`` counts the runs
    that are still to be made: nothing is confirmed before the last. ``first`` counts the blocks of earlier follow-ups,
    whose stage is the same.
    """

    stage: str
    configurations: tuple[Configuration, ...]
    blocks: int
    settings: Settings = ()
    without: tuple[Configuration, ...] = ()
    alpha: float = 0.0
    pending: int = 0
    first: int = 0

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.configurations) * self.blocks

    @property
    def target(self) -> Configuration:
        """The configuration to confirm."""
        return self.configurations[1]

    @property
    def alone(self) -> tuple[Configuration, ...]:
        """The alternatives to recommend: of two settings, each one alone, which is run for the other's gain."""
        return self.without if len(self.settings) == 2 else ()

    @property
    def compared(self) -> tuple[tuple[tuple[str, Setting], Configuration], ...]:
        """The settings judged given the others, each with the configuration without it; none for a single setting."""
        return tuple(zip(self.settings, self.without, strict=True)) if len(self.settings) > 1 else ()

    @property
    def doubt(self) -> float:
        """The error of each verdict of a follow-up."""
        return self.alpha / (len(self.configurations) - 1)

    def verdicts(self, rules: int) -> int:
        """The number of verdicts that share the error if a recommended configuration has to keep ``rules`` rules."""
        return (1 + rules) * (1 + len(self.alone)) + len(self.compared)


class RoundStep(Struct, frozen=True):
    """A round, the settings to be confirmed ``before`` it, and those ``after`` it.

    ``after`` is None if nothing follows: before the last run, and if it confirms everything or no run could add to it.
    """

    round: Round
    before: Settings
    after: Settings | None


class Arm(Struct, frozen=True):
    """Settings that are tried together in the follow-up."""

    settings: Settings
    configuration: Configuration


CONFIDENCE = 0.95


class PairedChange(Struct, frozen=True):
    """The change from a baseline: a fraction; its interval is None without degrees of freedom.

    The fraction is of the baseline's mean: infinite if that is zero and the mean changed. ``value`` and ``baseline``
    are means over the pairs in the metric's unit, geometric if all values are positive. ``middle`` is the change on
    the scale of the differences, and ``deviation`` its standard error with ``df`` degrees of freedom, None without any.
    """

    value: float
    baseline: float
    change: float
    interval: tuple[float, float] | None
    pairs: int
    middle: float
    deviation: float | None
    df: int

    def shown(self, error: float) -> bool:
        """Whether noise alone would cause a change of this size and sign less often than the error.

        True if the noise is unknown.
        """
        return self.deviation is None or abs(self.middle) >= t_quantile(1.0 - error, self.df) * self.deviation


def paired_change(values: FloatArray, baselines: FloatArray, confidence: float = CONFIDENCE) -> PairedChange:
    """The mean change over pairs of runs, with the t interval of the pairs' differences.

    For positive values the differences are those of logarithms, as a ratio less one; otherwise the change is
    divided by the baselines' mean. The interval is that of the difference, divided likewise.

    Args:
        values: one per pair, shape (pairs,), at least one.
        baselines: the other run of each pair.
        confidence: of the interval.
    """
    scale = _Scale.of(np.concatenate((values, baselines)))
    differences = scale.decided(values) - scale.decided(baselines)
    df = len(differences) - 1
    return scale.change(values, baselines, float(differences.var(ddof=1)) if df else 0.0, df, confidence)


def pooled_changes(values: FloatArray, rows: Index, blocks: Index) -> dict[int, PairedChange]:
    """The mean change of each row from row 0 over the blocks in which both have a value, as in ``paired_change``.

    The variance of a run is the residual variance of rows plus blocks. Rows that share no block with row 0 are missing.
    Of several classifications, runs share a block if all their classes are the same.

    Args:
        values: one per run, shape (runs,).
        rows: the configuration of each run; each occurs once in a block.
        blocks: the block of each run, as in ``additive_blocks``.
    """
    scale, cells = _Scale.of(values), block_cells(blocks)
    variance, df = pure_error(scale.decided(values), rows, blocks)
    by_row = {int(row): {int(cells[at]): values[at] for at in np.flatnonzero(rows == row)} for row in np.unique(rows)}
    baselines, found = by_row.pop(0, {}), {}
    for row, own in by_row.items():
        if shared := sorted(own.keys() & baselines.keys()):
            one, other = (np.array([each[block] for block in shared]) for each in (own, baselines))
            found[row] = scale.change(one, other, 2.0 * variance, df, CONFIDENCE)
    return found


class _Scale(Struct, frozen=True):
    """The scale of differences: logarithms, or fractions of a mean ``size``."""

    size: float | None

    @classmethod
    def of(cls, values: FloatArray) -> _Scale:
        """Logarithms if all values are positive, else fractions of the mean size."""
        if not len(values) or np.min(values) > 0.0:
            return cls(None)
        return cls(float(np.mean(np.abs(values))) or 1.0)

    def decided(self, values: FloatArray) -> FloatArray:
        """Values on the scale."""
        return np.log(values) if self.size is None else values / self.size

    def change(
        self, values: FloatArray, baselines: FloatArray, variance: float, df: int, confidence: float
    ) -> PairedChange:
        """The change of pairs; ``variance``, with ``df`` degrees of freedom, is that of their differences."""
        one, other = (float(self.decided(each).mean()) for each in (values, baselines))
        middle, around, deviation = one - other, None, None
        if df:
            deviation = math.sqrt(variance / len(values))
            half = t_margin(confidence, df) * deviation
            low, high = (self._relative(middle + sign * half, other) for sign in (-1.0, 1.0))
            around = (max(low, least_ratio(values, baselines) - 1.0), high)
        return PairedChange(
            value=self._back(one),
            baseline=self._back(other),
            change=self._relative(middle, other),
            interval=around,
            pairs=len(values),
            middle=middle,
            deviation=deviation,
            df=df,
        )

    def _back(self, decided: float) -> float:
        return math.exp(decided) if self.size is None else decided * self.size

    def _relative(self, difference: float, baseline: float) -> float:
        if self.size is None:
            return _ratio_less_one(difference)
        if not difference:
            return 0.0
        return difference / abs(baseline) if baseline else math.copysign(math.inf, difference)


def _ratio_less_one(difference: float) -> float:
    """The ratio less one, of a difference of logarithms; infinite beyond a float (two pairs at high confidence)."""
    with np.errstate(over="ignore"):
        return float(np.expm1(difference))


_DOUBT = 0.1
"""A gain is convincing if noise would cause a gain of its size less often than that."""


class GainJudgement(Struct, frozen=True):
    """Gains of configurations by the runs of ``evidence``, and the tests that show them.

    ``metrics`` has the requested one first. ``relevant`` is the fraction below which a gain does not matter;
    ``keep`` are rules that have to be shown, too.
    """

    evidence: Evidence
    metrics: tuple[Metric, ...]
    wanted: RecommendationPlan
    space: Space
    relevant: float
    keep: tuple[KeepRule, ...]

    def recommended(self, each: Round) -> Recommended:
        """The configuration that a round confirms: its target, else the better of the confirmed settings alone.

        It is the target if nothing is confirmed. The better one is chosen by the follow-up's runs, too: this choice
        does not spend error.
        """
        whole = self.whole(each)
        if whole.confirmed:
            return whole
        alone = [self._offered(each, configuration, ()) for configuration in each.alone]
        confirmed = [one for one in alone if one.confirmed]
        stages = (FOLLOW_UP, each.stage)
        return max(confirmed, key=lambda one: self._mean_gain(one.configuration, stages), default=whole)

    def whole(self, each: Round) -> Recommended:
        """A round's judgement of its target: of all its settings together, and of each given the others."""
        error = each.alpha / each.verdicts(len(self.keep))
        gains = (self._setting_gain(pair, less, each, error) for pair, less in each.compared)
        return self._offered(each, each.target, tuple(gains))

    def gain_of(self, each: Round, place: int) -> tuple[float, bool]:
        """The gain of a round's setting given the others, and whether it is convincing."""
        found = self.compared(each.target, each.without[place], each.stage)
        if found is None:
            return -1.0, False
        return self._gain(found.change), self.convincing(found)

    def worst_for(self, rule: KeepRule, each: Round) -> str:
        """The option whose setting moves a metric most towards the limit."""
        metric, sign = self._metric(rule.metric), -1.0 if rule.lower else 1.0

        def harm(place: int) -> float:
            found = self._values(each.target, each.without[place], metric, each.stage)
            return sign * float(np.mean(found[0] - found[1])) if found is not None else 0.0

        return each.settings[max(range(len(each.settings)), key=harm)][0]

    def convincing(self, found: PairedChange, doubt: float = _DOUBT) -> bool:
        """Whether a gain is relevant and could hardly be noise."""
        return self._gain(found.change) > self.relevant and found.shown(doubt)

    def broken(self, configuration: Configuration, stage: str) -> tuple[KeptMetric, ...]:
        """The rules that the means break, and those without values."""
        found = (self._kept(rule, configuration, stage, 1.0 - CONFIDENCE) for rule in self.keep)
        return tuple(kept for kept in found if not kept.held)

    def holds_together(self, settings: Settings, arms: Sequence[Arm], stage: str) -> bool:
        """Whether settings are expected to keep the rules together, by the means of arms that were followed up.

        The expectation is from the arm with exactly these settings, else from the product of the changes of arms with
        some of them: single settings, and several for a setting that was not run alone. For metrics that are not
        positive it is from the sum.
        """
        wanted = set(settings)
        parts = sorted((arm for arm in arms if set(arm.settings) <= wanted), key=lambda arm: len(arm.settings))
        if parts and set(parts[-1].settings) == wanted:
            return not self.broken(parts[-1].configuration, stage)
        seen, alone = set[tuple[str, Setting]](), list[Configuration]()
        for arm in parts:
            if not seen.intersection(arm.settings):
                alone.append(arm.configuration)
                seen.update(arm.settings)
        return all(self._expected_to_keep(rule, alone, stage) for rule in self.keep)

    def _expected_to_keep(self, rule: KeepRule, alone: Sequence[Configuration], stage: str) -> bool:
        found = [self._kept(rule, configuration, stage, 1.0 - CONFIDENCE) for configuration in alone]
        known = [(kept.value, kept.baseline) for kept in found if kept.value is not None and kept.baseline is not None]
        if not known:
            return True
        baseline = float(np.mean([baseline for _, baseline in known]))
        if min(min(pair) for pair in known) > 0.0:
            return rule.holds(baseline * float(np.prod([value / own for value, own in known])), baseline)
        return rule.holds(baseline + sum(value - own for value, own in known), baseline)

    def followed_up(self, each: Round) -> dict[Configuration, PairedChange]:
        """The change of each configuration of a follow-up from the baseline, by this round's runs alone.

        What a round decided thus does not change with later rounds.
        """
        blocks = range(each.first, each.first + each.blocks)
        runs = (run for run in self.evidence.stage(FOLLOW_UP).runs if run.task.repetition in blocks)
        rows = {configuration: row for row, configuration in enumerate(each.configurations)}
        found = measured(Evidence(tuple(runs)), self.metrics[0], rows)
        changes = pooled_changes(found.values, found.rows, found.blocks)
        return {each.configurations[row]: change for row, change in changes.items()}

    def compared(
        self, one: Configuration, other: Configuration, stage: str, confidence: float = CONFIDENCE
    ) -> PairedChange | None:
        """The change of the metric in the blocks of a round in which both have a value; None without any."""
        return self._change_of(one, other, self.metrics[0], stage, confidence)

    def against_baseline(self, configuration: Configuration, stage: str) -> PairedChange | None:
        """The change of the metric from the baseline; None without a shared block."""
        return self.compared(configuration, self.wanted.baseline, stage)

    @property
    def sign(self) -> float:
        """-1 if lower is better, else 1."""
        return -1.0 if self.metrics[0].better is Better.LOWER else 1.0

    def settings(self, configuration: Configuration) -> Settings:
        """The settings that change the baseline into it."""
        rows = levels([configuration, self.wanted.baseline], self.space)
        return tuple((name, configuration[name]) for name in to_set(rows[0], rows[1:], self.space))

    def _offered(self, each: Round, target: Configuration, gains: tuple[SettingGain, ...]) -> Recommended:
        error = each.alpha / each.verdicts(len(self.keep))
        return Recommended(
            configuration=target,
            set=self.settings(target),
            metric=self.metrics[0].name,
            changes=tuple(self._change(target, metric, each, 1.0 - error) for metric in self.metrics),
            gains=gains,
            kept=tuple(self._kept(rule, target, each.stage, error, each.pending) for rule in self.keep),
        )

    def _change(self, target: Configuration, metric: Metric, each: Round, confidence: float) -> MetricChange:
        found = self._change_of(target, self.wanted.baseline, metric, each.stage, confidence)
        predicted = next((one for one in self.wanted.recommended if one.configuration == target), None)
        return MetricChange(
            metric=metric,
            predicted=predicted.values.get(metric.name) if predicted else None,
            predicted_change=predicted.changes.get(metric.name) if predicted else None,
            measured=None if found is None else found.value,
            baseline=None if found is None else found.baseline,
            change=None if found is None else found.change,
            interval=None if found is None else found.interval,
            pairs=0 if found is None else found.pairs,
            pending=each.pending,
        )

    def _setting_gain(self, pair: tuple[str, Setting], less: Configuration, each: Round, error: float) -> SettingGain:
        found = self.compared(each.target, less, each.stage, 1.0 - error)
        if found is None:
            return SettingGain(*pair, self.metrics[0], None, None, 0, each.pending)
        return SettingGain(*pair, self.metrics[0], found.change, found.interval, found.pairs, each.pending)

    def _kept(self, rule: KeepRule, target: Configuration, stage: str, error: float, pending: int = 0) -> KeptMetric:
        metric = self._metric(rule.metric)
        found = self._values(target, self.wanted.baseline, metric, stage)
        if found is None:
            return KeptMetric(rule, metric.unit, pending=pending)
        value, baseline = (float(each.mean()) for each in found)
        return KeptMetric(rule, metric.unit, value, baseline, rule.margin(*found, error), pending)

    def _mean_gain(self, configuration: Configuration, stages: Sequence[str]) -> float:
        """The mean gain over all blocks of some stages, on the scale of the differences."""
        found = [each for stage in stages if (each := self.against_baseline(configuration, stage)) is not None]
        weights = [each.pairs for each in found]
        return self.sign * float(np.average([each.middle for each in found], weights=weights))

    def _change_of(
        self, one: Configuration, other: Configuration, metric: Metric, stage: str, confidence: float
    ) -> PairedChange | None:
        found = self._values(one, other, metric, stage)
        return None if found is None else paired_change(*found, confidence)

    def _values(
        self, one: Configuration, other: Configuration, metric: Metric, stage: str
    ) -> tuple[FloatArray, FloatArray] | None:
        """The values of both in the blocks (repetitions on a machine) that have both; None without any."""
        found = measured(self.evidence.stage(stage), metric, {one: 0, other: 1})
        cells = block_cells(found.blocks)
        values, others = (
            dict(zip(cells[found.rows == row].tolist(), found.values[found.rows == row], strict=True)) for row in (0, 1)
        )
        blocks = sorted(values.keys() & others.keys())
        if not blocks:
            return None
        return np.array([values[block] for block in blocks]), np.array([others[block] for block in blocks])

    def _gain(self, change: float) -> float:
        """A change of the metric as a gain: the saving, or the increase, as a fraction of the worse value."""
        if self.metrics[0].better is Better.LOWER:
            return -change if change >= 0.0 else -change / max(1.0 + change, 1e-9)
        return change

    def _metric(self, name: str) -> Metric:
        return next(metric for metric in self.metrics if metric.name == name)


def without_runs(settings: Sequence[tuple[str, Setting]], reason: LeaveReason) -> Iterator[LeftOut]:
    """Each of the settings, left out for a reason without runs."""
    return (LeftOut((pair,), reason) for pair in settings)


def listed(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    """The arms of single settings, and those of several settings of which none is tried alone."""
    alone = {arm.settings[0] for arm in arms if len(arm.settings) == 1}
    return tuple(arm for arm in arms if len(arm.settings) == 1 or not alone & set(arm.settings))


def after_follow_up(judged: GainJudgement, arms: Sequence[Arm], each: Round, selected: Settings) -> Iterator[LeftOut]:
    """The arms of a complete follow-up that are not to be confirmed."""
    changes, options = judged.followed_up(each), {name for name, _ in selected}
    for arm in arms:
        if not set(arm.settings) <= set(selected):
            found = changes.get(arm.configuration)
            broken = judged.broken(arm.configuration, FOLLOW_UP)
            if found is None:
                reason = LeaveReason.NOT_MEASURED
            elif not judged.convincing(found, each.doubt):
                reason = LeaveReason.NO_GAIN
            elif broken:
                reason = LeaveReason.RULE_BROKEN
            elif judged.keep and not options.intersection(name for name, _ in arm.settings):
                reason = LeaveReason.RULE_BROKEN_TOGETHER
            else:
                reason = LeaveReason.ANOTHER_SETTING
            yield _measured(arm.settings, reason, found, broken if reason is LeaveReason.RULE_BROKEN else ())


def unfinished(judged: GainJudgement, arms: Sequence[Arm], each: Round) -> Iterator[LeftOut]:
    """All arms of an incomplete follow-up: the budget ended, or all runs failed."""
    failed = judged.evidence.failed and not judged.evidence.done
    reason = LeaveReason.NOT_MEASURED if failed else LeaveReason.UNFINISHED
    changes = judged.followed_up(each)
    for arm in arms:
        yield _measured(arm.settings, reason, changes.get(arm.configuration))


def after_round(judged: GainJudgement, each: Round, kept: Settings) -> Iterator[LeftOut]:
    """The settings of a round of confirmation that are dropped after it; ``kept`` are the others."""
    for place, pair in enumerate(each.settings):
        if pair not in kept:
            found = judged.compared(each.target, each.without[place], each.stage)
            broken = judged.broken(each.target, each.stage) if found and judged.convincing(found) else ()
            no_gain = LeaveReason.NO_GAIN_GIVEN_OTHERS if each.compared else LeaveReason.NO_GAIN
            rule = LeaveReason.RULE_BROKEN_TOGETHER if each.compared else LeaveReason.RULE_BROKEN
            reason = rule if broken else no_gain
            yield _measured((pair,), reason, found, broken)


def _measured(
    settings: Settings, reason: LeaveReason, found: PairedChange | None, broken: tuple[KeptMetric, ...] = ()
) -> LeftOut:
    if found is None:
        return LeftOut(settings, reason, broken=broken)
    return LeftOut(settings, reason, found.change, found.interval, found.pairs, broken)
