"""Error rates of interpretations, as ``python -m benchmarks.interpretations`` simulates them.

Thresholds: the printed interpretations within the 99 % binomial bounds of the rates that independent simulations gave
(Welch .87, Definition 4.8 .142, .050 and .031 with 2, 5 and 10 runs); what the default is wrong in no more than the
99 % bound of its nominal level; where effects have two modes, half of them each, of 2.25 %: t tells so many apart with
ten runs (60,000 trials), as short tails make it do.
"""

from __future__ import annotations

from itertools import islice

import pytest
from benchmarks.interpretations import (
    ALPHA,
    MARGIN,
    SHAPES,
    decided_early,
    default_verdicts,
    early,
    most_within,
    rejected_by_printed,
    three_valued,
)
from benchmarks.sequential import keeps
from scipy import stats

from hati.logic.interpret import FormulaVerdict

pytestmark = [pytest.mark.statistical, pytest.mark.acceptance]

TRIALS = 1_500
CAMPAIGNS = 100
OF_TWO_MODES = 0.0225


@pytest.mark.parametrize(
    ("name", "runs", "rate"),
    [("welch", 5, 0.87), ("parametric", 2, 0.142), ("parametric", 5, 0.050), ("parametric", 10, 0.031)],
)
def test_printed_interpretations_err_as_they_do(name: str, runs: int, rate: float) -> None:
    found = rejected_by_printed(name, runs, TRIALS, seed=7)
    low, high = stats.binom.ppf([0.005, 0.995], TRIALS, rate)
    assert low <= found * TRIALS <= high


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("runs", "history"), [(5, 0), (10, 0), (2, 10), (2, 30), (5, 30), (1, 130)])
def test_the_default_keeps_its_level(shape: str, runs: int, history: int) -> None:
    found = default_verdicts(SHAPES[shape], runs, TRIALS, history=history, seed=7)
    level = OF_TWO_MODES if shape == "bimodal (half and half)" else 2.0 * ALPHA
    assert found["either"] * TRIALS <= most_within(TRIALS, level)


@pytest.mark.parametrize("shape", ["normal", "heavy-tailed (t, 3 df)", "skewed (exponential)"])
@pytest.mark.parametrize(("runs", "history"), [(2, 10), (5, 100)])
def test_at_smaller_levels_it_keeps_them_too(shape: str, runs: int, history: int) -> None:
    """Two runs show nothing there: with a history of ten .5 % of exponential means would be told apart."""
    found = default_verdicts(SHAPES[shape], runs, 2 * TRIALS, history=history, alpha=0.1 * ALPHA, seed=7)
    assert found["either"] * 2 * TRIALS <= most_within(2 * TRIALS, 0.2 * ALPHA)


def test_a_history_finds_with_two_runs_what_takes_six_without() -> None:
    assert default_verdicts(SHAPES["normal"], 2, TRIALS, history=30, ratio=1.03, seed=7)["VIOLATED"] >= 0.55
    assert default_verdicts(SHAPES["normal"], 5, TRIALS, ratio=1.03, seed=7)["VIOLATED"] >= 0.85


@pytest.mark.parametrize("runs", [5, 20])
def test_at_the_margin_each_verdict_is_rare(runs: int) -> None:
    found = three_valued(runs, 1.0 + MARGIN, TRIALS, seed=7)
    assert max(found["HOLDS"], found["VIOLATED"]) * TRIALS <= most_within(TRIALS, ALPHA)


@pytest.mark.parametrize("shape", SHAPES)
def test_at_the_margin_with_early_stopping_too(shape: str) -> None:
    """At 1 %: a procedure that errs in 4 % is found in 95 %."""
    for verdict in (FormulaVerdict.HOLDS, FormulaVerdict.VIOLATED):
        campaigns = islice(decided_early(SHAPES[shape], 1.0 + MARGIN, 7), 600)
        found = keeps((each is verdict for each, _ in campaigns), ALPHA, 0.04)
        assert found.held, (verdict, found)


def test_early_stopping_saves_runs_away_from_the_margin() -> None:
    for ratio, verdict in ((0.98, "HOLDS"), (1.06, "VIOLATED")):
        found, pairs = early(SHAPES["normal"], ratio, CAMPAIGNS, seed=7)
        assert found[verdict] == 1.0
        assert pairs <= 10.0
