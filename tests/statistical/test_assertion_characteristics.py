"""How often formulas are decided falsely, and how soon rightly, when they are looked at after every round.

Whole campaigns of the real study, by a fake engine, as ``python -m benchmarks.formulas`` simulates them. Thresholds:
with the truth at the margin HOLDS and VIOLATED are each given no more often than alpha, of one formula of any kind or
of any of several, and of a relation of two methods and one beside a limit whatever runs vary like; 2 % from the margin
95 % are judged rightly, within 13 rounds on average. Campaigns at the margin end when the rate is clear: a procedure
that keeps alpha = 5 % is refused in 1 %, one that errs in 15 % in 95 %.
"""

from __future__ import annotations

from functools import cache

import pytest
from benchmarks.formulas import ALPHA, AT_THE_MARGIN, NORMAL, costs, verdicts
from benchmarks.interpretations import SHAPES
from benchmarks.sequential import keeps

from hati.logic.interpret import FormulaVerdict

pytestmark = [pytest.mark.statistical, pytest.mark.acceptance]

CAMPAIGNS = 50
SEEDS = range(1_000, 1_300)


def check_errors(name: str, shape: str = NORMAL) -> None:
    """Both verdicts are rare enough at the margin."""
    judged = cache(lambda seed: verdicts(*AT_THE_MARGIN[name], seed, shape))
    for verdict in (FormulaVerdict.HOLDS, FormulaVerdict.VIOLATED):
        found = keeps((verdict in judged(seed) for seed in SEEDS), ALPHA, 0.15)
        assert found.held, (verdict, found)


@pytest.mark.parametrize("name", AT_THE_MARGIN)
def test_at_its_margin_a_formula_is_decided_falsely_at_most_at_the_level(name: str) -> None:
    check_errors(name)


@pytest.mark.parametrize("name", ["a <= b", "a <= 1 s strictly"])
@pytest.mark.parametrize("shape", [name for name in SHAPES if name != "normal"])
def test_whatever_runs_vary_like(shape: str, name: str) -> None:
    check_errors(name, shape)


@pytest.mark.parametrize(("ratio", "verdict"), [(1.0, FormulaVerdict.HOLDS), (1.04, FormulaVerdict.VIOLATED)])
def test_away_from_it_few_rounds_decide(ratio: float, verdict: FormulaVerdict) -> None:
    rates, rounds = costs(ratio, CAMPAIGNS)
    assert rates[verdict] >= 0.95 * CAMPAIGNS
    assert rounds <= 13.0
