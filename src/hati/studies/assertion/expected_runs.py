"""What measuring for formulas will take: the fewest and the most runs of each method."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from hati.core import Budget
from hati.logic.interpret import Interpretation
from hati.studies.assertion.requirement import methods_of
from hati.studies.assertion.study import Assertion

_Same = tuple[str, str]
"""A benchmark and a revision: the key of a run."""
_Costs = Mapping[_Same, float | None]
_Rounds = Mapping[_Same, tuple[int, int | None]]


class ExpectedRuns(Struct, frozen=True):
    """The methods of which the same is run, and how often it will be.

    ``least`` runs are made where all formulas are decided at the earliest; ``most`` where those of this method are
    decided last and all others at the earliest, None where the number of runs in a budget of time is unknown.
    ``seconds`` is the cost of a run, None where unknown.
    """

    methods: tuple[str, ...]
    least: int
    most: int | None
    seconds: float | None

    @property
    def least_seconds(self) -> float | None:
        """What the fewest runs take, None where it is not known."""
        return None if self.seconds is None else self.least * self.seconds


def expected_runs(study: Assertion, seconds: Mapping[str, float]) -> tuple[ExpectedRuns, ...]:
    """What would be run, in the order in which formulas name it; ``seconds`` of a run by the names of benchmarks."""
    named: dict[_Same, list[str]] = {}
    for key, point in study.points.items():
        named.setdefault(point.key, []).append(key)
    costs = {same: seconds.get(same[0]) for same in named}
    least = {same: max(study.least[key] for key in keys) for same, keys in named.items()}
    early = study.standard.interpretation is Interpretation.DEFAULT
    rounds = _early(study, costs, least) if early else _at_the_end(study.budget, costs)
    return tuple(ExpectedRuns(tuple(keys), *rounds[same], costs[same]) for same, keys in named.items())


def expected_rounds(methods: Sequence[ExpectedRuns]) -> dict[str, int]:
    """The fewest runs of each method by its text."""
    return {key: each.least for each in methods for key in each.methods}


def _measured_together(study: Assertion) -> Iterator[frozenset[_Same]]:
    """What the sides of each relation run; nothing of the same compared with itself, which no round decides."""
    for relations in study.decidable:
        for relation in relations:
            yield frozenset(study.points[method].key for method in methods_of(relation))


def _early(study: Assertion, costs: _Costs, least: Mapping[_Same, int]) -> _Rounds:
    """The fewest and the most where formulas are decided as soon as they can be."""
    left = _left(study.budget, costs, least)
    if left is None:
        return {same: (runs, None) for same, runs in least.items()}
    further = dict.fromkeys(least, 0.0)
    for pair in dict.fromkeys(_measured_together(study)):
        rounds = left / _round_cost(study.budget, costs, pair)
        further.update({same: max(further[same], rounds) for same in pair})
    return {same: (runs, runs + math.ceil(further[same])) for same, runs in least.items()}


def _at_the_end(budget: Budget, costs: _Costs) -> _Rounds:
    """The same of the SPL paper's interpretations, which are asked when the budget is spent on rounds of all."""
    left = _left(budget, costs, {})
    if left is None:
        return dict.fromkeys(costs, (1, None))
    rounds = left / _round_cost(budget, costs, costs)
    return dict.fromkeys(costs, (max(1, math.floor(rounds)), math.ceil(rounds)))


def _left(budget: Budget, costs: _Costs, spent: Mapping[_Same, int]) -> float | None:
    """The runs, or else the seconds, left in the budget; None where the cost of runs is unknown."""
    if math.isfinite(budget.runs):
        return max(0.0, budget.runs - sum(spent.values()))
    known = {same: cost for same, cost in costs.items() if cost is not None}
    if len(known) < len(costs) or not any(known.values()):
        return None
    return max(0.0, budget.seconds - sum(known[same] * runs for same, runs in spent.items()))


def _round_cost(budget: Budget, costs: _Costs, of: Iterable[_Same]) -> float:
    """What a round takes of the budget: runs, or seconds where these are known of all."""
    if math.isfinite(budget.runs):
        return float(len(list(of)))
    return sum(costs[same] or 0.0 for same in of)
