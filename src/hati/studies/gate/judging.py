"""Two stages of questions about groups: what looks changed, and whether it is so on fresh runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from hati.core import Better, Evidence, FloatArray, Stopping, replace
from hati.harness import RULES
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
from hati.studies.gate.rounds import Cell, Differences, Group, Stage, differences, pairs_of
from hati.studies.paired.judging import AnyJudged, among, judge

RULE = RULES[Stopping.ANYTIME]


class GroupAnswer(NamedTuple):
    """A group's answer in one stage; ``q_value`` is corrected for all its groups, None without rounds enough.

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
    """What each round says of a group, shape (rounds,); by the mean too where that keeps a part of alpha."""

    values: FloatArray
    means: FloatArray | None = None

    def judged(self, alpha: float, limit: float) -> AnyJudged | None:
        """What they say; None without a round."""
        return judge(self.values, self.means, RULE, alpha, limit) if len(self.values) else None


def ask(found: Sequence[tuple[Group, Rounds]], level: float, limit: float) -> list[GroupAnswer]:
    """Test each series of rounds; the level is that of all of them together (Holm)."""
    judged = [rounds.judged(level, limit) for _, rounds in found]
    p_values = [None if one is None else one.p_value for one in judged]
    # Those that cannot be asked yet count too: else the level would depend on the order in which rounds come.
    padded = np.array([1.0 if p is None else p for p in p_values])
    corrected = zip(found, judged, p_values, holm(padded).tolist(), holm_factors(padded).tolist(), strict=True)
    return [
        GroupAnswer(group, None if one is None else among(one, factor), None if p is None else q, factor)
        for (group, _), one, p, q, factor in corrected
    ]


