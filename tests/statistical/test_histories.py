"""How often a history alarms where nothing changes, and finds what does; ``python -m benchmarks.histories`` has 400."""

from __future__ import annotations

import pytest
from benchmarks.histories import CHANGED, QUIET, held, replicates, right

SERIES = 40

pytestmark = [pytest.mark.statistical, pytest.mark.acceptance]

HARDEST = (
    "AR(1) .9 + white noise",
    "two states, 10 values each",
    "season of 50, +-3 %",
    "drift of 10 %",
    "50 positions x 6 runs at 1 %, positions 3 %",
    "step of 3 % at 60",
    "50 % at 5 of 10 x 1 run at 2 %",
)


@pytest.mark.parametrize("name", HARDEST)
def test_goals_of_histories(name: str) -> None:
    [world] = [each for each in (*QUIET, *CHANGED) if each.name == name]
    assert held(world, sum(right(world, found) for found in replicates(world, SERIES)), SERIES)
