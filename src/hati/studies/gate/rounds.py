"""The rounds of a regression check: cells, the differences of each round, and the tests of groups of cells.

Bets on signs test all rounds. Campaigns of earlier versions have two stages of t-tests: the first tests which groups
look changed, the second whether fresh runs confirm it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from hati.core import (
    Assignment,
    Benchmark,
    Better,
    Configuration,
    Evidence,
    FloatArray,
    InputError,
    Metric,
    Run,
    Stopping,
    Task,
    conversion,
    replace,
)
from hati.harness import RULES, SignBets, StoppingRule
from hati.stats import POWER, holm, holm_factors
from hati.studies.comparison import (
    MEAN,
    ChangeVerdict,
    ChoiceBasis,
    Question,
    Statistic,
    StatisticChoice,
    StatisticChoices,
)
from hati.studies.gate.conclusion import WarmUpCut
from hati.studies.paired.judging import AnyJudged, PairValues, among, judge, slight
from hati.studies.schedule import given_up


class Cell(Struct, frozen=True, dict=True):
    """A benchmark at a configuration: ``stratum`` holds the important options' settings, ``weight`` its share.

    Raises:
        InputError: for a weight that is not above zero.
    """

    benchmark: Benchmark
    configuration: Configuration
    stratum: Assignment = field(default_factory=Assignment)
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not self.weight > 0.0:
            raise InputError(f"a configuration stands for a share above 0, not {self.weight:g}")

    @cached_property
    def key(self) -> tuple[str, str]:
        """The names that its tasks have in common."""
        return self.benchmark.name, self.configuration.key

    def has(self, task: Task) -> bool:
        """Whether it is a task of this cell."""
        return self.key == _cell_key(task)


class Group(Struct, frozen=True):
    """The subject of a test: a metric over some of the cells, given by position.

    ``stratum`` is None if the group has all cells of a benchmark.
    """

    benchmark: Benchmark
    metric: Metric
    stratum: Assignment | None
    cells: tuple[int, ...]

    def weights(self, cells: Sequence[Cell]) -> FloatArray:
        """The shares of its cells, shape (cells,), summing up to one."""
        raw = np.array([cells[position].weight for position in self.cells])
        return np.asarray(raw / raw.sum(), dtype=np.float64)


def groups(cells: Sequence[Cell]) -> tuple[Group, ...]:
    """The groups: every benchmark and metric as a whole, and each stratum if there are several."""
    return tuple(_groups(cells))


def _groups(cells: Sequence[Cell]) -> Iterator[Group]:
    for benchmark in {cell.benchmark.name: cell.benchmark for cell in cells}.values():
        own = [position for position, cell in enumerate(cells) if cell.benchmark.name == benchmark.name]
        strata = dict.fromkeys(cells[position].stratum for position in own)
        for metric in benchmark.metrics:
            yield Group(benchmark, metric, None, tuple(own))
            if len(strata) > 1:
                for stratum in strata:
                    yield Group(benchmark, metric, stratum, tuple(p for p in own if cells[p].stratum == stratum))


class Stage(StrEnum):
    """The purpose of a round; each stage counts its rounds from 0. Bets on signs explore only."""

    EXPLORING = "explore"
    CONFIRMING = "confirm"

    def side(self, side: int) -> str:
        """The stage name of a task of the reference, 0, or of the revision, 1."""
        return f"{self.value} {('before', 'after')[side]}"


class RunPair(NamedTuple):
    """Both runs of a cell in a round; None for one that is missing or failed."""

    before: Run | None
    after: Run | None


Pairs = dict[tuple[int, int], RunPair]
"""By round and position of the cell."""


def pairs_of(evidence: Evidence, cells: Sequence[Cell], stage: Stage) -> Pairs:
    """The pairs of a stage that have a run on any side.

    A pair is a block: one whose runs are of two machines, or of two states of a machine, is left out.
    """
    return {place: pair for place, pair in _begun_pairs(evidence, cells, stage).items() if not _is_split(pair)}


def split_pairs(evidence: Evidence, cells: Sequence[Cell]) -> int:
    """The number of pairs that are left out, as their runs are of two machines, or of two states of a machine."""
    return sum(_is_split(pair) for stage in Stage for pair in _begun_pairs(evidence, cells, stage).values())


def _is_split(pair: RunPair) -> bool:
    return len({run.machine for run in pair if run}) > 1


def _begun_pairs(evidence: Evidence, cells: Sequence[Cell], stage: Stage) -> Pairs:
    positions = {cell.key: position for position, cell in enumerate(cells)}
    sides = {stage.side(0): 0, stage.side(1): 1}
    found: dict[tuple[int, int], list[Run | None]] = defaultdict(lambda: [None, None])
    for run in evidence.done:
        task = run.task
        if task.stage in sides:
            place = task.repetition, positions[_cell_key(task)]
            found[place][sides[task.stage]] = run
    return {place: RunPair(*both) for place, both in found.items()}


def unmeasurable(evidence: Evidence, cells: Sequence[Cell]) -> frozenset[int]:
    """The positions of cells that cannot be measured: a side does not work, or cannot be built."""
    sides = given_up(evidence.runs, lambda run: (_cell_key(run.task), run.task.stage.rpartition(" ")[2]))
    keys = {key for key, _ in sides}
    return frozenset(position for position, cell in enumerate(cells) if cell.key in keys)


def _cell_key(task: Task) -> tuple[str, str]:
    return task.benchmark, task.configuration.key


class Differences(Struct, frozen=True, eq=False):
    """The differences of a metric in each round: ``values`` has shape (rounds, cells), NaN where a cell has no pair.

    They are differences of logarithms, or, if a value is not above zero, fractions of the cell's first mean.
    ``before`` and ``after`` are the values themselves, in the metric's unit, in the same shape.
    """

    values: FloatArray
    before: FloatArray
    after: FloatArray
    raw: bool

    def series(self, group: Group, cells: Sequence[Cell]) -> FloatArray:
        """The weighted mean over a group's cells for each round that has all of them, shape (rounds,).

        Cells without any pair are left out.
        """
        columns, weights = self._working(group, cells)
        if not columns:
            return np.empty(0)
        chosen = self.values[:, columns]
        whole = ~np.isnan(chosen).any(axis=1)
        return np.asarray(chosen[whole] @ weights, dtype=np.float64)

    def means(self, group: Group, cells: Sequence[Cell]) -> tuple[float, float]:
        """The weighted means of both sides."""
        columns, weights = self._working(group, cells)
        before, after = (float(np.nanmean(side[:, columns], axis=0) @ weights) for side in (self.before, self.after))
        return before, after

    def _working(self, group: Group, cells: Sequence[Cell]) -> tuple[list[int], FloatArray]:
        there = np.asarray(~np.isnan(self.values).all(axis=0), dtype=np.bool_)
        kept = [
            (place, weight) for place, weight in zip(group.cells, group.weights(cells), strict=True) if there[place]
        ]
        weights = np.array([weight for _, weight in kept])
        return [place for place, _ in kept], weights / weights.sum() if kept else weights


def differences(
    pairs: Pairs, cells: Sequence[Cell], metric: Metric, statistic: Statistic, warm_up: int = 0
) -> Differences:
    """The differences of each pair in which both runs have the metric.

    The first ``warm_up`` observations of each run are left out, but at most half of all; more if more are marked.
    """
    rounds = 1 + max((number for number, _ in pairs), default=-1)
    sides = np.full((2, rounds, len(cells)), np.nan)
    for (number, position), pair in pairs.items():
        if pair.before is None or pair.after is None:
            continue
        both = [_value(run, metric, statistic, warm_up) for run in pair]
        if None not in both:
            sides[:, number, position] = both
    found = np.full((rounds, len(cells)), np.nan)
    raw = False
    for position in range(len(cells)):
        there = np.logical_not(np.isnan(sides[0, :, position]))
        if there.any():
            values = PairValues(sides[0, there, position], sides[1, there, position])
            found[there, position] = values.differences
            raw = raw or values.scale is not None
    return Differences(found, sides[0], sides[1], raw)


def _value(run: Run | None, metric: Metric, statistic: Statistic, warm_up: int) -> float | None:
    observed = run.of(metric.name) if run is not None else None
    if observed is None:
        return None
    start = max(observed.warmup, min(warm_up, len(observed.values) // 2))
    return statistic.of(observed.values[start:]) * conversion(observed.unit, metric.unit)


class GateRule(StrEnum):
    """How a check decides: by bets on the signs of all rounds, or, in earlier versions, by two stages of t-tests."""

    SIGNS = "signs"
    TWO_STAGES = "two stages"

    @property
    def test(self) -> StoppingRule | SignBets:
        """The test of a group's rounds."""
        return SignBets() if self is GateRule.SIGNS else RULES[Stopping.ANYTIME]

    def level(self, alpha: float) -> float:
        """The level of a stage: both of two stages have the square root of alpha."""
        return alpha if self is GateRule.SIGNS else math.sqrt(alpha)

    def judgement(
        self,
        cells: tuple[Cell, ...],
        groups: tuple[Group, ...],
        question: Question,
        evidence: Evidence,
        choices: StatisticChoices,
        warm_ups: tuple[WarmUpCut, ...],
    ) -> GateJudgement:
        """The judgement of the evidence by this rule."""
        judged = GateJudgement if self is GateRule.SIGNS else TwoStageJudgement
        return judged(cells, groups, question, evidence, self, choices, warm_ups)


