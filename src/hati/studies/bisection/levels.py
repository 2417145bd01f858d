"""The levels of revisions beside the good one, and what they say of an interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from hati.core import Evidence, FloatArray, Metric, Outcome, Stopping, conversion
from hati.harness import RULES
from hati.studies.comparison import Statistic
from hati.studies.paired.judging import Judged, Values

RULE = RULES[Stopping.ANYTIME]
HOPELESS = 3
PART = 1.0 / 3.0
"""Of an interval's change: a half that has less of it is not followed."""


class Side(StrEnum):
    """What a run of a probe is: of the good revision, or of the probed one."""

    BASE = "base"
    PROBE = "probe"


def stage(probe: str, side: Side) -> str:
    """The stage of a task."""
    return f"{side.value} {probe}"


class Half(StrEnum):
    """Whether a half of an interval has a part of its change that matters."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    OPEN = "open"


@dataclass(frozen=True, eq=False)
class Levels:
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

    def broken(self, revision: str, side: Side = Side.PROBE) -> bool:
        """Whether a revision does not work, or cannot be built; or the good one beside it."""
        outcomes = self._outcomes.get(stage(revision, side), [])
        if Outcome.DONE in outcomes:
            return False
        return Outcome.NOT_BUILT in outcomes or len(outcomes) >= HOPELESS

    def differences(self, revision: str) -> FloatArray:
        """Of the complete pairs, in order."""
        rounds = self._rounds.get(revision, {})
        both = [sides for _, sides in sorted(rounds.items()) if len(sides) == len(Side)]
        if not both:
            return np.empty(0)
        values = Values(
            np.array([sides[Side.BASE] for sides in both]), np.array([sides[Side.PROBE] for sides in both])
        )
        return values.differences

    def interval(self, revision: str | None) -> tuple[float, float]:
        """That of a level; without end where nothing is known, nothing but zero for the good one itself (None)."""
        if revision is None:
            return 0.0, 0.0
        found = self.differences(revision)
        if len(found) < RULE.fewest(self.alpha):
            return -np.inf, np.inf
        judged = Judged(found, RULE, self.alpha, 0.0)
        return judged.estimate - judged.half_width, judged.estimate + judged.half_width

    def level(self, revision: str | None) -> float:
        """The mean of its pairs; 0 for the good one itself."""
        return 0.0 if revision is None else float(self.differences(revision).mean())

    def half(self, first: str | None, last: str | None, change: float) -> Half:
        """Whether from ``first`` to ``last`` more than a third of an interval's ``change`` happened, that way."""
        (low_first, high_first), (low_last, high_last) = self.interval(first), self.interval(last)
        sign = 1.0 if change > 0.0 else -1.0
        ends = sorted((sign * (low_last - high_first), sign * (high_last - low_first)))
        if np.isnan(ends).any():
            return Half.OPEN
        needed = PART * abs(change)
        if ends[0] > needed:
            return Half.CHANGED
        return Half.UNCHANGED if ends[1] < needed else Half.OPEN

    @cached_property
    def _outcomes(self) -> dict[str, list[Outcome]]:
        found: dict[str, list[Outcome]] = {}
        for run in self.evidence.runs:
            found.setdefault(run.task.stage, []).append(run.outcome)
        return found

    @cached_property
    def _rounds(self) -> dict[str, dict[int, dict[Side, float]]]:
        """By probed revision and number of the pair the values there are; begun ones count, empty or not."""
        found: dict[str, dict[int, dict[Side, float]]] = {}
        for run in self.evidence.runs:
            side, _, probe = run.task.stage.partition(" ")
            sides = found.setdefault(probe, {}).setdefault(run.task.repetition, {})
            observed = run.of(self.metric.name)
            if observed is not None:
                value = self.statistic.of(observed.steady) * conversion(observed.unit, self.metric.unit)
                sides[Side(side)] = value
        return found


def middle(inside: Sequence[str], broken: Sequence[str]) -> str | None:
    """The revision nearest to the middle that works; None where there is none inside."""
    places = [place for place, revision in enumerate(inside) if revision not in broken]
    if not places:
        return None
    centre = (len(inside) - 1) / 2.0
    return inside[min(places, key=lambda place: (abs(place - centre), place))]
