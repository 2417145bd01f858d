"""What the noise of earlier samples is worth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special

from hati.core import FloatArray
from hati.stats import difference, earlier_variances, variance_prior
from hati.stats.samples.variances import LEAST_CHANGE

ALPHA = 0.01


def test_of_few_samples_the_worth_is_that_of_the_least_change() -> None:
    today = np.array([1.0, 2.0]), np.array([2.0, 0.0])
    found, worth = earlier_variances(*today, np.array([3.0, 0.0]), np.array([9.0, 0.0]))
    wanted = special.polygamma(1, 4.5) + LEAST_CHANGE
    expected = optimize.brentq(lambda df: special.polygamma(1, df / 2) - wanted, 0.1, 50)
    bias = [np.log(own / 2) - special.digamma(own / 2) for own in (9.0, expected)]
    assert found == pytest.approx([3.0 * np.exp(bias[0] - bias[1]), 0.0], rel=1e-6)
    assert worth == pytest.approx([expected, 0.0], rel=1e-6)


def test_a_common_rise_is_seen_and_added() -> None:
    rng = np.random.default_rng(4)
    true = np.exp(rng.standard_normal(400))
    today, before = (true * factor * rng.chisquare(8, 400) / 8 for factor in (3.0, 1.0))
    df = np.full(400, 8.0)
    (same, _), (risen, _), (fallen, _) = (
        earlier_variances(first, df, second, df) for first, second in ((today, today), (today, before), (before, today))
    )
    assert np.median(risen / same) == pytest.approx(1.0, rel=0.15)
    assert fallen.tolist() == same.tolist()


def test_the_more_variances_change_the_less_the_earlier_are_worth() -> None:
    rng = np.random.default_rng(5)
    df, before = np.full(200, 8.0), rng.chisquare(8, 200) / 8
    worth = [
        earlier_variances(np.exp(spread * rng.standard_normal(200)) * rng.chisquare(8, 200) / 8, df, before, df)[1][0]
        for spread in (0.3, 1.0, 2.0)
    ]
    assert worth[0] > worth[1] > worth[2] > 0.0


def told(rng: np.random.Generator, benchmarks: int, runs: int, changed: float = 0.0, added: float = 0.0) -> FloatArray:
    """Shares of comparisons that tell a change, with a history of ten runs and without.

    Standard deviations differ between benchmarks by a factor of 1.65; the history had half the variance in a share of
    the benchmarks.
    """
    deviations = 0.02 * np.exp(0.5 * rng.standard_normal(benchmarks))
    sides = deviations[:, None, None] * rng.standard_normal((benchmarks, 2, runs)) + added * np.array([[[0.0], [1.0]]])
    before = deviations * np.where(rng.random(benchmarks) < changed, 0.5**0.5, 1.0)
    earlier = np.var(before[:, None] * rng.standard_normal((benchmarks, 10)), axis=1, ddof=1)
    alone = [difference(*pair) for pair in sides]
    own, df = np.array([one.variance for one in alone]), np.array([one.own for one in alone])
    found = earlier_variances(own, df, earlier, np.full(benchmarks, 9.0))
    both = [one.remembering(float(v), float(w)) for one, v, w in zip(alone, *found, strict=True)]
    shares = []
    for differences in (both, alone):
        prior = variance_prior(np.array([d.variance for d in differences]), np.array([d.df for d in differences]))
        shares.append(np.mean([d.borrowing(prior, i).p_value <= ALPHA for i, d in enumerate(differences)]))
    return np.array(shares)


@pytest.mark.statistical
@pytest.mark.parametrize(("benchmarks", "campaigns"), [(4, 250), (40, 25)])
@pytest.mark.parametrize("runs", [2, 3])
def test_false_alarms_where_a_history_was_quieter_in_some(benchmarks: int, campaigns: int, runs: int) -> None:
    """Half the variance in a quarter of the benchmarks; the 99 % binomial bound."""
    rng = np.random.default_rng(7)
    rate = np.mean([told(rng, benchmarks, runs, changed=0.25)[0] for _ in range(campaigns)])
    number = benchmarks * campaigns
    assert rate <= ALPHA + 2.33 * (ALPHA * (1.0 - ALPHA) / number) ** 0.5


@pytest.mark.statistical
@pytest.mark.parametrize(("runs", "least"), [(2, 20.0), (3, 8.0)])
def test_a_history_gives_power_where_runs_are_few(runs: int, least: float) -> None:
    """In points of power for a change of three standard deviations, in sets of four benchmarks."""
    rng = np.random.default_rng(8)
    with_history, without = np.mean([told(rng, 4, runs, added=0.06) for _ in range(100)], axis=0)
    assert 100.0 * (with_history - without) >= least