class GroupAnswer(NamedTuple):
    """A group's result in one stage; ``q_value`` is corrected for all groups of the stage, None with too few rounds.

    ``questions`` is Holm's factor.
    """

    group: Group
    judged: AnyJudged | None
    q_value: float | None
    questions: float

    def significant(self, level: float) -> bool:
        """Whether it is significant at a level, in the direction of its rounds."""
        if self.judged is None or self.q_value is None or self.q_value > level:
            return False
        return self.judged.estimate * self.judged.strongest > 0.0


class Rounds(NamedTuple):
    """The difference of a group in each round, shape (rounds,); also by the mean if that keeps a part of alpha."""

    values: FloatArray
    means: FloatArray | None = None

    def judged(self, rule: GateRule, alpha: float, limit: float) -> AnyJudged | None:
        """The test of the rounds; None without a round."""
        return judge(self.values, self.means, rule.test, alpha, limit) if len(self.values) else None


def ask(found: Sequence[tuple[Group, Rounds]], rule: GateRule, level: float, limit: float) -> list[GroupAnswer]:
    """Test each series of rounds; the level holds for all of them together (Holm)."""
    judged = [rounds.judged(rule, level, limit) for _, rounds in found]
    p_values = [None if one is None else one.p_value for one in judged]
    # Groups that cannot be tested yet count, too: else the level would depend on the order in which rounds arrive.
    padded = np.array([1.0 if p is None else p for p in p_values])
    corrected = zip(found, judged, p_values, holm(padded).tolist(), holm_factors(padded).tolist(), strict=True)
    return [
        GroupAnswer(group, None if one is None else among(one, factor), None if p is None else q, factor)
        for (group, _), one, p, q, factor in corrected
    ]


