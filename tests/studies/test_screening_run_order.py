"""The order of a screening's runs: the one that a trend disturbs least, and the random one of earlier campaigns."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from simulated_subject import BENCHMARK, LATENCY, space

from hati.core import FloatArray, InputError, StudyId, generator, replace
from hati.design import levels, run_order
from hati.studies.screening import (
    AnyChoice,
    AnyScreening,
    FractionRequest,
    ModelChoice,
    asked_fraction,
    choose_design,
    choose_followed,
    read_choice,
    screening,
)
from hati.studies.screening.planning.tasks import effect_columns, with_robust_order

SIX = space(6)


def study(choice: AnyChoice, seed: int = 1) -> AnyScreening:
    return screening(
        study=StudyId.of("screening", {}, seed, "pool"),
        subject="simulated",
        benchmark=BENCHMARK,
        metric=LATENCY,
        revision="1",
        space=SIX,
        choice=choice,
    )


def choices() -> dict[str, AnyChoice]:
    rng = generator(1, "design")
    return {
        "optimal": choose_followed(SIX, 24, rng),
        "replicated": choose_followed(SIX, 58, rng),
        "full": choose_design(SIX, 64, rng),
        "repeated": asked_fraction(FractionRequest(4, None), 6, 48, rng),
    }


def explained(made: AnyScreening) -> float:
    """The fraction of the trend that the main effects explain."""
    mains = effect_columns([task.configuration for task in made.tasks], SIX, 0)[0]
    trend: FloatArray = np.arange(len(mains)) - (len(mains) - 1) / 2.0
    rest = trend - mains @ np.linalg.lstsq(mains, trend, rcond=None)[0]
    return 1.0 - float(rest @ rest) / float(trend @ trend)


@pytest.mark.parametrize("name", choices())
def test_main_effects_explain_less_of_a_trend_than_in_a_random_order(name: str) -> None:
    choice = choices()[name]
    random = [explained(study(choice, seed)) for seed in range(20)]
    robust = [explained(study(with_robust_order(choice), seed)) for seed in range(20)]
    assert max(robust) < np.mean(random)


@pytest.mark.parametrize("name", choices())
def test_the_runs_are_those_of_a_random_order(name: str) -> None:
    choice = choices()[name]
    before, after = study(choice).tasks, study(with_robust_order(choice)).tasks
    assert {task.id for task in before} == {task.id for task in after}
    assert before != after
    if choice.repetitions > 1:
        repetitions = [task.repetition for task in after]
        assert all(one <= other for one, other in pairwise(repetitions))


def test_a_stored_design_without_orders_keeps_its_random_order() -> None:
    choice = choices()["optimal"]
    assert isinstance(choice, ModelChoice)
    assert "orders" not in choice.to_json()
    assert "orders" not in choices()["full"].to_json()
    rows = levels([task.configuration for task in study(read_choice(choice.to_json()), 3).tasks], SIX)
    drawn = run_order(len(rows), 1, generator(3, "order"))
    assert np.array_equal(rows, np.array(choice.rows)[drawn])


@pytest.mark.parametrize("name", ["optimal", "full"])
def test_the_number_of_orders_is_stored(name: str) -> None:
    choice = with_robust_order(choices()[name])
    assert choice.orders == 100
    assert read_choice(choice.to_json()) == choice
    with pytest.raises(InputError, match="among -1"):
        replace(choice, orders=-1)


def test_large_designs_have_a_random_order() -> None:
    assert with_robust_order(choose_design(SIX, 256, generator(1, "design"))).orders == 100
    assert with_robust_order(choose_design(SIX, 320, generator(1, "design"))).orders == 0
