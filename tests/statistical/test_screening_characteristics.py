"""Operating characteristics of screening: false alarms, power and coverage over whole simulated studies.

Thresholds: with nothing active, at most 5 % of 2,000 studies call anything important, as far as the 99 % binomial
bound can tell (123 of 2,000); an effect of twice (once) the standard deviation of a run is found in 80 %
of studies without (with three) repetitions.
"""

from __future__ import annotations

import pytest
from benchmarks.operating_characteristics import Noise, simulate, simulate_drift

from hati.stats import Term
from hati.studies.screening import choose, expected_detectable_deviations

pytestmark = pytest.mark.statistical

REPLICATED = pytest.mark.parametrize("runs", [32, 96], ids=["unreplicated", "replicated"])
LOST = pytest.mark.parametrize(
    ("runs", "lost"),
    [pytest.param(32, 3, marks=pytest.mark.acceptance), (96, 12)],
    ids=["unreplicated", "replicated"],
)
NOISE = pytest.mark.parametrize("noise", list(Noise))


@REPLICATED
@NOISE
@pytest.mark.acceptance
def test_study_wise_false_alarms_are_five_per_cent_at_most(runs: int, noise: Noise) -> None:
    result = simulate(choose(14, runs), noise, studies=2000)
    assert result.false_alarms * 2000 <= 123
    assert result.false_alarms >= 0.02  # a procedure that never alarms would have no power
    assert 0.93 <= result.coverage <= 0.98


@NOISE
@pytest.mark.parametrize(
    ("runs", "size"),
    [(32, 2.0), pytest.param(96, 1.0, marks=pytest.mark.acceptance)],
    ids=["unreplicated", "replicated"],
)
def test_an_effect_of_stated_size_is_found(runs: int, size: float, noise: Noise) -> None:
    result = simulate(choose(14, runs), noise, {(0,): size}, studies=400)
    assert result.power >= 0.8
    assert result.false_alarms <= 0.08


@REPLICATED
@pytest.mark.acceptance
def test_what_is_said_to_be_found_with_80_per_cent_power_is(runs: int) -> None:
    choice = choose(14, runs)
    said = expected_detectable_deviations(choice)
    assert said is not None
    result = simulate(choice, Noise.LOG_NORMAL, {(0,): said}, studies=1000)
    assert result.power == pytest.approx(0.8, abs=0.05)


def test_interactions_are_found_and_false_ones_are_not() -> None:
    result = simulate(choose(14, 96), Noise.LOG_NORMAL, {(0,): 2.0, (1,): 2.0, (0, 1): 1.5}, studies=300)
    assert result.power >= 0.95
    assert result.false_alarms <= 0.09


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("runs", "lost", "studies", "bound"), [(32, 3, 300, 24), (96, 12, 1000, 67)], ids=["unreplicated", "replicated"]
)
def test_studies_that_lost_runs_keep_to_five_per_cent(runs: int, lost: int, studies: int, bound: int) -> None:
    """By the 99 % binomial bound; each unreplicated study simulates its own critical values, hence fewer of them."""
    result = simulate(choose(14, runs), Noise.NORMAL, studies=studies, lost=lost)
    assert 0.015 * studies <= result.false_alarms * studies <= bound
    assert 0.93 <= result.coverage <= 0.985


@LOST
def test_studies_that_lost_runs_still_find_a_large_effect(runs: int, lost: int) -> None:
    """Not in all: .925 of 200 unreplicated studies did when the bound was set; why some do not is not established."""
    result = simulate(choose(14, runs), Noise.NORMAL, {(0,): 4.0}, studies=100, lost=lost)
    assert result.power >= 0.85


@REPLICATED
@pytest.mark.acceptance
def test_intervals_in_the_unit_hold_the_difference_of_arithmetic_means(runs: int) -> None:
    """Effects multiply, and it is decided on the logarithmic scale; the intervals may be too wide, not too narrow."""
    result = simulate(choose(14, runs), Noise.LOG_NORMAL, {(0,): 2.0, (1,): 1.5, (2,): -1.5}, studies=1000)
    assert result.unit_coverage >= 0.93


@pytest.mark.acceptance
@pytest.mark.parametrize("runs", [32, 64, 96], ids=["32 x 1", "32 x 2", "32 x 3"])
def test_drift_is_told_of_in_one_per_cent_of_studies_without_it(runs: int) -> None:
    """The 98 % binomial interval of 2,000 studies is 10 to 31. Large effects must not look like drift, nor hide it."""
    active: dict[Term, float] = {(0,): 8.0, (1,): 4.0, (0, 1): 3.0}
    assert 10 <= simulate_drift(choose(14, runs), studies=2000, active=active) * 2000 <= 31