class GateJudgement(Struct, frozen=True, eq=False, dict=True):
    """The judgement of all groups by the evidence: bets on the signs of their rounds, corrected by Holm.

    A change within the margin is none, however clear it is.
    """

    cells: tuple[Cell, ...]
    groups: tuple[Group, ...]
    question: Question
    evidence: Evidence
    rule: GateRule
    choices: StatisticChoices = field(default_factory=StatisticChoices)
    warm_ups: tuple[WarmUpCut, ...] = ()

    @property
    def level(self) -> float:
        """The level of each stage."""
        return self.rule.level(self.question.alpha)

    @cached_property
    def explored(self) -> list[GroupAnswer]:
        """Every group in the first stage."""
        return ask([(group, self.rounds(group, Stage.EXPLORING)) for group in self.groups], self.rule, self.level, 0.0)

    @cached_property
    def suspected(self) -> tuple[Group, ...]:
        """The groups whose change fresh rounds have to confirm: none."""
        return ()

    @cached_property
    def confirming(self) -> list[GroupAnswer]:
        """The suspected groups in the second stage."""
        return []

    def same(self, group: Group) -> bool:
        """Whether exploring shows the change to be within the margin, at alpha."""
        judged = self.rounds(group, Stage.EXPLORING).judged(self.rule, self.question.alpha, self.limit(group))
        return judged is not None and judged.same

    def watched(self, group: Group) -> bool:
        """Whether exploring continues for a group: no change is shown, but there may be one.

        A whole benchmark is watched until it is the same. A stratum with a part of its weight is watched only until a
        change by the margin divided by the root of that part is excluded: this takes as many rounds for one part as the
        margin does for the whole.
        """
        if self._changed(group):
            return False
        limit = self.limit(group) / math.sqrt(self._share(group))
        judged = self.rounds(group, Stage.EXPLORING).judged(self.rule, self.question.alpha, limit)
        return judged is None or not judged.same

    def settled(self, group: Group) -> bool:
        """Whether a suspicion is confirmed, or fresh rounds show that there is no change of that size."""
        return self.verdict(group) is not ChangeVerdict.INCONCLUSIVE

    def verdict(self, group: Group) -> ChangeVerdict:
        """The verdict on a group."""
        if self.same(group):
            return ChangeVerdict.SAME
        return self._direction(group) if self._changed(group) else ChangeVerdict.INCONCLUSIVE

    def _direction(self, group: Group) -> ChangeVerdict:
        [answer] = [asked for asked in self.explored if asked.group == group]
        assert answer.judged is not None
        worse = (answer.judged.estimate > 0.0) == (group.metric.better is Better.LOWER)
        return ChangeVerdict.SLOWER if worse else ChangeVerdict.FASTER

    def _changed(self, group: Group) -> bool:
        """Whether exploring shows a change that is not within the margin."""
        [answer] = [asked for asked in self.explored if asked.group == group]
        return answer.significant(self.level) and not self._slight(group)

    def whole(self, group: Group) -> AnyJudged | None:
        """The test of all rounds of its stages, at alpha, among the groups of the last one: it gives the size."""
        stages = [self.rounds(group, stage) for stage in self.stages(group)]
        means = [each.means for each in stages if each.means is not None]
        values = np.concatenate([each.values for each in stages])
        both = Rounds(values, np.concatenate(means) if len(means) == len(stages) else None)
        judged = both.judged(self.rule, self.question.alpha, self.limit(group))
        return None if judged is None else among(judged, self._questions(group))

    def stages(self, group: Group) -> tuple[Stage, ...]:
        """The stages whose rounds have all cells of a group: fresh ones have those of what is suspected."""
        fresh = {position for suspected in self.suspected for position in suspected.cells}
        return tuple(Stage) if fresh.issuperset(group.cells) else (Stage.EXPLORING,)

    def _questions(self, group: Group) -> float:
        asked = self.confirming if group in self.suspected else self.explored
        return next(each.questions for each in asked if each.group == group)

    def rounds_needed(self, group: Group) -> int | None:
        """The number of rounds that decides with 80 % power, if the estimate and the noise hold.

        It exceeds the present number if that does not decide; None if 1,000 do not, or 10,000 of a stage of two.
        """
        whole = self.whole(group)
        if whole is None:
            return None
        found = self._needed(group, whole)
        if found is None or self.verdict(group) is not ChangeVerdict.INCONCLUSIVE:
            return found
        return max(found, whole.pairs + 1)

    def _needed(self, group: Group, whole: AnyJudged) -> int | None:
        return whole.pairs_needed(self.question.alpha / self._questions(group))

    def choice(self, group: Group) -> StatisticChoice:
        """The statistic of a run of a group's metric."""
        if isinstance(self.question.statistic, Statistic):
            return StatisticChoice(self.question.statistic, ChoiceBasis.ASKED)
        return self.choices.of(group.benchmark.name, group.metric.name)

    def rounds(self, group: Group, stage: Stage) -> Rounds:
        """A group's differences in each round of a stage; also by the mean if all values are above zero."""
        found, means = self._differences[group.benchmark.name, group.metric.name, stage]
        values = found.series(group, self.cells)
        if means is None or found.raw or means.raw:
            return Rounds(values)
        return Rounds(values, means.series(group, self.cells))

    def series(self, group: Group, stage: Stage) -> FloatArray:
        """A group's difference in each round of a stage."""
        return self.differences(group, stage).series(group, self.cells)

    def differences(self, group: Group, stage: Stage) -> Differences:
        """The differences of a group's metric, in all cells of its benchmark."""
        return self._differences[group.benchmark.name, group.metric.name, stage][0]

    def limit(self, group: Group) -> float:
        """The margin on the scale of the differences."""
        raw = self.differences(group, Stage.EXPLORING).raw
        return self.question.margin if raw else self.question.limit

    def _slight(self, group: Group) -> bool:
        judged = self.rounds(group, Stage.EXPLORING).judged(self.rule, self.level, self.limit(group))
        return judged is not None and slight(judged)

    def _share(self, group: Group) -> float:
        """The group's part of its benchmark's weight."""
        own = sum(self.cells[position].weight for position in group.cells)
        return own / sum(cell.weight for cell in self.cells if cell.benchmark.name == group.benchmark.name)

    def _warm_up(self, group: Group) -> int:
        about = group.benchmark.name, group.metric.name
        return next((cut.observations for cut in self.warm_ups if (cut.benchmark, cut.metric) == about), 0)

    @cached_property
    def _differences(self) -> dict[tuple[str, str, Stage], tuple[Differences, Differences | None]]:
        found = {}
        for stage in Stage:
            pairs = pairs_of(self.evidence, self.cells, stage)
            for group in self.groups:
                key = group.benchmark.name, group.metric.name, stage
                if key not in found:
                    choice, start = self.choice(group), self._warm_up(group)
                    found[key] = (
                        differences(pairs, self.cells, group.metric, choice.statistic, start),
                        differences(pairs, self.cells, group.metric, MEAN, start) if choice.keeps_mean else None,
                    )
        return found


