"""What runs say of configurations against others in the same blocks, and why candidates are not recommended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from hati.core import Better, Configuration, Evidence, FloatArray, Metric, Setting
from hati.design import levels
from hati.space import Space
from hati.studies.recommendation.conclusion import (
    KeepRule,
    KeptMetric,
    LeaveReason,
    LeftOut,
    MetricChange,
    Recommended,
    SettingGain,
)
from hati.studies.recommendation.planned import RecommendationPlan
from hati.studies.recommendation.prediction import to_set
from hati.studies.recommendation.rounds import (
    CONFIDENCE,
    FOLLOW_UP,
    Arm,
    PairedChange,
    Round,
    Settings,
    paired_change,
    pooled_changes,
)
from hati.studies.screening.runs import measured

_DOUBT = 0.1
"""A gain is convincing where noise would make so large a one less often than that."""


class GainJudgement(Struct, frozen=True):
    """Gains of configurations by the runs of ``evidence``, and those that are shown.

    ``metrics`` has the requested one first. ``relevant`` is the fraction below which a gain does not matter;
    ``keep`` are rules that have to be shown too.
    """

    evidence: Evidence
    metrics: tuple[Metric, ...]
    wanted: RecommendationPlan
    space: Space
    relevant: float
    keep: tuple[KeepRule, ...]

    def recommended(self, each: Round) -> Recommended:
        """What a round confirms: its target, else the better one of the settings alone that are confirmed.

        The target where nothing is. Which one is better is seen in the follow-up, too: that takes no error.
        """
        whole = self.whole(each)
        if whole.confirmed:
            return whole
        alone = [self._offered(each, configuration, ()) for configuration in each.alone]
        confirmed = [one for one in alone if one.confirmed]
        stages = (FOLLOW_UP, each.stage)
        return max(confirmed, key=lambda one: self._mean_gain(one.configuration, stages), default=whole)

    def whole(self, each: Round) -> Recommended:
        """What a round says of its target: of all its settings together, and of each given the others."""
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

        By the arm that has exactly these, else by the product of the changes of arms with some of them: of single
        settings, and of several for a setting that was not run alone. Of metrics that are not positive by the sum.
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
        """The change from the baseline of each configuration of a follow-up that has one, by this round's runs alone.

        So what a round decided stays as it is once there are others.
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
        """The same against the baseline."""
        return self.compared(configuration, self.wanted.baseline, stage)

    @property
    def sign(self) -> float:
        """-1 where lower is better."""
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
        """Over all blocks of some stages, on the scale of the differences."""
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
        """Those of the blocks, repetitions on a machine, in which both have one; None without any."""
        found = measured(self.evidence.stage(stage), metric, {one: 0, other: 1})
        values, others = (
            dict(zip(found.blocks[found.rows == row].tolist(), found.values[found.rows == row], strict=True))
            for row in (0, 1)
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
    """Each of some settings, left out for a reason that no run shows."""
    return (LeftOut((pair,), reason) for pair in settings)


def listed(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    """Those of single settings, and those of several none of which is tried alone."""
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
    """All arms of a follow-up that is not complete: the budget has ended, or all runs failed."""
    failed = judged.evidence.failed and not judged.evidence.done
    reason = LeaveReason.NOT_MEASURED if failed else LeaveReason.UNFINISHED
    changes = judged.followed_up(each)
    for arm in arms:
        yield _measured(arm.settings, reason, changes.get(arm.configuration))


def after_round(judged: GainJudgement, each: Round, kept: Settings) -> Iterator[LeftOut]:
    """The settings of a round of confirmation that are dropped after it, ``kept`` being the others."""
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
