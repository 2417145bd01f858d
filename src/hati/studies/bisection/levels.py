"""The levels of revisions relative to the good one, and their evidence on an interval."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from hati.core import Evidence, FloatArray, Metric, Outcome, Stopping, Task, conversion
from hati.harness import RULES
from hati.studies.comparison import Statistic
from hati.studies.paired.judging import JudgedPairs, PairValues

RULE = RULES[Stopping.ANYTIME]
HOPELESS = 3
PART = 1.0 / 3.0
"""Of an interval's change: a half that has less of it is not followed."""


class ProbeSide(StrEnum):
    """What a run of a probe is: of the good revision, or of the probed one."""

    BASE = "base"
    PROBE = "probe"


def stage(probe: str, side: ProbeSide) -> str:
    """The stage of a task."""
    return f"{side.value} {probe}"


def probe_of(task: Task) -> str:
    """The revision whose pair a task is of."""
    return task.stage.partition(" ")[2]


class PlacedValue(NamedTuple):
    """What a run yielded, and on which machine."""

    value: float
    machine: str


class Half(StrEnum):
    """Whether a half of an interval has a part of its change that matters."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    OPEN = "open"


class RevisionLevels(Struct, frozen=True, eq=False, dict=True):
    """What pairs say of each probed revision: logarithms of ratios to the good one.

    ``alpha`` is the level of each interval.
    """

    evidence: Evidence
    metric: Metric
    statistic: Statistic
    alpha: float

    def pairs(self, revision: str) -> int:
        """How many were begun of a revision."""
        rounds = self._rounds.get(revision)
        return 0 if not rounds else 1 + max(rounds)

    def broken(self, revision: str, side: ProbeSide = ProbeSide.PROBE) -> bool:
        """Whether a revision does not work, or cannot be built; or the good one paired with it."""
        outcomes = self._outcomes.get(stage(revision, side), [])
        if Outcome.DONE in outcomes:
            return False
        return Outcome.NOT_BUILT in outcomes or len(outcomes) >= HOPELESS

    def differences(self, revision: str) -> FloatArray:
        """Of the complete pairs, in order.

        A pair is a block: one whose runs are of two machines, or of two states of one, does not count.
        """
        pairs = [sides for _, sides in sorted(self._rounds.get(revision, {}).items()) if len(sides) == len(ProbeSide)]
        both = [
            (base.value, probe.value)
            for base, probe in ((sides[ProbeSide.BASE], sides[ProbeSide.PROBE]) for sides in pairs)
            if base.machine == probe.machine
        ]
        return PairValues(*np.array(both).T).differences if both else np.empty(0)

    def interval(self, revision: str | None) -> tuple[float, float]:
        """That of a level; without end where nothing is known, nothing but zero for the good one itself (None)."""
        if revision is None:
            return 0.0, 0.0
        found = self.differences(revision)
        if len(found) < RULE.fewest(self.alpha):
            return -np.inf, np.inf
        judged = JudgedPairs(found, RULE, self.alpha, 0.0)
        return judged.estimate - judged.half_width, judged.estimate + judged.half_width

    def level(self, revision: str | None) -> float:
        """The mean of its pairs; 0 for the good one itself."""
        return 0.0 if revision is None else float(self.differences(revision).mean())

    def split(self, first: str | None, probe: str, last: str | None) -> tuple[Half, Half]:
        """Whether the change from ``first`` to ``last`` happened up to a probe, and after it.

        A half has a part of it that matters where the probe's level is a third of the way or more from its own end. The
        levels of both ends count as estimated: a search's result is shown separately.
        """
        start, change = self.level(first), self.level(last) - self.level(first)
        ends = sorted((end - start) / change for end in self.interval(probe))
        return _beyond(ends, PART), _beyond([1.0 - ends[1], 1.0 - ends[0]], PART)

    @cached_property
    def _outcomes(self) -> dict[str, list[Outcome]]:
        found: dict[str, list[Outcome]] = {}
        for run in self.evidence.runs:
            found.setdefault(run.task.stage, []).append(run.outcome)
        return found

    @cached_property
    def _rounds(self) -> dict[str, dict[int, dict[ProbeSide, PlacedValue]]]:
        """By probed revision and number of the pair the values there are; begun ones count, empty or not."""
        found: dict[str, dict[int, dict[ProbeSide, PlacedValue]]] = {}
        for run in self.evidence.runs:
            side, _, probe = run.task.stage.partition(" ")
            sides = found.setdefault(probe, {}).setdefault(run.task.repetition, {})
            observed = run.of(self.metric.name)
            if observed is not None:
                value = self.statistic.of(observed.steady) * conversion(observed.unit, self.metric.unit)
                sides[ProbeSide(side)] = PlacedValue(value, run.machine)
        return found


def middle(inside: Sequence[str], broken: Sequence[str]) -> str | None:
    """The revision nearest to the middle that works; None where there is none inside."""
    places = [place for place, revision in enumerate(inside) if revision not in broken]
    if not places:
        return None
    centre = (len(inside) - 1) / 2.0
    return inside[min(places, key=lambda place: (abs(place - centre), place))]


def _beyond(interval: Sequence[float], limit: float) -> Half:
    low, high = interval
    if low > limit:
        return Half.CHANGED
    return Half.UNCHANGED if high < limit else Half.OPEN
