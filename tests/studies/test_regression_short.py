"""Short series: several machines, and values with ticks."""

from __future__ import annotations

import numpy as np
import pytest

from hati.core import FloatArray, Metric
from hati.stats import Dependence
from hati.stats.linear_models import Index
from hati.studies.regression import Series, histories, history, run_errors

TICKS = 60


def series(values: FloatArray, machines: Index, dependence: Dependence = Dependence.ESTIMATED) -> Series:
    """Of runs of positions, shape (positions, runs)."""
    means = values.mean(axis=1)
    errors, freedom = run_errors([[own.tolist()] for own in values], means)
    size, runs = values.shape
    positions = tuple(f"r{place}" for place in range(size))
    metric = Metric("latency", "ms")
    return Series(
        "", metric, positions, means, machines, np.full(size, runs), dependence, errors=errors, freedom=freedom
    )


def noisy(levels: FloatArray, runs: int, seed: int) -> FloatArray:
    return np.asarray(levels[:, None] + np.random.default_rng(seed).normal(size=(len(levels), runs)))


def test_one_run_on_another_machine_leaves_the_rest() -> None:
    levels = np.where(np.arange(10) >= 5, 150.0, 100.0)
    levels[8] = 300.0
    found = history(series(noisy(levels, 6, 1), np.asarray(np.arange(10) == 8, dtype=np.intp)))
    assert [(change.index, round(change.after, -1)) for change in found.change_points] == [(5, 150.0)]
    assert any("machines with too few of them: 1" in text for text in found.assumptions)


def test_what_machines_agree_on_is_one_step() -> None:
    places = np.arange(20)
    machines = np.asarray(places % 2, dtype=np.intp)
    found = history(series(noisy(np.where(places >= 10, 110.0, 100.0) + 50.0 * machines, 3, 2), machines))
    [change] = found.change_points
    assert change.index == 10
    assert change.indexes[0] <= 10 <= change.indexes[1]
    assert change.change == pytest.approx(10.0, abs=2.0)


def test_a_step_on_one_of_two_machines_is_found_there() -> None:
    places = np.arange(20)
    machines = np.asarray(places % 2, dtype=np.intp)
    levels = np.where((places >= 10) & (machines == 1), 130.0, 100.0)
    [change] = history(series(noisy(levels, 3, 3), machines)).change_points
    assert (change.index, change.previous) == (11, "r10")


def test_machines_that_follow_each_other_are_no_step() -> None:
    machines = np.asarray(np.arange(12) >= 6, dtype=np.intp)
    assert history(series(noisy(np.where(machines > 0, 150.0, 100.0), 6, 4), machines)).change_points == ()


def test_machines_with_a_position_each_have_nothing_to_compare() -> None:
    found = history(series(noisy(np.full(3, 100.0), 6, 5), np.arange(3)))
    assert found.change_points == ()
    assert found.detectable is None


@pytest.mark.parametrize("deviation", [0.3, 0.5, 0.7])
def test_ticks_are_no_steps(deviation: float) -> None:
    rng = np.random.default_rng(6)
    values = np.round(1000.0 + deviation * rng.normal(size=(TICKS, 12, 1)))
    found = [histories((series(own, np.zeros(12, dtype=np.intp)),))[0] for own in values]
    assert sum(bool(one.change_points) for one in found) <= 6  # 95 % of binomial variables of 5 %


def test_a_step_without_noise_is_found() -> None:
    machines = np.zeros(10, dtype=np.intp)
    values = np.where(np.arange(10) >= 5, 105.0, 100.0)[:, None]
    [change] = history(series(values, machines)).change_points
    assert change.index == 5
    spike = np.where(np.arange(10) == 5, 105.0, 100.0)[:, None].repeat(3, axis=1)
    assert [change.index for change in history(series(spike, machines)).change_points] == [5, 6]


def test_two_positions_of_few_runs_rounded_alike_are_not_sure() -> None:
    machines = np.zeros(2, dtype=np.intp)
    values = np.array([[100.0, 100.0], [101.0, 101.0]])
    assert history(series(values, machines, Dependence.INDEPENDENT)).change_points == ()