class TwoStageJudgement(GateJudgement, frozen=True, eq=False, dict=True):
    """The judgement of earlier versions: anytime-valid t-tests of two stages.

    A change is *suspected* if exploring is significant at the square root of alpha, and *confirmed* if fresh
    rounds are significant again, in the same direction, at the square root of alpha.
    """

    @cached_property
    def suspected(self) -> tuple[Group, ...]:
        """The groups that look changed in the first stage, and are not shown to be within the margin."""
        return tuple(group for group in self.groups if self._changed(group))

    @cached_property
    def confirming(self) -> list[GroupAnswer]:
        """The suspected groups in the second stage."""
        return ask(
            [(group, self.rounds(group, Stage.CONFIRMING)) for group in self.suspected], self.rule, self.level, 0.0
        )

    def verdict(self, group: Group) -> ChangeVerdict:
        """The verdict on a group."""
        if group not in self.suspected:
            return ChangeVerdict.SAME if self.same(group) else ChangeVerdict.INCONCLUSIVE
        [first] = [asked for asked in self.explored if asked.group == group]
        [again] = [asked for asked in self.confirming if asked.group == group]
        whole = self.whole(group)
        if first.judged is None or again.judged is None or whole is None:
            return ChangeVerdict.INCONCLUSIVE
        if whole.same:
            return ChangeVerdict.SAME
        confirmed = again.significant(self.level) and first.judged.estimate * again.judged.estimate > 0.0
        if confirmed and not slight(whole):
            return self._direction(group)
        fresh = self.rounds(group, Stage.CONFIRMING).judged(self.rule, self.question.alpha, self.limit(group))
        return ChangeVerdict.SAME if fresh is not None and fresh.same else ChangeVerdict.INCONCLUSIVE

    def _needed(self, group: Group, whole: AnyJudged) -> int | None:
        found = (whole.pairs_needed(None), self._to_confirm(group, whole))
        return min((needed for needed in found if needed is not None), default=None)

    def _to_confirm(self, group: Group, whole: AnyJudged) -> int | None:
        """The rounds that show a change in both stages; each has the root of the power if neither has shown it yet."""
        if slight(whole):
            return None
        change = replace(whole, alpha=self.level, limit=0.0)
        if group in self.suspected:
            fresh = change.pairs_needed(self.level / len(self.suspected))
            return None if fresh is None else len(self.series(group, Stage.EXPLORING)) + fresh
        power = math.sqrt(POWER)
        stages = [change.pairs_needed(self.level / questions, power) for questions in (len(self.groups), 1)]
        return None if None in stages else sum(each for each in stages if each is not None)
