"""Against scipy and statsmodels where they know the same, and laws where they do not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hati.core import FloatArray
from hati.stats import (
    Dependence,
    benjamini_hochberg,
    change_points,
    change_size,
    detectable_step,
    gradual_drift,
    normal_scores,
    place_interval,
    strongest_change,
    weighted_drift,
)
from hati.stats.change_test import (
    PROBABILITIES,
    SPLITS,
    STRETCHES,
    critical_split,
    split_statistics,
    stretch_statistics,
)
from hati.stats.levels import change_place

NONE = np.array(0.0)


def alone(size: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    return np.zeros(size, dtype=np.intp)


def stepped(seed: int, size: int = 200, steps: tuple[tuple[int, float], ...] = ((100, 5.0),)) -> FloatArray:
    values = 100.0 + 2.0 * np.random.default_rng(seed).normal(size=size)
    for place, step in steps:
        values[place:] += step
    return values


def places(values: FloatArray, groups: np.ndarray[tuple[int], np.dtype[np.intp]] | None = None) -> list[int]:
    return [point.index for point in change_points(values, alone(len(values)) if groups is None else groups)]


def test_a_split_is_the_correlation_with_its_sides() -> None:
    scores = normal_scores(stepped(1, 40), alone(40))
    found = split_statistics(scores, alone(40), NONE)
    assert found.stops.tolist() == list(range(3, 38))
    expected = [abs(np.corrcoef(scores, np.arange(40) >= place)[0, 1]) * np.sqrt(40.0) for place in found.stops]
    assert found.statistics == pytest.approx(expected)


def test_a_split_of_several_machines_is_that_of_least_squares() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(5)
    groups = rng.integers(0, 3, size=50)
    scores = normal_scores(rng.normal(size=50), groups)
    found = split_statistics(scores, groups, NONE)
    for place, statistic in list(zip(found.stops, found.statistics, strict=True))[::7]:
        design = np.column_stack([groups == group for group in range(3)] + [np.arange(50) >= place]).astype(float)
        fit = sm.OLS(scores, design).fit()
        assert statistic == pytest.approx(abs(fit.params[3]) / np.sqrt(fit.normalized_cov_params[3, 3]))


def test_stretches_are_contrasts_with_their_surroundings() -> None:
    scores = normal_scores(stepped(2, 30), alone(30))
    found = stretch_statistics(scores, alone(30), NONE)
    assert set((found.stops - found.starts).tolist()) == {5, 7, 10, 14}
    assert found.starts.min() == 1
    assert found.stops.max() == 29
    inside = (np.arange(30) >= found.starts[40]) & (np.arange(30) < found.stops[40])
    assert found.statistics[40] == pytest.approx(abs(np.corrcoef(scores, inside)[0, 1]) * np.sqrt(30.0))


@given(st.integers(0, 10_000), st.sampled_from([8, 9, 15, 60]))
@settings(max_examples=40)
def test_the_test_sees_ranks_alone(seed: int, size: int) -> None:
    values = np.random.default_rng(seed).normal(size=size)
    assert strongest_change(np.exp(values), alone(size)) == strongest_change(values, alone(size))


@given(st.integers(0, 10_000), st.floats(1e-6, 1e6))
@settings(max_examples=15)
def test_units_and_direction_do_not_matter(seed: int, scale: float) -> None:
    values = stepped(seed, 60, ((30, 6.0),))
    found = places(values)
    assert places(values * scale) == found
    assert places(-values) == found
    assert [60 - place for place in reversed(places(values[::-1].copy()))] == found


@given(st.lists(st.floats(-1e100, 1e100), max_size=40), st.integers(1, 4))
def test_any_values_have_an_answer(drawn: list[float], machines: int) -> None:
    groups = np.unique(np.arange(len(drawn)) * 7 % machines, return_inverse=True)[1] if drawn else alone(0)
    found = change_points(np.array(drawn), groups)
    assert all(0 < point.index < len(drawn) and 0.0 <= point.p_value <= 0.05 for point in found)


def test_equal_values_do_not_change() -> None:
    assert change_points(np.full(100, 3.0), alone(100)) == ()
    assert change_points(np.array([]), alone(0)) == ()


def test_a_step_of_exact_values_is_found() -> None:
    assert places(np.repeat([1.0, 2.0], 20)) == [20]
    assert places(np.repeat([1.0, 2.0, 1.5, 3.0], 20)) == [20, 40, 60]


def test_spikes_are_no_changes() -> None:
    false = 0
    for seed in range(200):
        values = stepped(seed, 200, ())
        values[(seed * 37 + 11) % 200] += 50.0 + seed
        false += bool(places(values))
    assert false <= 18  # 99 % of binomial variables of 200 and 5 %


def test_spikes_do_not_hide_or_move_a_change() -> None:
    values = stepped(4)
    found = places(values)
    values[[20, 60, 150]] += 300.0
    assert places(values) == found
    assert len(found) == 1


def test_a_change_of_machine_is_no_change() -> None:
    for seed in range(40):
        values = stepped(seed)
        machines = (np.arange(200) >= 100).astype(np.intp)
        values[:100] += 50.0
        assert 100 not in places(values, machines)


def test_a_change_beside_a_change_of_machine_is_found() -> None:
    machines = np.where(np.arange(200) < 80, 0, np.arange(200) % 2).astype(np.intp)
    values = stepped(9) + 30.0 * machines
    found = places(values, machines)
    assert len(found) == 1
    assert abs(found[0] - 100) <= 5


def test_several_steps_are_found() -> None:
    found = places(stepped(11, 200, ((50, 5.0), (100, -5.0), (150, 5.0))))
    assert len(found) == 3
    assert np.abs(np.array(found) - [50, 100, 150]).max() <= 5


def test_what_comes_back_is_found() -> None:
    found = places(stepped(12, 400, ((190, 5.0), (210, -5.0))))
    assert len(found) == 2
    assert np.abs(np.array(found) - [190, 210]).max() <= 5


def test_the_place_is_that_of_least_squares() -> None:
    values = stepped(14, 60, ((33, 3.0),))
    squares = [
        float(
            np.sum((values[:place] - values[:place].mean()) ** 2)
            + np.sum((values[place:] - values[place:].mean()) ** 2)
        )
        for place in range(3, 58)
    ]
    assert change_place(values, alone(60), 33) == 3 + int(np.argmin(squares))


def test_intervals_of_the_place_cover_it() -> None:
    covered = 0
    for seed in range(200):
        values = stepped(seed, 100, ((50, 3.0),))
        first, last = place_interval(values, alone(100), change_place(values, alone(100), 50), 0.0)
        covered += first <= 50 <= last
    assert covered >= 184  # 95 %, less two and a half standard errors


def test_the_size_is_that_of_students_t() -> None:
    from scipy import stats

    values = stepped(15, 5000, ((2000, 3.0),))
    found = change_size(values, alone(5000), 2000, 0.0)
    expected = stats.ttest_ind(values[2000:], values[:2000]).confidence_interval(0.95)
    assert found.difference == pytest.approx(values[2000:].mean() - values[:2000].mean())
    assert found.interval == pytest.approx((expected.low, expected.high), rel=1e-3)


def test_the_size_across_machines_is_that_of_least_squares() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(6)
    machines = rng.integers(0, 3, size=80)
    values = stepped(16, 80, ((30, 4.0),)) + 10.0 * machines
    design = np.column_stack([machines == group for group in range(3)] + [np.arange(80) >= 30]).astype(float)
    assert change_size(values, machines, 30, 0.0).difference == pytest.approx(sm.OLS(values, design).fit().params[3])


def test_the_drift_is_that_of_theil_and_sen() -> None:
    from scipy import stats

    values = 0.02 * np.arange(300) + np.random.default_rng(7).normal(size=300)
    found = gradual_drift(values, alone(300), 0.0)
    assert found is not None
    slope, _, low, high = stats.theilslopes(values, alpha=0.95)
    assert found.slope == pytest.approx(slope)
    assert found.interval == pytest.approx((low, high), rel=0.03)  # Student's t for the normal quantile
    level = np.random.default_rng(70).normal(size=300)
    flat = gradual_drift(level, alone(300), 0.0)
    assert flat is not None
    tau = stats.kendalltau(np.arange(300), level, method="asymptotic")
    assert flat.p_value == pytest.approx(tau.pvalue, rel=0.05)


def test_the_drift_of_a_long_series_is_taken_in_blocks() -> None:
    values = 0.002 * np.arange(3000) + np.random.default_rng(8).normal(size=3000)
    found = gradual_drift(values, alone(3000), 0.0)
    assert found is not None
    assert found.interval[0] < 0.002 < found.interval[1]
    assert found.slope == pytest.approx(0.002, rel=0.05)


def test_a_step_is_no_drift_within_its_levels() -> None:
    values = stepped(17)
    found = gradual_drift(values, (np.arange(200) >= 100).astype(np.intp), 0.0)
    assert found is not None
    assert found.interval[0] < 0.0 < found.interval[1]


def test_too_few_values_have_no_drift() -> None:
    assert gradual_drift(np.arange(7.0), alone(7), 0.0) is None
    assert gradual_drift(np.arange(12.0), np.arange(12), 0.0) is None


def test_a_trend_that_no_order_statistic_bounds_is_unbounded() -> None:
    found = gradual_drift(np.random.default_rng(4).normal(size=12), np.repeat(np.arange(4), 3), 0.0)
    assert found is not None
    assert found.interval == (-np.inf, np.inf)


def test_a_weighted_trend_is_that_of_least_squares() -> None:
    """Beside numpy.polyfit with weights, of one group; of two groups each has a level of its own."""
    rng = np.random.default_rng(2)
    errors = rng.uniform(0.5, 2.0, 20)
    values = 3.0 + 0.4 * np.arange(20) + errors * rng.normal(size=20)
    found = weighted_drift(values, alone(20), errors, 50.0)
    assert found is not None
    slope, covariance = np.polyfit(np.arange(20), values, 1, w=1.0 / errors, cov="unscaled")
    assert found.slope == pytest.approx(slope[0])
    assert found.interval[1] - found.slope == pytest.approx(2.0086 * np.sqrt(covariance[0, 0]), rel=1e-4)
    apart = weighted_drift(values + 100.0 * (np.arange(20) >= 9), (np.arange(20) >= 9).astype(int), errors, 50.0)
    assert apart is not None
    assert apart.interval[0] < 0.4 < apart.interval[1]
    assert weighted_drift(values[:7], alone(7), errors[:7], 50.0) is None


def test_the_table_is_of_distributions() -> None:
    assert list(PROBABILITIES) == sorted(PROBABILITIES, reverse=True)
    for table in (SPLITS, STRETCHES):
        assert list(table) == sorted(table)
        assert all(list(row) == sorted(row) and len(row) == len(PROBABILITIES) for row in table.values())
    assert critical_split(200, 0.05) == pytest.approx(3.25, abs=0.05)  # that of 4 %, 3.155 being that of 5 %


def test_the_table_can_be_made_again() -> None:
    from benchmarks import change_table

    rng = np.random.default_rng(1)
    drawn = change_table.scores(change_table.autoregressive(3000, 64, 0.3, rng))
    own = np.array([normal_scores(row, alone(64)) for row in drawn[:3]])
    assert own == pytest.approx(drawn[:3])
    from hati.stats import lag_one

    largest = split_statistics(drawn, alone(64), lag_one(drawn)).statistics.max(axis=1)
    row = SPLITS[64]
    assert np.mean(largest > row[PROBABILITIES.index(0.05)]) == pytest.approx(0.05, abs=0.02)


def test_smaller_steps_are_found_in_longer_series() -> None:
    steps = [detectable_step(size, 0.0) for size in (60, 200, 1000, 10_000)]
    assert all(step is not None for step in steps)
    assert steps == sorted(steps, key=lambda step: -(step or 0.0))
    assert detectable_step(20, 0.0) is None
    assert detectable_step(7, 0.0) is None
    alike, related = detectable_step(200, 0.0), detectable_step(200, 0.5)
    assert alike is not None
    assert related is not None
    assert alike < related


def test_benjamini_and_hochberg_as_scipy_has_it() -> None:
    from scipy import stats

    p_values = np.random.default_rng(9).uniform(size=40) ** 2
    assert benjamini_hochberg(p_values) == pytest.approx(stats.false_discovery_control(p_values))


@pytest.mark.statistical
def test_noise_that_is_known_to_be_independent_changes_no_more_often_than_alpha_says() -> None:
    rng = np.random.default_rng(7)
    tries, groups = 1000, np.zeros(40, dtype=np.intp)
    alarms = sum(bool(change_points(rng.normal(size=40), groups, 0.05, Dependence.INDEPENDENT)) for _ in range(tries))
    assert alarms <= stats.binom.ppf(0.99, tries, 0.05)


@pytest.mark.statistical
@pytest.mark.parametrize("size", [8, 12, 24, 80])
def test_where_noise_is_known_to_be_independent_short_series_show_the_steps_that_are_promised(size: int) -> None:
    rng = np.random.default_rng(11)
    step = detectable_step(size, 0.0, 0.05, Dependence.INDEPENDENT)
    assert step is not None
    sides = step * (np.arange(size) >= size // 2)
    tries = 200
    found = sum(
        strongest_change(sides + rng.normal(size=size), alone(size), Dependence.INDEPENDENT).p_value <= 0.05
        for _ in range(tries)
    )
    assert found >= stats.binom.ppf(0.01, tries, 0.8)
    assert found <= 0.97 * tries
