"""How often a history alarms where nothing changes, and finds what does; ``python -m benchmarks.histories`` has 400."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.histories import CHANGED, QUIET, replicates, right, within

from hati.stats import Positions, pooled_variance, position_steps, satterthwaite

SERIES = 100

pytestmark = [pytest.mark.statistical, pytest.mark.acceptance]

HARDEST = (
    "AR(1) .9 + white noise",
    "two states, 10 values each",
    "season of 50, +-3 %",
    "drift of 10 %",
    "50 positions x 6 runs at 1 %, positions 3 %",
    "10 positions x 1 run, ticks of 2 sd",
    "20 positions x 1 run, ticks of 2 sd",
    "50 positions x 3 runs, ticks of 4 sd",
    "20 positions x 3 runs at 1 %, two machines in turns",
    "20 positions x 3 runs at 1 %, interleaved, one run in 50 at 50 %",
    "20 positions x 1 to 8 runs, positions 1 %",
    "step of 3 % at 60",
    "50 % at 5 of 10 x 1 run at 2 %",
    "50 % at 25 alone of 50 x 6, positions 3 %",
    "10 % at 25, 50 % at 24 of 50 x 6 at 1 %",
    "10 % at 25, 50 % at 25 of 50 x 6 at 1 %",
    "50 % at 5 of 10 x 6, one on another machine",
    "10 % at 10 of 20 x 3, two machines in turns",
    "10 % at 10 of 20 x 1 to 8 at 1 %",
)


@pytest.mark.parametrize("name", HARDEST)
def test_goals_of_histories(name: str) -> None:
    """What is counted is within the goal: the rates are far from it, so that no allowance for chance is needed."""
    [world] = [each for each in (*QUIET, *CHANGED) if each.name == name]
    assert within(world, sum(right(world, found) for found in replicates(world, SERIES)), SERIES)


@pytest.mark.parametrize("loudest", [1.0, 10.0])
def test_cells_that_vary_unequally_show_no_step(loudest: float) -> None:
    """Two interleaved positions of three runs of eight cells, one of which varies so many times as much."""
    rng = np.random.default_rng(1)
    deviations = np.array([loudest, *[1.0] * 7])
    false = 0
    for _ in range(1000):
        runs = deviations[:, None, None] * rng.normal(size=(8, 2, 3))
        found = np.array([pooled_variance(list(cell)) for cell in runs])
        parts = np.repeat(found[None, :, 0] / 3.0 / 64.0, 2, axis=0)
        errors = np.sqrt(parts.sum(axis=1))
        freedom = satterthwaite(parts, found[:, 1])
        positions = Positions(runs.mean(axis=(0, 2)), errors, freedom, np.ones(2, dtype=np.bool_))
        false += bool(position_steps(positions, 0.05).steps)
    assert false <= 67  # 99 % of binomial variables of 1,000 at 5 %
