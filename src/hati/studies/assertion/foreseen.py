"""What measuring for formulas will take: the fewest and the most runs of each method."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hati.core import Budget
from hati.logic.interpret import Interpretation
from hati.studies.assertion.requirement import methods_of
from hati.studies.assertion.study import Assertion

_Same = tuple[str, str]
"""A benchmark and a revision: what is run."""


@dataclass(frozen=True)
class Foreseen:
    """The methods of which the same is run, and how often it will be.

    ``least`` runs are made where all formulas are decided at the earliest; ``most`` where those of this method are
    decided last and all others at the earliest, None where nothing tells how many a budget of time is. ``seconds`` is
    what a run takes, None where it is not known.
    """

    methods: tuple[str, ...]
    least: int
    most: int | None
    seconds: float | None

    @property
    def least_seconds(self) -> float | None:
        """What the fewest runs take, None where it is not known."""
        return None if self.seconds is None else self.least * self.seconds


def foreseen(study: Assertion, seconds: Mapping[str, float]) -> tuple[Foreseen, ...]:
    """What would be run, in the order in which formulas name it; ``seconds`` of a run by the names of benchmarks."""
    named: dict[_Same, list[str]] = {}
    for key, point in study.points.items():
        named.setdefault(point.key, []).append(key)
    costs = {same: seconds.get(same[0]) for same in named}
    least = {same: max(study.least[key] for key in keys) for same, keys in named.items()}
    pairs = list(_measured_together(study))
    return tuple(
        Foreseen(tuple(keys), *_rounds(study, same, least, costs, pairs), costs[same]) for same, keys in named.items()
    )


def foreseen_rounds(methods: Sequence[Foreseen]) -> dict[str, int]:
    """The fewest runs of each method by its text."""
    return {key: each.least for each in methods for key in each.methods}


def _measured_together(study: Assertion) -> Iterator[frozenset[_Same]]:
    """What the sides of each relation run; nothing of the same compared with itself, which no round decides."""
    for relations in study.decidable:
        for relation in relations:
            yield frozenset(study.points[method].key for method in methods_of(relation))


def _rounds(
    study: Assertion,
    same: _Same,
    least: Mapping[_Same, int],
    costs: Mapping[_Same, float | None],
    pairs: list[frozenset[_Same]],
) -> tuple[int, int | None]:
    """The fewest and the most; seed 004's interpretations are asked when the budget is spent on rounds of all."""
    if study.standard.interpretation is not Interpretation.DEFAULT:
        rounds = _affordable(study.budget, costs, costs)
        return (1, None) if rounds is None else (max(1, math.floor(rounds)), math.ceil(rounds))
    further = [_affordable(study.budget, costs, pair, least) for pair in pairs if same in pair]
    if None in further:
        return least[same], None
    return least[same], least[same] + math.ceil(max((rounds for rounds in further if rounds is not None), default=0.0))


def _affordable(
    budget: Budget,
    costs: Mapping[_Same, float | None],
    round_of: Mapping[_Same, object] | frozenset[_Same],
    spent: Mapping[_Same, int] | None = None,
) -> float | None:
    """How many rounds the budget is for, after what is spent; None where that is not known."""
    before = spent or {}
    if math.isfinite(budget.runs):
        return max(0.0, (budget.runs - sum(before.values())) / len(round_of))
    known = {same: cost for same, cost in costs.items() if cost is not None}
    if len(known) < len(costs) or not any(known.values()):
        return None
    left = budget.seconds - sum(known[same] * runs for same, runs in before.items())
    return max(0.0, left / sum(known[same] for same in round_of))
