"""Two stages of questions about groups: what looks changed, and whether it is so on fresh runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hati.core import Better, Evidence, FloatArray, Stopping
from hati.harness import RULES
from hati.stats import holm
from hati.studies.comparison import Question, Verdict
from hati.studies.gate.cells import Cell, Group
from hati.studies.gate.rounds import Differences, Stage, differences, pairs_of
from hati.studies.paired.judging import Judged

RULE = RULES[Stopping.ANYTIME]


class Asked(NamedTuple):
    """A group's answer in one stage; ``q_value`` is corrected for all its groups, None without rounds enough."""

    group: Group
    judged: Judged | None
    q_value: float | None

    def told(self, level: float) -> bool:
        """Whether it is told at a level, the way that its rounds point to."""
        if self.judged is None or self.q_value is None or self.q_value > level:
            return False
        return self.judged.estimate * self.judged.strongest > 0.0


def ask(found: Sequence[tuple[Group, FloatArray]], level: float, limit: float) -> list[Asked]:
    """Test each series of rounds; the level is that of all of them together (Holm)."""
    judged = [Judged(series, RULE, level, limit) if len(series) else None for _, series in found]
    p_values = [None if one is None else one.p_value for one in judged]
    known = [p for p in p_values if p is not None]
    # Those that cannot be asked yet count too: else the level would depend on the order in which rounds come.
    padded = holm(np.array([*known, *[1.0] * (len(found) - len(known))])) if known else np.array([])
    corrected = iter(padded[: len(known)].tolist())
    q_values = [None if p is None else next(corrected) for p in p_values]
    return [Asked(group, one, q) for (group, _), one, q in zip(found, judged, q_values, strict=True)]


@dataclass(frozen=True, eq=False)
class Judgement:
    """All that the evidence says of the groups.

    A change is *suspected* where exploring tells it at the square root of alpha, and *confirmed* where fresh rounds
    tell it again, the same way, at the square root of alpha: of what is not there, both together tell alpha. What is
    shown to be within the margin is neither, however clear it is.
    """

    cells: tuple[Cell, ...]
    groups: tuple[Group, ...]
    question: Question
    evidence: Evidence

    @property
    def level(self) -> float:
        """Of each stage."""
        return math.sqrt(self.question.alpha)

    @cached_property
    def explored(self) -> list[Asked]:
        """Every group in the first stage."""
        return ask([(group, self.series(group, Stage.EXPLORING)) for group in self.groups], self.level, 0.0)

    @cached_property
    def suspected(self) -> tuple[Group, ...]:
        """What looks changed at first, and not within the margin."""
        looking = (asked.group for asked in self.explored if asked.told(self.level))
        return tuple(group for group in looking if not self._within(group, self.level))

    @cached_property
    def confirming(self) -> list[Asked]:
        """Those in the second stage."""
        return ask([(group, self.series(group, Stage.CONFIRMING)) for group in self.suspected], self.level, 0.0)

    def same(self, group: Group) -> bool:
        """Whether exploring shows the change to be within the margin, at alpha."""
        return self._within(group, self.question.alpha)

    def watched(self, group: Group) -> bool:
        """Whether exploring has more to tell of a group: it does not look changed, and might still have.

        All of a benchmark is watched until it is the same. What has a part of its weight only until a change by the
        margin over the root of that part is excluded: as many rounds show that of one part as the margin of the whole.
        """
        if group in self.suspected:
            return False
        series = self.series(group, Stage.EXPLORING)
        limit = self.limit(group) / math.sqrt(self._share(group))
        return not len(series) or not Judged(series, RULE, self.question.alpha, limit).same

    def settled(self, group: Group) -> bool:
        """Whether a suspicion is confirmed, or fresh rounds show that there is nothing of that size."""
        return self.verdict(group) is not Verdict.INCONCLUSIVE

    def verdict(self, group: Group) -> Verdict:
        """What may be told of a group."""
        if group not in self.suspected:
            return Verdict.SAME if self.same(group) else Verdict.INCONCLUSIVE
        [first] = [asked for asked in self.explored if asked.group == group]
        [again] = [asked for asked in self.confirming if asked.group == group]
        whole = self.whole(group)
        if first.judged is None or again.judged is None or whole is None:
            return Verdict.INCONCLUSIVE
        if whole.same:
            return Verdict.SAME
        if again.told(self.level) and first.judged.estimate * again.judged.estimate > 0.0:
            worse = (first.judged.estimate > 0.0) == (group.metric.better is Better.LOWER)
            return Verdict.SLOWER if worse else Verdict.FASTER
        fresh = Judged(again.judged.differences, RULE, self.question.alpha, self.limit(group))
        return Verdict.SAME if fresh.same else Verdict.INCONCLUSIVE

    def whole(self, group: Group) -> Judged | None:
        """All rounds of both stages, at alpha: for what size the change has."""
        series = np.concatenate([self.series(group, stage) for stage in Stage])
        return Judged(series, RULE, self.question.alpha, self.limit(group)) if len(series) else None

    def series(self, group: Group, stage: Stage) -> FloatArray:
        """What each round of a stage says of a group."""
        return self.differences(group, stage).series(group, self.cells)

    def differences(self, group: Group, stage: Stage) -> Differences:
        """Those of a group's metric, of all cells of its benchmark."""
        return self._differences[group.benchmark.name, group.metric.name, stage]

    def limit(self, group: Group) -> float:
        """The margin on the scale of the differences."""
        raw = self.differences(group, Stage.EXPLORING).raw
        return self.question.margin if raw else self.question.limit

    def _within(self, group: Group, alpha: float) -> bool:
        series = self.series(group, Stage.EXPLORING)
        return bool(len(series)) and Judged(series, RULE, alpha, self.limit(group)).same

    def _share(self, group: Group) -> float:
        """The part of its benchmark's weight."""
        own = sum(self.cells[position].weight for position in group.cells)
        return own / sum(cell.weight for cell in self.cells if cell.benchmark.name == group.benchmark.name)

    @cached_property
    def _differences(self) -> dict[tuple[str, str, Stage], Differences]:
        found = {}
        for stage in Stage:
            pairs = pairs_of(self.evidence, self.cells, stage)
            for group in self.groups:
                key = group.benchmark.name, group.metric.name, stage
                if key not in found:
                    found[key] = differences(pairs, self.cells, group.metric, self.question.statistic)
        return found