class GateJudgement(Struct, frozen=True, eq=False, dict=True):
    """All that the evidence says of the groups.

    A change is *suspected* where exploring is significant at the square root of alpha, and *confirmed* where fresh
    rounds are significant again, in the same direction, at the square root of alpha: false confirmations have
    probability alpha. A change within the margin is neither, however clear it is.
    """

    cells: tuple[Cell, ...]
    groups: tuple[Group, ...]
    question: Question
    evidence: Evidence
    choices: StatisticChoices = field(default_factory=StatisticChoices)
    warm_ups: tuple[WarmUpCut, ...] = ()

    @property
    def level(self) -> float:
        """Of each stage."""
        return math.sqrt(self.question.alpha)

    @cached_property
    def explored(self) -> list[GroupAnswer]:
        """Every group in the first stage."""
        return ask([(group, self.rounds(group, Stage.EXPLORING)) for group in self.groups], self.level, 0.0)

    @cached_property
    def suspected(self) -> tuple[Group, ...]:
        """What looks changed at first, and not within the margin."""
        looking = (asked.group for asked in self.explored if asked.significant(self.level))
        return tuple(group for group in looking if not self._slight(group))

    @cached_property
    def confirming(self) -> list[GroupAnswer]:
        """Those in the second stage."""
        return ask([(group, self.rounds(group, Stage.CONFIRMING)) for group in self.suspected], self.level, 0.0)

    def same(self, group: Group) -> bool:
        """Whether exploring shows the change to be within the margin, at alpha."""
        judged = self.rounds(group, Stage.EXPLORING).judged(self.question.alpha, self.limit(group))
        return judged is not None and judged.same

    def watched(self, group: Group) -> bool:
        """Whether exploring continues for a group: it does not look changed, and might still have.

        All of a benchmark is watched until it is the same. A part of its weight is watched only until a change by the
        margin over the root of that part is excluded: as many rounds show that of one part as the margin of the whole.
        """
        if group in self.suspected:
            return False
        limit = self.limit(group) / math.sqrt(self._share(group))
        judged = self.rounds(group, Stage.EXPLORING).judged(self.question.alpha, limit)
        return judged is None or not judged.same

    def settled(self, group: Group) -> bool:
        """Whether a suspicion is confirmed, or fresh rounds show that there is nothing of that size."""
        return self.verdict(group) is not ChangeVerdict.INCONCLUSIVE

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
        if confirmed and not whole.slight:
            worse = (first.judged.estimate > 0.0) == (group.metric.better is Better.LOWER)
            return ChangeVerdict.SLOWER if worse else ChangeVerdict.FASTER
        fresh = self.rounds(group, Stage.CONFIRMING).judged(self.question.alpha, self.limit(group))
        return ChangeVerdict.SAME if fresh is not None and fresh.same else ChangeVerdict.INCONCLUSIVE

    def whole(self, group: Group) -> AnyJudged | None:
        """All rounds of both stages, at alpha, as one of the questions of its last stage: for its size."""
        stages = [self.rounds(group, stage) for stage in Stage]
        means = [each.means for each in stages if each.means is not None]
        values = np.concatenate([each.values for each in stages])
        both = Rounds(values, np.concatenate(means) if len(means) == len(stages) else None)
        judged = both.judged(self.question.alpha, self.limit(group))
        return None if judged is None else among(judged, self._questions(group))

    def _questions(self, group: Group) -> float:
        asked = self.confirming if group in self.suspected else self.explored
        return next(each.questions for each in asked if each.group == group)

    def choice(self, group: Group) -> StatisticChoice:
        """The statistic of a run of a group's metric."""
        if isinstance(self.question.statistic, Statistic):
            return StatisticChoice(self.question.statistic, ChoiceBasis.ASKED)
        return self.choices.of(group.benchmark.name, group.metric.name)

    def rounds(self, group: Group, stage: Stage) -> Rounds:
        """What each round of a stage says of a group; by the mean too where all values are above zero."""
        found, means = self._differences[group.benchmark.name, group.metric.name, stage]
        values = found.series(group, self.cells)
        if means is None or found.raw or means.raw:
            return Rounds(values)
        return Rounds(values, means.series(group, self.cells))

    def rounds_needed(self, group: Group) -> int | None:
        """The rounds of both stages that decide with 80 % power, if the estimate and the noise hold.

        More than there are where these do not decide; None where 10,000 of a stage do not.
        """
        whole = self.whole(group)
        if whole is None:
            return None
        found = [needed for needed in (whole.pairs_needed(None), self._to_confirm(group, whole)) if needed is not None]
        if not found or self.verdict(group) is not ChangeVerdict.INCONCLUSIVE:
            return min(found, default=None)
        return max(min(found), whole.pairs + 1)

    def _to_confirm(self, group: Group, whole: AnyJudged) -> int | None:
        """Those that show a change in both stages; each has the root of the power where neither has yet."""
        if whole.slight:
            return None
        change = replace(whole, alpha=self.level, limit=0.0)
        if group in self.suspected:
            fresh = change.pairs_needed(self.level / len(self.suspected))
            return None if fresh is None else len(self.series(group, Stage.EXPLORING)) + fresh
        power = math.sqrt(POWER)
        stages = [change.pairs_needed(self.level / questions, power) for questions in (len(self.groups), 1)]
        return None if None in stages else sum(each for each in stages if each is not None)

    def series(self, group: Group, stage: Stage) -> FloatArray:
        """What each round of a stage says of a group."""
        return self.differences(group, stage).series(group, self.cells)

    def differences(self, group: Group, stage: Stage) -> Differences:
        """Those of a group's metric, of all cells of its benchmark."""
        return self._differences[group.benchmark.name, group.metric.name, stage][0]

    def limit(self, group: Group) -> float:
        """The margin on the scale of the differences."""
        raw = self.differences(group, Stage.EXPLORING).raw
        return self.question.margin if raw else self.question.limit

    def _slight(self, group: Group) -> bool:
        judged = self.rounds(group, Stage.EXPLORING).judged(self.level, self.limit(group))
        return judged is not None and judged.slight

    def _share(self, group: Group) -> float:
        """The part of its benchmark's weight."""
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
