"""What each formula cost: the runs of its methods, which other formulas may share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from hati.core import Run
from hati.studies.assertion.requirement import Made, MeasuredMethod, Requirement, methods_of
from hati.studies.assertion.samples import SampleCollector


class Cost(Struct, frozen=True):
    """The runs of a formula's methods, whatever became of them, and their seconds.

    ``shared`` of the runs are of methods that other formulas are about too: they are among the runs of each. Of their
    seconds ``booked`` has an equal part for each of these formulas.
    """

    runs: int
    shared: int
    seconds: float
    booked: float = 0.0


def costs_of(requirements: Sequence[Requirement], points: Mapping[str, MeasuredMethod], runs: Made) -> tuple[Cost, ...]:
    """One of each formula, in order."""
    made = {key: {run.task.id: run for run in point.runs(runs)} for key, point in points.items()}
    each = [_runs(requirement, made) for requirement in requirements]
    formulas = Counter(task for runs in each for task in runs)
    return tuple(
        Cost(
            len(runs),
            sum(formulas[task] > 1 for task in runs),
            sum(run.seconds for run in runs.values()),
            sum(run.seconds / formulas[task] for task, run in runs.items()),
        )
        for runs in each
    )


def _runs(requirement: Requirement, made: Mapping[str, Mapping[str, Run]]) -> dict[str, Run]:
    """Those of a formula's methods by their tasks, each once."""
    relations = (requirement.resolved(relation, SampleCollector()) for relation in requirement.relations)
    methods = dict.fromkeys(method for relation in relations for method in methods_of(relation))
    return {task: run for method in methods for task, run in made[method].items()}
