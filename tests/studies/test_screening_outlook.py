"""What a screening promises and corrects: by the variation between configurations, not by the noise alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from simulated_subject import BENCHMARK, LATENCY, space

from hati.core import Evidence, Run, StudyId, Task, generator
from hati.knowledge import Variation
from hati.studies.screening import AnyChoice, Outlook, Pilot, choose_design, is_checked, outlook, promised, screening
from hati.studies.screening.promises import corrected_promise
from hati.testing import FakeEngine

PLACE = space(10)


def study(choice: AnyChoice):
    key = StudyId.of("screening", {"options": list(PLACE.names)}, 1, "fake")
    return screening(
        study=key, subject="s", benchmark=BENCHMARK, metric=LATENCY, revision="1", space=PLACE, choice=choice
    )


def value(interactions: float, noise: float, seed: int):
    """Two main effects, and an interaction of every pair of options."""
    rng = np.random.default_rng(seed)
    pairs = rng.normal(0.0, interactions, (10, 10))

    def of(task: Task) -> dict[str, list[float]]:
        signs = np.array([1.0 if task.configuration[name] else -1.0 for name in PLACE.names])
        log = 0.1 * signs[0] - 0.1 * signs[1] + float(signs @ np.triu(pairs, 1) @ signs)
        return {"latency": [math.exp(log + noise * float(generator(seed, task.id).standard_normal()))]}

    return of


@pytest.fixture(scope="module")
def choice() -> AnyChoice:
    return choose_design(PLACE, 64, generator(1, "design"))


def runs(choice: AnyChoice, interactions: float, noise: float, seed: int) -> tuple[Run, ...]:
    return tuple(FakeEngine(value(interactions, noise, seed)).run(study(choice).tasks))


@pytest.mark.acceptance
def test_an_outlook_after_half_of_the_runs_is_near_that_after_all(choice: AnyChoice) -> None:
    ratios = []
    for seed in range(1, 11):
        every = runs(choice, 0.02, 0.01, seed)
        half, whole = (outlook(study(choice), every[:size]) for size in (32, len(every)))
        assert half is not None
        assert whole is not None
        ratios.append(half.detectable / whole.detectable)
    assert np.median(ratios) == pytest.approx(1.0, abs=0.3)
    assert outlook(study(choice), every[:8]) is None


def test_the_promise_of_noise_alone_is_missed_and_that_is_said_early(choice: AnyChoice) -> None:
    every = runs(choice, 0.04, 0.005, 3)
    before = promised(choice, Variation(0.0, 0.005**2))
    found = outlook(study(choice), every[:32])
    assert before is not None
    assert found is not None
    assert found.misses(before)
    assert "after 32 of " in corrected_promise(found, before)
    assert "it may miss effects of" in corrected_promise(found, before)
    assert corrected_promise(found, found.detectable) == ""


def test_that_more_is_found_than_promised_is_said_too() -> None:
    found = Outlook(32, 64, 0.05, 0.02)
    assert corrected_promise(found, 0.4).startswith("after 32 of 64 runs: it will find effects of about 5 %")
    assert corrected_promise(found, 0.4).endswith("not only of 40 %")
    assert corrected_promise(found, 0.06) == ""


def one_pair(deviation: float, seed: int):
    """Two options that act together alone."""

    def of(task: Task) -> dict[str, list[float]]:
        both = task.configuration["a"] and task.configuration["b"]
        noise = deviation * float(generator(seed, task.id).standard_normal())
        return {"latency": [math.exp((0.5 if both else 0.0) + noise)]}

    return of


def test_a_promise_counts_the_interactions_that_the_runs_show_as_found(choice: AnyChoice) -> None:
    every = tuple(FakeEngine(one_pair(0.01, 3)).run(study(choice).tasks))
    found = outlook(study(choice), every[:48])
    assert found is not None
    assert found.deviation == pytest.approx(0.01, rel=0.5)
    assert found.detectable < 0.03


@pytest.mark.acceptance
def test_it_expects_smaller_standard_errors_of_the_runs_that_are_to_come(choice: AnyChoice) -> None:
    ratios = []
    for seed in range(1, 11):
        every = tuple(FakeEngine(one_pair(0.05, seed)).run(study(choice).tasks))
        early, late = (outlook(study(choice), every[:size]) for size in (48, len(every)))
        assert early is not None
        assert late is not None
        ratios.append(early.detectable / late.detectable)
    assert np.median(ratios) == pytest.approx(1.0, abs=0.15)


def test_a_pilot_promises_by_the_variation_between_configurations() -> None:
    pilot = Pilot(StudyId.of("screening", {}, 1, "fake"), BENCHMARK, LATENCY, "1", PLACE)
    found = pilot.conclude(Evidence(tuple(FakeEngine(value(0.04, 0.005, 3)).run(pilot.tasks))))
    assert found.spread is not None
    assert found.variation is not None
    assert found.variation.interactions > found.variation.noise


def test_it_is_checked_three_times() -> None:
    assert [runs for runs in range(64) if is_checked(runs, 64)] == [16, 32, 48]
    assert Outlook(16, 64, 0.2, 0.1).misses(0.1)
    assert not Outlook(16, 64, 0.2, 0.1).misses(0.15)
