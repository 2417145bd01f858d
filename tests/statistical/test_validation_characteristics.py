"""Operating characteristics of validation, over whole simulated studies of 14 options.

Thresholds: with no, one or two active interactions and effects of three standard deviations of a run, at least 90 % of
the studies end with the right model after at most 16 follow-up runs, as far as the 99 % binomial bound can tell;
the larger simulation is ``python -m benchmarks.validating``.
"""

from __future__ import annotations

import math

import pytest
from benchmarks.validating import simulate, validated

from hati.core import generator
from hati.studies.validation import ValidationOutcome

pytestmark = [pytest.mark.statistical, pytest.mark.acceptance]


@pytest.mark.parametrize(("interactions", "studies", "least"), [(0, 60, 48), (1, 40, 31), (2, 25, 19)])
def test_the_right_model_is_found_in_ninety_per_cent(interactions: int, studies: int, least: int) -> None:
    """``least`` is the 1 % quantile of the binomial distribution with 90 %."""
    found = simulate(interactions, size=3.0, studies=studies)
    assert found.right * studies >= least
    assert found.wrong * studies <= 0.1 * studies
    assert found.most_runs <= 16


def test_of_effects_that_are_said_to_be_told_three_of_four_are() -> None:
    """A main effect of 4.2 standard errors beside a large one is in the best model, or it stays undecided."""
    rng, size, missed = generator(4, "small"), 4.2 * 2.0 / math.sqrt(32), 0
    for _ in range(40):
        found = validated({(0,): 4.0, (1,): size}, rng, runs=32)
        names = {name for model in found.models for effect in model.effects for name in effect}
        missed += found.outcome is ValidationOutcome.DECIDED and "x1" not in names
    assert missed <= 16  # the 99.5 % quantile of 40 with .2 is 15


def test_three_repetitions_serve_as_well() -> None:
    found = simulate(1, size=3.0, repetitions=3, studies=20)
    assert found.right * 20 >= 14


def test_small_effects_are_rather_undecided_or_not_seen_than_costly() -> None:
    """Of half a standard deviation nothing can be said with 16 runs, and no more than these are made."""
    found = simulate(1, size=0.5, studies=20)
    assert found.right <= 0.5
    assert found.wrong <= 0.2
    assert found.most_runs <= 16
