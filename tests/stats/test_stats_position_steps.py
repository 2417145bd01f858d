"""Positions compared with each other: coarse values, unequal numbers of runs, and nothing but zeros."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hati.core import FloatArray
from hati.stats import (
    Positions,
    group_variances,
    pooled_variance,
    position_steps,
    resolution,
    satterthwaite,
    spread_between,
)
from hati.stats.variances import spread_over_ticks


def test_the_resolution_is_the_smallest_difference_between_values() -> None:
    assert resolution(np.array([3.0, 5.0, 3.0, 5.5, 9.0])) == 0.5
    assert resolution(np.array([0.3, 0.1 + 0.2, 0.3])) == 0.0
    assert resolution(np.zeros(4)) == 0.0


def test_the_median_of_grouped_distances_is_within_its_class() -> None:
    spread = spread_over_ticks(np.array([0.0, 0.0, 0.0, 2.0, 2.0, 4.0]), 2.0)
    assert spread == pytest.approx([1 / 6, 3 / 6, 5 / 6, 1.5, 2.5, 4.0])
    continuous = np.random.default_rng(1).normal(size=99) ** 2
    assert np.median(spread_over_ticks(continuous, resolution(continuous))) == pytest.approx(
        np.median(continuous), rel=1e-3
    )


@pytest.mark.parametrize("deviation", [0.25, 0.4, 1.0, 4.0])
def test_the_spread_of_rounded_values_is_theirs(deviation: float) -> None:
    rounded = np.round(0.2 + deviation * np.random.default_rng(2).normal(size=4000))
    assert spread_between([rounded], 1.0) == pytest.approx(np.std(rounded), rel=0.15)


def test_values_that_stay_have_no_noise() -> None:
    assert spread_between([np.repeat([3.0, 4.0, 3.0], 3)], 1.0) == 0.0
    assert spread_between([np.array([3.0, 3.0, 4.0, 3.0, 3.0, 3.0])], 1.0) > 0.2


@pytest.mark.filterwarnings("error")
def test_nothing_but_zeros_has_no_step() -> None:
    zeros: FloatArray = np.zeros(6)
    found = position_steps(Positions(zeros, zeros, 5.0, np.ones(6, dtype=np.bool_)), 0.05)
    assert found.steps == ()
    stepped = position_steps(Positions(np.array([0.0, 0.0, 1.0]), zeros[:3], 5.0, np.ones(3, dtype=np.bool_)), 0.05)
    assert [step.index for step in stepped.steps] == [2]


@pytest.mark.parametrize(("size", "steps"), [(7, [1, 2, 3, 4, 5, 6]), (8, [])])
def test_so_few_positions_show_steps_and_no_line(size: int, steps: list[int]) -> None:
    rising = 100.0 + 10.0 * np.arange(size)
    found = position_steps(Positions(rising, np.full(size, 0.2), 100.0, np.ones(size, dtype=np.bool_)), 0.05)
    assert [step.index for step in found.steps] == steps
    assert (found.slope != 0.0) == (not steps)


def test_variances_are_pooled_by_their_degrees_of_freedom() -> None:
    groups = [np.array([1.0, 3.0]), np.array([0.0, 4.0, 8.0, 4.0]), np.array([7.0])]
    found = pooled_variance(groups)
    assert found == pytest.approx(((1 * np.var(groups[0], ddof=1) + 3 * np.var(groups[1], ddof=1)) / 4, 4.0))
    assert pooled_variance([np.array([1.0])]) == (0.0, 0.0)


def test_few_runs_that_were_rounded_alike_may_vary_by_rounding() -> None:
    assert pooled_variance([np.full(2, 3.0), np.full(2, 4.0)]) == pytest.approx((1.0 / 12.0, 2.0))
    assert pooled_variance([np.full(5, 3.0), np.full(5, 4.0)]) == (0.0, 8.0)


def test_a_run_far_off_the_others_of_its_position_is_that_positions_variance() -> None:
    groups = [np.array([-1.0, 0.0, 1.0])] * 9 + [np.array([0.0, 0.0, 30.0]), np.array([5.0])]
    pooled = pooled_variance(groups)
    found = group_variances(groups, pooled)
    assert found[9] == pytest.approx(300.0)
    assert np.delete(found, 9) == pytest.approx(np.full(10, pooled.variance))


def test_degrees_of_freedom_of_a_sum_are_welchs() -> None:
    first, second = np.array([1.0, 2.0, 4.0]), np.array([10.0, 50.0, 90.0, 20.0])
    parts = np.array([[np.var(own, ddof=1) / len(own) for own in (first, second)]])
    welch = stats.ttest_ind(first, second, equal_var=False)
    assert satterthwaite(parts, np.array([2.0, 3.0])) == pytest.approx(welch.df)
    assert satterthwaite(np.zeros((2, 2)), np.array([2.0, 3.0])) == pytest.approx(4.8)
    assert satterthwaite(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([2.0, 3.0])) == 2.0
