"""Variances that borrow from each other: the prior is found again, and tests keep their level and gain power.

Thresholds: of 2,000 two-sided tests at 1 % at most 33 alarms, the 99.8 % binomial bound, and 10 points more of power
than Student's with three runs on a side.

What the noise of earlier samples is worth.

One value for each configuration that was run several times, beside statsmodels' two-way model.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special
from statsmodels.formula.api import ols

from hati.core import FloatArray
from hati.stats import VariancePrior, difference, earlier_variances, unit_means, variance_prior
from hati.stats.distributions import trigamma_inverse
from hati.stats.variances import LEAST_CHANGE


def drawn(prior: float, df: float, number: int, rng: np.random.Generator, scale: float = 1.0) -> np.ndarray:
    """Sample variances whose true ones are scaled inverse chi-square."""
    true = scale * prior / rng.chisquare(prior, number)
    return true * rng.chisquare(df, number) / df


@pytest.mark.parametrize("prior", [1.5, 4.0, 20.0])
def test_the_prior_that_variances_were_drawn_from_is_found(prior: float) -> None:
    rng = np.random.default_rng(5)
    found = variance_prior(drawn(prior, 8.0, 20_000, rng, 3.0), np.full(20_000, 8.0))
    assert found.df == pytest.approx(prior, rel=0.1)
    assert found.variances[0] == pytest.approx(3.0, rel=0.05)


def test_what_variances_are_related_to_is_used() -> None:
    rng = np.random.default_rng(6)
    known = rng.standard_normal(2_000)
    variances = drawn(6.0, 8.0, 2_000, rng) * np.exp(2.0 * known)
    with_it, without = (variance_prior(variances, np.full(2_000, 8.0), related) for related in ([known], []))
    assert with_it.df == pytest.approx(6.0, rel=0.2)
    assert without.df < 2.0
    assert np.allclose(np.log(with_it.variances), 2.0 * known, atol=0.2)


def test_equal_variances_are_pooled_and_few_say_nothing() -> None:
    pooled = variance_prior(np.array([1.0, 1.1, 0.9] * 6), np.full(18, 8.0))
    assert pooled.moderated(0, 1.0, 8.0) == (pytest.approx(1.0, rel=0.2), math.inf)
    few = variance_prior(np.array([1.0, 9.0, 4.0]), np.full(3, 8.0))
    assert few.moderated(1, 9.0, 8.0) == (9.0, 8.0)
    nothing = variance_prior(np.zeros(10), np.full(10, 8.0))
    assert nothing.moderated(0, 0.0, 8.0) == (0.0, 8.0)


def test_a_sample_without_a_variance_has_that_of_the_others() -> None:
    rng = np.random.default_rng(7)
    variances, df = drawn(4.0, 8.0, 200, rng), np.full(200, 8.0)
    variances[0] = df[0] = 0.0
    found = variance_prior(variances, df)
    variance, known = found.moderated(0, 0.0, 0.0)
    assert variance == found.variances[0]
    assert known == found.df > 2.0


@pytest.mark.statistical
def test_level_and_power_with_three_runs_on_a_side() -> None:
    rng = np.random.default_rng(8)
    alarms, hits, students = 0, 0, 0
    for _ in range(20):
        deviations = np.sqrt(4.0 / rng.chisquare(4.0, 100))
        samples = rng.standard_normal((2, 100, 3)) * deviations[None, :, None]
        for shift in (0.0, 4.0):
            found = [difference(a, b + shift) for a, b in zip(*samples, strict=True)]
            prior = variance_prior(np.array([d.variance for d in found]), np.full(100, 4.0))
            told = sum(d.borrowing(prior, place).p_value <= 0.01 for place, d in enumerate(found))
            alarms, hits = (alarms + told, hits) if shift == 0.0 else (alarms, hits + told)
            students += 0 if shift == 0.0 else sum(d.p_value <= 0.01 for d in found)
    assert 7 <= alarms <= 33
    assert hits >= students + 200


@given(st.floats(1e-3, 1e3))
def test_the_inverse_of_trigamma(argument: float) -> None:
    assert trigamma_inverse(float(special.polygamma(1, argument))) == pytest.approx(argument, rel=1e-9)


def test_an_infinite_prior_knows_the_variance() -> None:
    assert VariancePrior(math.inf, np.array([2.0])).moderated(0, 5.0, 4.0) == (2.0, math.inf)


@pytest.mark.statistical
@pytest.mark.parametrize("prior", [2.0, 4.0, math.inf])
def test_few_samples_of_two_runs_keep_the_level_too(prior: float) -> None:
    """Of 6,400 tests at 1 % in sets of 16 at most 96: 1.5 %, half a point for a prior that is estimated."""
    rng = np.random.default_rng(9)
    alarms = 0
    for _ in range(400):
        deviations = np.sqrt(prior / rng.chisquare(prior, 16)) if math.isfinite(prior) else np.ones(16)
        samples = rng.standard_normal((2, 16, 2)) * deviations[None, :, None]
        found = [difference(a, b) for a, b in zip(*samples, strict=True)]
        known = variance_prior(np.array([d.variance for d in found]), np.full(16, 2.0))
        alarms += sum(d.borrowing(known, place).p_value <= 0.01 for place, d in enumerate(found))
    assert alarms <= 96


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


def test_complete_blocks_give_plain_means() -> None:
    values = np.array([1.0, 2.0, 6.0, 11.0, 12.0, 16.0])
    found = unit_means(values, np.array([0, 1, 2, 0, 1, 2]), np.array([0, 0, 0, 1, 1, 1]))
    assert found == pytest.approx([6.0, 7.0, 11.0])


def test_incomplete_blocks_do_not_pass_for_units() -> None:
    """Differences are those of statsmodels' additive model of units and blocks; blocks differ by 100."""
    rng = np.random.default_rng(4)
    units, blocks = np.tile(np.arange(8), 3), np.repeat([0, 4, 9], 8)
    kept = np.sort(rng.permutation(24)[:17])
    units, blocks = units[kept], blocks[kept]
    values = 100.0 * blocks + units + rng.standard_normal(17)
    assert len(np.unique(units)) == 8
    found = unit_means(values, units, blocks)
    fit = ols("y ~ 0 + C(u) + C(b)", pd.DataFrame({"y": values, "u": units, "b": blocks})).fit()
    expected = fit.params[[f"C(u)[{unit}]" for unit in range(8)]].to_numpy()
    assert np.diff(found) == pytest.approx(np.diff(expected), abs=1e-8)
    assert found @ np.bincount(units) / 17 == pytest.approx(values.mean())


def test_single_runs_are_their_own_means() -> None:
    assert unit_means(np.array([3.0, 1.0]), np.array([1, 0]), np.array([0, 0])) == pytest.approx([1.0, 3.0])
