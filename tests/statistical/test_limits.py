"""Absolute limits, as ``python -m benchmarks.limits`` simulates them.

Thresholds: with the truth on the limit HOLDS and VIOLATED are each told of no more than the 99 % binomial bound of
alpha, looked at after every run or not, for runs that are normal, heavy-tailed, half-and-half bimodal and exponential,
whichever way the tail is; of two modes of 70 and 30 % too, looked at after every run, and of twice alpha in five, ten
or twenty runs, which may all be of one mode. A limit that is three deviations away is decided in nine of ten campaigns
of at most 16 runs, and one that is one deviation away in half of those of at most 24.
"""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.interpretations import SHAPES, most_within
from benchmarks.limits import BETWEEN, RUNS, SIZES, TWO_MODES, at_the_limit, ended, of_fixed_size

from hati.core import FloatArray
from hati.logic.interpret import Verdict

pytestmark = [pytest.mark.statistical, pytest.mark.acceptance]

CAMPAIGNS = 1_500


def left(name: str, rng: np.random.Generator, number: int) -> FloatArray:
    """The same run effects with the other sign."""
    return -SHAPES[name](rng, number)


@pytest.mark.parametrize("alpha", [0.01, 0.05])
@pytest.mark.parametrize("shape", SHAPES)
def test_on_the_limit_each_verdict_is_rare_whenever_one_stops(shape: str, alpha: float) -> None:
    found = at_the_limit(SHAPES[shape], CAMPAIGNS, alpha, seed=7)
    assert max(found[Verdict.HOLDS], found[Verdict.VIOLATED]) <= most_within(CAMPAIGNS, alpha)


@pytest.mark.parametrize("shape", [name for name in SHAPES if "exponential" in name or name == TWO_MODES])
def test_so_it_is_with_the_tail_on_the_other_side(shape: str) -> None:
    found = at_the_limit(lambda rng, number: left(shape, rng, number), CAMPAIGNS, 0.01, seed=7)
    assert max(found[Verdict.HOLDS], found[Verdict.VIOLATED]) <= most_within(CAMPAIGNS, 0.01)


@pytest.mark.parametrize("runs", SIZES)
@pytest.mark.parametrize("shape", SHAPES)
def test_on_the_limit_with_a_number_of_runs_that_was_given(shape: str, runs: int) -> None:
    found = of_fixed_size(SHAPES[shape], runs, CAMPAIGNS, 0.01)
    level = 0.02 if shape == TWO_MODES else 0.01
    assert max(found[Verdict.HOLDS], found[Verdict.VIOLATED]) <= most_within(CAMPAIGNS, level)


@pytest.mark.parametrize(("away", "runs", "share"), [(3.0, 16, 0.9), (1.0, 24, 0.5)])
def test_what_is_below_the_limit_is_found_to_be(away: float, runs: int, share: float) -> None:
    rng = np.random.default_rng(7)
    ends = [ended(1.0 + BETWEEN * rng.standard_normal(RUNS), 1.0 + BETWEEN * away, 0.01) for _ in range(300)]
    assert sum(told and size <= runs for size, told in ends) >= 300 * share
