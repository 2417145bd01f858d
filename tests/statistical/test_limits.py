"""Absolute limits, as ``python -m benchmarks.limits`` simulates them.

Thresholds: with the truth on the limit HOLDS and VIOLATED are each told of no more than the 99 % binomial bound of
alpha, 1 % and .1 %, looked at after every run or not, for runs that are normal, heavy-tailed, of two modes, of gamma
distributions and exponential; looked at after every run, for those of log-normal ones of .25 and .5, too. Fewer runs
than 13 tell nothing, whatever their history is. A limit that is three deviations away is decided in nine of ten
campaigns of at most 16 runs, and one that is one deviation away in half of those of at most 28.
"""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.interpretations import most_within, of_means
from benchmarks.limits import ASSUMED, BETWEEN, BEYOND, LEVELS, RUNS, at_the_limit, ended, of_fixed_size

from hati.core import FloatArray
from hati.formula import Comparator
from hati.logic.interpret import AskedRelation, FormulaVerdict, Limit, decide

pytestmark = [pytest.mark.statistical, pytest.mark.acceptance]

SAMPLES = 4_000


@pytest.mark.parametrize(
    ("shape", "campaigns"),
    [*((name, 1_000) for name in ASSUMED), ("log-normal, .25", 1_000), ("log-normal, .5", 8_000)],
)
def test_on_the_limit_each_verdict_is_rare_whenever_one_stops(shape: str, campaigns: int) -> None:
    """Whichever way the tail is: VIOLATED is what HOLDS is of the same runs with the other sign.

    Many of the shape that errs most where the null hypothesis is normal or exponential, and nothing between.
    """
    found = at_the_limit({**ASSUMED, **BEYOND}[shape], campaigns, seed=7)
    for alpha in LEVELS:
        assert max(found[alpha][FormulaVerdict.HOLDS], found[alpha][FormulaVerdict.VIOLATED]) <= most_within(
            campaigns, alpha
        )


@pytest.mark.parametrize(("runs", "alpha"), [(7, 0.01), (13, 0.01), (18, 0.01), (20, 0.001)])
@pytest.mark.parametrize("shape", ASSUMED)
def test_on_the_limit_with_a_number_of_runs_that_was_given(shape: str, runs: int, alpha: float) -> None:
    found = of_fixed_size(ASSUMED[shape], runs, SAMPLES, alpha)
    assert max(found[FormulaVerdict.HOLDS], found[FormulaVerdict.VIOLATED]) <= most_within(SAMPLES, alpha)
    if runs < 13:
        assert found[FormulaVerdict.INCONCLUSIVE] == SAMPLES


@pytest.mark.parametrize("earlier", [10, 20, 30, 130])
@pytest.mark.parametrize("runs", [2, 10, 13])
def test_a_history_makes_no_verdict_beside_a_limit(earlier: int, runs: int) -> None:
    rng = np.random.default_rng(earlier)
    for _ in range(100):
        history, means = (1.0 + BETWEEN * ASSUMED["skewed (exponential)"](rng, number) for number in (earlier, runs))
        verdicts = [_verdict(means, each, limit) for each in (history, None) for limit in (1.0, 1.05)]
        assert verdicts[:2] == verdicts[2:]
        assert verdicts[0] is FormulaVerdict.INCONCLUSIVE or runs >= 13


def _verdict(means: FloatArray, history: FloatArray | None, limit: float) -> FormulaVerdict:
    side = of_means(means, history)
    return decide(side, Limit(limit), AskedRelation(Comparator.AT_MOST), np.random.default_rng(1)).verdict


@pytest.mark.parametrize(("away", "runs", "share"), [(3.0, 16, 0.9), (1.0, 28, 0.5)])
def test_what_is_below_the_limit_is_found_to_be(away: float, runs: int, share: float) -> None:
    rng = np.random.default_rng(7)
    ends = [ended(1.0 + BETWEEN * rng.standard_normal(RUNS), 1.0 + BETWEEN * away, 0.01) for _ in range(300)]
    assert sum(told and size <= runs for size, told in ends) >= 300 * share
