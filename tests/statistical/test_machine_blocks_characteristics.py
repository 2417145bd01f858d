"""Two machines, one of which is 30 % slower, in the part of ``python -m benchmarks.machines`` that is quick.

Small designs on three machines, of ``python -m benchmarks.small_designs``, meet the goals of that table.

Thresholds: the mean power at most five points below that on one machine; alarms at most the 99 % binomial bound of the
nominal level.
"""

from __future__ import annotations

import pytest
from benchmarks.machines import EFFECTS, OTHER_EFFECT, PLANS, POINTS, Machines, ScreeningPlan, made, most_alarms
from benchmarks.small_designs import DESIGNS, Counts, SmallDesign

pytestmark = [pytest.mark.statistical, pytest.mark.acceptance]

STUDIES = 200
"""`python -m benchmarks.machines` simulates 400."""

FRACTIONS = PLANS[1:]


@pytest.mark.parametrize("plan", FRACTIONS, ids=lambda plan: plan.name)
def test_two_machines_in_blocks_find_what_one_finds(plan: ScreeningPlan) -> None:
    one, two = (made(plan, machines, EFFECTS, STUDIES) for machines in (Machines.ONE, Machines.BLOCKS))
    assert two.mean_power >= one.mean_power - POINTS
    assert two.refuted <= most_alarms(STUDIES)
    assert abs(two.offset - 0.3) <= 0.01
    assert made(plan, Machines.BLOCKS, {}, STUDIES).any_effect <= most_alarms(STUDIES)


@pytest.mark.parametrize("plan", FRACTIONS, ids=lambda plan: plan.name)
def test_runs_on_machines_that_are_ignored_find_much_less(plan: ScreeningPlan) -> None:
    one = made(plan, Machines.ONE, EFFECTS, STUDIES // 4)
    drawn = made(plan, Machines.DRAWN, EFFECTS, STUDIES // 4)
    assert drawn.mean_power <= one.mean_power / 3


def test_an_option_that_acts_on_one_machine_is_named_more_often_than_by_chance() -> None:
    found = made(FRACTIONS[0], Machines.BLOCKS, EFFECTS, 2 * STUDIES, OTHER_EFFECT).found
    named = sum(each.machine_blocks is not None and "h" in each.machine_blocks.differing for each in found)
    assert named > most_alarms(2 * STUDIES)


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_small_designs_whose_machine_is_drawn_for_each_run_find_the_effect(design: SmallDesign) -> None:
    assert Counts.of(design, STUDIES).held(STUDIES)
