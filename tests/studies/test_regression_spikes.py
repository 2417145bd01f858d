"""Spikes that several runs confirm, beside real steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from hati.core import FloatArray, Metric, replace
from hati.studies.regression import Series, history, run_errors


def series(levels: FloatArray, runs: int, seed: int) -> Series:
    values = levels[:, None] + np.random.default_rng(seed).normal(size=(len(levels), runs))
    means = values.mean(axis=1)
    errors, freedom = run_errors([[own.tolist()] for own in values], means)
    return Series(
        name="",
        metric=Metric("latency", "ms"),
        positions=tuple(f"r{place}" for place in range(len(levels))),
        values=means,
        machines=np.zeros(len(levels), dtype=np.intp),
        runs=np.full(len(levels), runs),
        errors=errors,
        freedom=freedom,
    )


def stepped(size: int, step: int, spikes: Sequence[int]) -> FloatArray:
    levels = np.where(np.arange(size) >= step, 110.0, 100.0)
    levels[list(spikes)] = 150.0
    return levels


@pytest.mark.parametrize("spike", [23, 24, 25, 26, 27])
def test_a_spike_beside_a_step_leaves_the_step(spike: int) -> None:
    found = history(series(stepped(50, 25, [spike]), 6, 1))
    before, after = (100.0 if place < 25 else 110.0 for place in (spike - 1, spike + 1))
    levels = {change.index: (change.before, change.after) for change in found.change_points}
    assert set(levels) == {spike, spike + 1, *({25} if spike not in {24, 25} else ())}
    assert levels[spike] == pytest.approx((before, 150.0), abs=1.5)
    assert levels[spike + 1] == pytest.approx((150.0, after), abs=1.5)
    if 25 not in {spike, spike + 1}:
        assert levels[25] == pytest.approx((100.0, 110.0), abs=1.5)


@pytest.mark.parametrize("spike", [4, 5])
def test_so_does_one_of_a_short_series(spike: int) -> None:
    found = history(series(stepped(10, 5, [spike]), 6, 2))
    assert [change.index for change in found.change_points] == [spike, spike + 1]
    assert found.change_points[0].before == pytest.approx(100.0, abs=1.5)
    assert found.change_points[1].after == pytest.approx(110.0, abs=1.5)


def test_neighbours_on_both_sides_of_a_level_are_two_spikes() -> None:
    levels = np.full(40, 100.0)
    levels[[20, 21]] = [150.0, 60.0]
    found = history(series(levels, 6, 3))
    assert [(change.index, round(change.after, -1)) for change in found.change_points] == [
        (20, 150.0),
        (21, 60.0),
        (22, 100.0),
    ]


def test_a_tick_is_no_spike() -> None:
    rounded = series(np.where(np.arange(40) == 20, 100.6, 100.0), 3, 4)
    runs = np.full((40, 3), 100.0)
    runs[20, :2] = 101.0
    means = runs.mean(axis=1)
    errors, _ = run_errors([[own.tolist()] for own in runs], means)
    assert history(replace(rounded, values=means, errors=errors)).change_points == ()
