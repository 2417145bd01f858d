"""Effects on the variance of runs that were not made in random order, or on several machines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest
from simulated_subject import screening, signs
from test_screening_order import by_model

from hati.core import Evidence, Run, Task, generator, replace
from hati.studies.screening import Dispersion, ModelScreening, Screening
from hati.testing import FakeEngine, MemoryStore

GROWTH = 3.0
"""Of the logarithm of the spread, from the first run to the last."""
NOISE = 0.01
WIDER = 4.0
"""What an active option makes of the spread."""

Made = Callable[[], Screening | ModelScreening]
Values = Callable[[Task, float], Sequence[float]]
"""What a task yields with that standard deviation of the logarithm."""


def several(task: Task, deviation: float) -> Sequence[float]:
    """Twelve observations."""
    return [math.exp(deviation * x) for x in generator(3, task.id).standard_normal(12).tolist()]


def single(task: Task, deviation: float) -> Sequence[float]:
    return [math.exp(deviation * float(generator(3, task.id).standard_normal()))]


CASES = pytest.mark.parametrize(
    ("study", "values"),
    [
        pytest.param(lambda: screening(6, 32), several, id="observations, 16 x 2"),
        pytest.param(lambda: screening(6, 96), several, id="observations, 32 x 3"),
        pytest.param(lambda: screening(5, 128), single, id="runs, 16 x 8"),
        pytest.param(lambda: by_model(8, 96), several, id="observations, model"),
    ],
)


def dispersion(study: Screening | ModelScreening, runs: Sequence[Run]) -> Dispersion:
    store = MemoryStore()
    for run in runs:
        store.record(run)
    evidence: Evidence = store.evidence(study.id)
    found = study.conclude(evidence).dispersion
    assert found is not None
    return found


def shown(found: Dispersion) -> set[str]:
    return {effect.options[0] for effect in found.effects if effect.shown and len(effect.options) == 1}


def sorted_runs(study: Screening | ModelScreening, values: Values, active: str) -> Sequence[Run]:
    """The runs in the order of their settings, while their spread grows; ``active`` widens it."""
    tasks = sorted(study.tasks, key=lambda task: tuple(signs(task).values()))
    places = {task.id: place for place, task in enumerate(tasks)}

    def deviation(task: Task) -> float:
        return (
            NOISE * math.exp(GROWTH * places[task.id] / len(tasks)) * (WIDER if signs(task).get(active, 0) > 0 else 1.0)
        )

    return list(FakeEngine(lambda task: {"latency": values(task, deviation(task))}).run(tuple(tasks)))


def on_two_machines(
    study: Screening | ModelScreening, values: Values, active: str, second: Callable[[Task], bool]
) -> Sequence[Run]:
    """The runs in their order; on the ``second`` machine the spread is four times as wide."""

    def measured(task: Task, machine: float) -> dict[str, Sequence[float]]:
        return {"latency": values(task, NOISE * machine * (WIDER if signs(task).get(active, 0) > 0 else 1.0))}

    engines = (
        FakeEngine(lambda task: measured(task, 1.0), machine="m0"),
        FakeEngine(lambda task: measured(task, 4.0), machine="m1"),
    )
    return [
        replace(run, started=run.started + timedelta(seconds=place))
        for place, task in enumerate(study.tasks)
        for run in engines[second(task)].run((task,))
    ]


@CASES
def test_of_a_sorted_plan_a_spread_that_grows_makes_no_option_important(study: Made, values: Values) -> None:
    made = study()
    assert shown(dispersion(made, sorted_runs(made, values, "none"))) == set()
    assert shown(dispersion(made, sorted_runs(made, values, "d"))) <= {"d"}


def mostly_with_b(draw: int) -> Callable[[Task], bool]:
    """Three in four configurations with b, and one in four of the others."""

    def second(task: Task) -> bool:
        return (generator(draw, str(sorted(task.configuration.items()))).random() < 0.75) == (signs(task)["b"] > 0)

    return second


@CASES
@pytest.mark.parametrize("active", ["d", "none"])
def test_a_machine_with_another_spread_neither_hides_nor_makes_an_effect(
    study: Made, values: Values, active: str
) -> None:
    made = study()
    assert shown(dispersion(made, on_two_machines(made, values, active, mostly_with_b(1)))) == {active} - {"none"}


def test_drift_hides_no_effect_on_the_variance_between_runs() -> None:
    """Within a repetition of 16 runs values grow by 30 %: much more than what the wider ones vary by."""
    made = screening(5, 128)
    places = {task.id: place for place, task in enumerate(made.tasks)}

    def drifting(task: Task) -> Sequence[float]:
        deviation = NOISE * (WIDER if signs(task)["d"] > 0 else 1.0)
        return [math.exp(0.016 * places[task.id]) * value for value in single(task, deviation)]

    runs = list(FakeEngine(lambda task: {"latency": drifting(task)}).run(made.tasks))
    assert shown(dispersion(made, runs)) == {"d"}


def test_the_variance_between_runs_is_judged_within_machines() -> None:
    """Thresholds for 20 draws of the machine: the effect is found in 15 or more, another in 3 or fewer."""
    made = screening(5, 128)
    found = [shown(dispersion(made, on_two_machines(made, single, "d", mostly_with_b(draw)))) for draw in range(20)]
    assert sum("d" in one for one in found) >= 15
    assert sum(bool(one - {"d"}) for one in found) <= 3
