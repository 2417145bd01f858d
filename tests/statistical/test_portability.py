"""Intervals of portability: how often they miss the truth, by simulation.

Thresholds: at a confidence of 98 % the quotient of four means is missed in no more than the 99 % binomial bound of 2 %
of trials, for runs that are normal, heavy-tailed, bimodal and exponential, alike on both machines or five times as
noisy on one, of as many runs or fewer there; where campaigns were looked at after each pair and ended when they were
decided, in 4 %: campaigns end when the rate is clear, and one of 7 % is refused in 95 %. Of machines that differ by
three standard errors half the trials show it.
"""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.interpretations import BETWEEN, SHAPES, most_within, of_means
from benchmarks.sequential import keeps

from hati.core import FloatArray, replace
from hati.formula import Comparator
from hati.logic.interpret import AskedRelation, pairs_to_decide
from hati.stats import quotient_interval
from hati.studies.assertion import CONFIDENCE, Ported

pytestmark = [pytest.mark.statistical, pytest.mark.acceptance]

TRIALS, CAMPAIGNS, PAIRS = 3_000, 1_000, 40
RATIOS = (0.8, 1.3)
"""Of the means of both methods on the two machines."""


def measured(
    shape: str, runs: int, noise: float, ratio: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    left, right = (1.0 + noise * SHAPES[shape](rng, runs) for _ in range(2))
    return ratio * left, right


def missed(first: tuple[FloatArray, FloatArray], second: tuple[FloatArray, FloatArray]) -> bool:
    found = quotient_interval((first[0], second[1]), (first[1], second[0]), CONFIDENCE)
    assert found is not None
    return not found[0] <= RATIOS[0] / RATIOS[1] <= found[1]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("runs", "noise"), [((7, 7), 1.0), ((7, 7), 5.0), ((20, 20), 1.0), ((20, 7), 5.0)])
def test_the_truth_is_missed_as_seldom_as_is_said(shape: str, runs: tuple[int, int], noise: float) -> None:
    rng = np.random.default_rng(11)
    found = 0
    for _ in range(TRIALS):
        first = measured(shape, runs[0], BETWEEN, RATIOS[0], rng)
        found += missed(first, measured(shape, runs[1], noise * BETWEEN, RATIOS[1], rng))
    assert found <= most_within(TRIALS, 1.0 - CONFIDENCE)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("away", [0.0, 0.01, 0.05])
def test_so_it_is_of_campaigns_that_ended_when_they_were_decided(shape: str, away: float) -> None:
    """On each machine the truth is that far below what the formula says."""
    rng = np.random.default_rng(12)
    misses = (missed(*(_ended(shape, ratio, away, rng) for ratio in RATIOS)) for _ in range(CAMPAIGNS))
    found = keeps(misses, 2.0 * (1.0 - CONFIDENCE), 0.07)
    assert found.held, found


def _ended(shape: str, ratio: float, away: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    left, right = measured(shape, PAIRS, BETWEEN, ratio, rng)
    asked = of_means(left / (ratio * (1.0 + away))), of_means(right)
    size = pairs_to_decide(*asked, AskedRelation(Comparator.AT_MOST))
    return left[:size], right[:size]


def test_machines_that_differ_are_told_apart() -> None:
    """The standard error of the quotient is BETWEEN * sqrt(4 / 20)."""
    rng = np.random.default_rng(13)
    found, away = 0, 1.0 + 3.0 * BETWEEN * (4 / 20) ** 0.5
    for _ in range(500):
        (m1, n1), (m2, n2) = (measured("normal", 20, BETWEEN, ratio, rng) for ratio in (away, 1.0))
        test = Ported("m <= n", (m1.mean() / n1.mean(), m2.mean() / n2.mean()), ((20, 20), (20, 20)))
        test = replace(test, quotient=quotient_interval((m1, n2), (n1, m2), CONFIDENCE))
        assert test.interval is not None
        assert test.interval[0] <= test.metric <= test.interval[1]
        found += test.interval[0] > 1.0
    assert found >= 250
