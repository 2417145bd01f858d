"""What to set: candidates followed up against the default, then each setting confirmed by fresh, interleaved runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hati.core import (
    Benchmark,
    Better,
    Configuration,
    Evidence,
    FloatArray,
    Metric,
    Plan,
    Run,
    Setting,
    StudyId,
    Task,
    conversion,
    generator,
)
from hati.design import levels
from hati.space import Space
from hati.stats import t_quantile
from hati.studies.failures import failure_reasons, hopeful
from hati.studies.recommendation.candidates import reached
from hati.studies.recommendation.comparison import CONFIDENCE, PairedChange, paired_change
from hati.studies.recommendation.conclusion import (
    FollowedUp,
    KeptMetric,
    MetricChange,
    RecommendationConclusion,
    Recommended,
    SettingGain,
)
from hati.studies.recommendation.keeping import KeepRule
from hati.studies.recommendation.planned import FEWEST_PAIRS, RecommendationPlan
from hati.studies.recommendation.search import to_set

STAGE = "confirmation"
FOLLOW_UP = "follow-up"
MOST_ROUNDS = 4
"""Rounds of confirmation: in each after the first one setting less."""

_FOLLOW_UP_PART = 0.4
_ROUND_PART = 0.4
_MOST_OF_LEFT = 0.6
"""Of the runs that are left a round after which settings may be dropped takes the one part, at most the other."""
_FOLLOW_UP_BLOCKS = (4, 10)
_CLEARLY = 0.98
_SHORTFALL = 0.5
_NO_ERROR_LEFT = 1e-9
_SHORT = 12
_SELECTED = 0.9
"""A candidate is selected by its gain in the follow-up at this one-sided confidence; the selected are confirmed."""

Settings = tuple[tuple[str, Setting], ...]


@dataclass(frozen=True)
class Round:
    """Blocks in which each configuration runs once; the baseline is the first, what is confirmed the second.

    ``settings`` are those that are confirmed, ``without`` the configurations with each of them left out (the baseline
    for a single one); in a follow-up both are those of the candidates. ``alpha`` is the error of all verdicts together.
    """

    stage: str
    configurations: tuple[Configuration, ...]
    blocks: int
    settings: Settings = ()
    without: tuple[Configuration, ...] = ()
    alpha: float = 0.0

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.configurations) * self.blocks


@dataclass(frozen=True)
class Arm:
    """Settings that are tried together in the follow-up."""

    settings: Settings
    configuration: Configuration


@dataclass(frozen=True)
class Recommendation:
    """Follows up candidates, then confirms a configuration by each of its settings, in randomised blocks.

    First single settings that may be better than the baseline's, and the predicted best configuration, run against the
    baseline. The settings that are better there are confirmed by fresh runs: the configuration against the baseline,
    and against itself without each setting. A setting without a confirmed gain is left out, and what is left is
    confirmed by fresh runs again. The rounds share the error: each after which settings may be dropped spends half of
    what is left.

    ``metrics`` has the one that was asked for first. ``looked_up`` says that runs come from a table that has them once.
    ``relevant`` is the fraction below which a gain does not matter; ``keep`` are rules that have to be shown too.
    ``screened_revision`` is that of the screening.
    """

    id: StudyId
    screening: str
    subject: str
    benchmark: Benchmark
    metrics: tuple[Metric, ...]
    revision: str
    space: Space
    wanted: RecommendationPlan
    looked_up: bool
    relevant: float = 0.0
    keep: tuple[KeepRule, ...] = ()
    screened_revision: str = ""

    def plan(self, evidence: Evidence) -> Plan:
        """The tasks left of the first round that is not complete; no more than five before a run has worked."""
        for each in self.rounds(evidence):
            left = Plan(tuple(task for task in self.tasks(each) if task.id not in evidence.known))
            if left:
                return hopeful(left, evidence)
        return Plan(())

    def tasks(self, each: Round) -> tuple[Task, ...]:
        """All runs of a round in order: in each block every configuration once, in an order drawn for it."""
        rng = generator(self.id.seed, each.stage)
        return tuple(
            self._task(each.stage, each.configurations[int(i)], block)
            for block in range(each.blocks)
            for i in rng.permutation(len(each.configurations))
        )

    def rounds(self, evidence: Evidence) -> Iterator[Round]:
        """The rounds as far as they are decided, the last one perhaps not complete."""
        left, alpha = self.wanted.runs, 1.0 - CONFIDENCE
        settings: Settings = self._arms[0].settings if self._arms else ()
        first = self._follow_up()
        if first is not None:
            yield first
            if not self._complete(first, evidence):
                return
            left -= first.runs
            settings = self._selected(first, evidence)
        for number in range(1, MOST_ROUNDS + 1):
            each = self._confirmation(number, settings, left, alpha)
            if each is None or alpha <= _NO_ERROR_LEFT:
                return
            yield each
            if not self._complete(each, evidence):
                return
            left, alpha = left - each.runs, alpha - each.alpha
            settings = self._reduced(each, evidence)

    def conclude(self, evidence: Evidence) -> RecommendationConclusion:
        """What was confirmed, complete or not.

        Raises:
            InputError: where a run's unit cannot be converted to the metric's.
        """
        rounds = list(self.rounds(evidence))
        confirming = [each for each in rounds if each.stage != FOLLOW_UP]
        begun = [each for each in confirming if any(run.task.stage == each.stage for run in evidence.runs)]
        last = (begun or confirming)[-1:]
        recommended = tuple(self._recommended(each, evidence) for each in last)
        return RecommendationConclusion(
            study=self.id.key,
            screening=self.screening,
            subject=self.subject,
            metric=self.metrics[0],
            baseline=self.wanted.baseline,
            recommended=recommended,
            looked_up=self.looked_up,
            pairs=last[0].blocks if last else 0,
            planned=sum(each.runs for each in rounds),
            done=len(evidence.done),
            failed=len(evidence.failed),
            failures=failure_reasons(evidence.failed, self.metrics[0]),
            seconds=evidence.seconds,
            warnings=self._warnings(last),
            followed_up=self._followed_up(rounds, evidence),
        )

    @cached_property
    def _arms(self) -> tuple[Arm, ...]:
        """The predicted configuration where it has several settings, then the candidates."""
        tried = tuple(Arm(((one.option, one.setting),), one.configuration) for one in self.wanted.candidates)
        best = [Arm(self._set(one.configuration), one.configuration) for one in self.wanted.recommended]
        known = {arm.configuration for arm in tried}
        return (*(arm for arm in best if arm.configuration not in known), *tried)

    def _follow_up(self) -> Round | None:
        """The first of the arms that the budget allows; None where that is but one."""
        fewest, most = (1, 1) if self.wanted.pairs == 1 else _FOLLOW_UP_BLOCKS
        runs = _FOLLOW_UP_PART * self.wanted.runs
        arms = self._arms[: max(0, int(runs / fewest) - 1)]
        if len(arms) < 2:
            return None
        blocks = max(1, min(most, self.wanted.pairs, int(runs / (len(arms) + 1))))
        configurations = dict.fromkeys((self.wanted.baseline, *(arm.configuration for arm in arms)))
        return Round(FOLLOW_UP, tuple(configurations), blocks)

    def _selected(self, each: Round, evidence: Evidence) -> Settings:
        """The settings to confirm: each that is better alone.

        Those of the prediction, too, where it is better by half than what is expected of its settings alone.
        """
        gains: dict[Settings, float] = {}
        for arm in self._tried(each):
            found = self._compared(arm.configuration, self.wanted.baseline, self.metrics[0], each.stage, evidence)
            convincing = found is not None and self._convincing(found)
            if found is not None and convincing and self._may_keep(arm.configuration, each.stage, evidence):
                gains[arm.settings] = self._sign * found.middle
        alone: dict[str, tuple[float, Setting]] = {}
        for settings, gain in gains.items():
            (name, setting), *others = settings
            if not others and gain > alone.get(name, (0.0, setting))[0]:
                alone[name] = gain, setting
        chosen = {name: setting for name, (_, setting) in alone.items()}
        for together in (settings for settings in gains if len(settings) > 1):
            expected = sum(alone[name][0] for name, setting in together if chosen.get(name) == setting)
            if gains[together] > (1.0 + _SHORTFALL) * expected:
                chosen |= dict(together)
        return tuple(sorted(chosen.items(), key=lambda pair: (-alone.get(pair[0], (0.0, None))[0], pair[0])))

    def _convincing(self, found: PairedChange) -> bool:
        """Whether a gain is relevant and could hardly be noise."""
        if self._gain(found.change) <= self.relevant:
            return False
        if not found.deviation:
            return True
        return abs(found.middle) >= t_quantile(_SELECTED, found.pairs - 1) * found.deviation

    def _may_keep(self, configuration: Configuration, stage: str, evidence: Evidence) -> bool:
        """Whether no rule is broken by the mean."""
        for rule in self.keep:
            found = self._values(configuration, self.wanted.baseline, self._metric(rule.metric), stage, evidence)
            if found is None or not rule.holds(*(float(each.mean()) for each in found)):
                return False
        return True

    def _confirmation(self, number: int, settings: Settings, left: int, alpha: float) -> Round | None:
        """A round for the first of the settings that the runs left allow; None where there is nothing to confirm.

        It takes a part of the runs and of the error, and all of both where no setting may be dropped after it.
        """
        stage = STAGE if number == 1 else f"{STAGE}-{number}"
        for count in range(len(settings), 0, -1):
            target = self._with(settings[:count])
            if target is None:
                continue
            own = tuple(pair for pair in settings[:count] if target.get(pair[0]) == pair[1])
            without = ((pair, self._with(tuple(other for other in own if other != pair))) for pair in own)
            needed = [(pair, less) for pair, less in without if less is not None and less != target]
            if not needed or target == self.wanted.baseline:
                continue
            reduced = tuple(less for _, less in needed)
            configurations = tuple(dict.fromkeys((self.wanted.baseline, target, *reduced)))
            confirmed, fewest = tuple(pair for pair, _ in needed), min(FEWEST_PAIRS, self.wanted.pairs)
            blocks = min(self.wanted.pairs, max(fewest, int(_ROUND_PART * left) // len(configurations)))
            affordable = blocks * len(configurations) <= _MOST_OF_LEFT * left
            if affordable and len(needed) > 1 and number < MOST_ROUNDS:
                return Round(stage, configurations, blocks, confirmed, reduced, alpha / 2.0)
            blocks = min(self.wanted.pairs, left // len(configurations))
            if blocks >= fewest or (count == 1 and blocks > 0):
                return Round(stage, configurations, blocks, confirmed, reduced, alpha)
        return None

    def _reduced(self, each: Round, evidence: Evidence) -> Settings:
        """The settings of the next round; none where everything is confirmed or nothing would be left.

        Settings whose gain could as well be noise go, but not all of those that do the same thing and so have no gain
        given each other. Else the setting that does most harm to a rule that the means break goes; else all stay, and
        more runs decide.
        """
        found = self._recommended(each, evidence)
        if len(each.settings) < 2 or found.confirmed:
            return ()
        gains = {name: self._gain_of(each, place, evidence) for place, (name, _) in enumerate(each.settings)}
        doubted = {name for name, (_, convincing) in gains.items() if not convincing}
        broken = [kept.rule for kept in found.kept if not kept.held]
        if doubted:
            doubted -= self._missed_without(doubted, each, evidence)
        elif broken:
            doubted = {self._worst_for(broken[0], each, evidence)}
        else:
            return () if self.wanted.pairs == 1 else each.settings
        return tuple(pair for pair in each.settings if pair[0] not in doubted)

    def _missed_without(self, doubted: set[str], each: Round, evidence: Evidence) -> set[str]:
        """The doubted option that was clearly best alone, if the gain of all settings falls short without it."""
        alone: dict[str, float] = {}
        left: dict[str, float] = {}
        for one in self.wanted.candidates:
            found = self._compared(
                one.configuration, self.wanted.baseline, self.metrics[0], FOLLOW_UP, evidence, _CLEARLY
            )
            if found is not None and (one.option, one.setting) in each.settings:
                alone[one.option] = self._sign * found.middle
                if one.option in doubted and (found.interval is None or _excludes_zero(found.interval)):
                    left[one.option] = alone[one.option]
        whole = self._compared(each.configurations[1], self.wanted.baseline, self.metrics[0], each.stage, evidence)
        if not left or whole is None:
            return set()
        best = max(left, key=lambda name: left[name])
        short = self._sign * whole.middle - sum(gain for name, gain in alone.items() if name not in doubted)
        return {best} if short > _SHORTFALL * left[best] else set()

    def _gain_of(self, each: Round, place: int, evidence: Evidence) -> tuple[float, bool]:
        """The gain of a setting given the others, and whether it is convincing."""
        found = self._compared(each.configurations[1], each.without[place], self.metrics[0], each.stage, evidence)
        if found is None:
            return -1.0, False
        return self._gain(found.change), self._convincing(found)

    def _worst_for(self, rule: KeepRule, each: Round, evidence: Evidence) -> str:
        """The option whose setting moves a metric most towards the limit."""
        metric, sign = self._metric(rule.metric), -1.0 if rule.lower else 1.0
        target = each.configurations[1]

        def harm(place: int) -> float:
            found = self._values(target, each.without[place], metric, each.stage, evidence)
            return sign * float(np.mean(found[0] - found[1])) if found is not None else 0.0

        return each.settings[max(range(len(each.settings)), key=harm)][0]

    def _recommended(self, each: Round, evidence: Evidence) -> Recommended:
        target, several = each.configurations[1], len(each.settings) > 1
        verdicts = 1 + len(self.keep) + (len(each.settings) if several else 0)
        error = each.alpha / verdicts
        gains = zip(each.settings, each.without, strict=True) if several else ()
        return Recommended(
            configuration=target,
            set=self._set(target),
            metric=self.metrics[0].name,
            changes=tuple(self._change(target, metric, each.stage, evidence, 1.0 - error) for metric in self.metrics),
            gains=tuple(self._setting_gain(pair, target, less, each.stage, evidence, error) for pair, less in gains),
            kept=tuple(self._kept(rule, target, each.stage, evidence, error) for rule in self.keep),
        )

    def _change(
        self, target: Configuration, metric: Metric, stage: str, evidence: Evidence, confidence: float
    ) -> MetricChange:
        found = self._compared(target, self.wanted.baseline, metric, stage, evidence, confidence)
        told = next((one for one in self.wanted.recommended if one.configuration == target), None)
        return MetricChange(
            metric=metric,
            predicted=told.values.get(metric.name) if told else None,
            predicted_change=told.changes.get(metric.name) if told else None,
            measured=None if found is None else found.value,
            baseline=None if found is None else found.baseline,
            change=None if found is None else found.change,
            interval=None if found is None else found.interval,
            pairs=0 if found is None else found.pairs,
        )

    def _setting_gain(
        self,
        pair: tuple[str, Setting],
        target: Configuration,
        less: Configuration,
        stage: str,
        evidence: Evidence,
        error: float,
    ) -> SettingGain:
        found = self._compared(target, less, self.metrics[0], stage, evidence, 1.0 - error)
        if found is None:
            return SettingGain(*pair, self.metrics[0], None, None, 0)
        return SettingGain(*pair, self.metrics[0], found.change, found.interval, found.pairs)

    def _kept(self, rule: KeepRule, target: Configuration, stage: str, evidence: Evidence, error: float) -> KeptMetric:
        metric = self._metric(rule.metric)
        found = self._values(target, self.wanted.baseline, metric, stage, evidence)
        if found is None:
            return KeptMetric(rule, metric.unit)
        value, baseline = (float(each.mean()) for each in found)
        return KeptMetric(rule, metric.unit, value, baseline, rule.margin(*found, error))

    def _followed_up(self, rounds: list[Round], evidence: Evidence) -> tuple[FollowedUp, ...]:
        if not rounds or rounds[0].stage != FOLLOW_UP:
            return ()
        first = rounds[0]
        taken = set(self._selected(first, evidence)) if self._complete(first, evidence) else set()
        told = []
        for arm in self._tried(first):
            found = self._compared(arm.configuration, self.wanted.baseline, self.metrics[0], FOLLOW_UP, evidence)
            change, pairs = (None, 0) if found is None else (found.change, found.pairs)
            told.append(FollowedUp(arm.settings, change, pairs, set(arm.settings) <= taken))
        return tuple(told)

    def _tried(self, each: Round) -> list[Arm]:
        return [arm for arm in self._arms if arm.configuration in each.configurations]

    def _compared(
        self,
        one: Configuration,
        other: Configuration,
        metric: Metric,
        stage: str,
        evidence: Evidence,
        confidence: float = CONFIDENCE,
    ) -> PairedChange | None:
        """The change in the blocks in which both have a value; None without any."""
        found = self._values(one, other, metric, stage, evidence)
        return None if found is None else paired_change(*found, confidence)

    def _values(
        self, one: Configuration, other: Configuration, metric: Metric, stage: str, evidence: Evidence
    ) -> tuple[FloatArray, FloatArray] | None:
        """Those of the blocks in which both have one; None without any."""
        runs = evidence.stage(stage).runs
        values, others = (_by_block(runs, each, metric) for each in (one, other))
        blocks = sorted(values.keys() & others.keys())
        return (_listed(values, blocks), _listed(others, blocks)) if blocks else None

    def _gain(self, change: float) -> float:
        """A change of the metric as a gain: what is saved, or what is more, as a fraction of the worse value."""
        if self.metrics[0].better is Better.LOWER:
            return -change if change >= 0.0 else -change / max(1.0 + change, 1e-9)
        return change

    @property
    def _sign(self) -> float:
        return -1.0 if self.metrics[0].better is Better.LOWER else 1.0

    def _metric(self, name: str) -> Metric:
        return next(metric for metric in self.metrics if metric.name == name)

    def _set(self, configuration: Configuration) -> Settings:
        rows = levels([configuration, self.wanted.baseline], self.space)
        return tuple((name, configuration[name]) for name in to_set(rows[0], rows[1:], self.space))

    def _with(self, settings: Settings) -> Configuration | None:
        return reached(self.space, self.wanted.baseline, dict(settings)) if settings else self.wanted.baseline

    def _complete(self, each: Round, evidence: Evidence) -> bool:
        return all(task.id in evidence.known for task in self.tasks(each))

    def _warnings(self, last: list[Round]) -> tuple[str, ...]:
        told = []
        if self.screened_revision not in {"", self.revision}:
            told.append(
                f"the screening is of another revision ({self.screened_revision[:_SHORT]}), and its effects may have "
                f"changed since; what is compared with the default was measured at this one ({self.revision[:_SHORT]})"
            )
        if self.wanted.baseline != self.space.default:
            told.append(
                "the default configuration cannot be run: the comparison is with the one that differs least from it"
            )
        if self.looked_up and last:
            told.append("runs were looked up in a table, not made afresh: the screening may have had the same ones")
        elif last and last[0].blocks < FEWEST_PAIRS:
            told.append(f"the budget had room for {last[0].blocks} pairs of runs: give more for a narrower interval")
        return tuple(told)

    def _task(self, stage: str, configuration: Configuration, repetition: int) -> Task:
        return Task(
            study=self.id.key,
            stage=stage,
            benchmark=self.benchmark.name,
            configuration=configuration,
            revision=self.revision,
            workload=self.benchmark.workload,
            repetition=repetition,
        )


def _by_block(runs: tuple[Run, ...], configuration: Configuration, metric: Metric) -> dict[int, float]:
    found = ((run, run.of(metric.name)) for run in runs if run.task.configuration == configuration)
    return {
        run.task.repetition: observations.mean * conversion(observations.unit, metric.unit)
        for run, observations in found
        if observations is not None
    }


def _listed(values: dict[int, float], blocks: list[int]) -> FloatArray:
    return np.array([values[block] for block in blocks])


def _excludes_zero(interval: tuple[float, float]) -> bool:
    return interval[0] > 0.0 or interval[1] < 0.0
