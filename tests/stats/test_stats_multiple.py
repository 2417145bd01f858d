"""The false discovery rate: beside statsmodels, and by simulation (5 % of false alarms among alarms, in the mean).

Options before interactions: golden numbers, and the error over whole studies.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from hati.core import FloatArray, generator
from hati.stats import Shares, Term, adaptive_benjamini_hochberg, critical_p_value, holm, options_first


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30))
def test_it_is_benjamini_and_hochberg_s_where_all_may_be_true(p_values: list[float]) -> None:
    found = adaptive_benjamini_hochberg(np.array(p_values))
    usual = multipletests(p_values, method="fdr_bh")[1]
    null = min(len(p_values), 2 * (1 + sum(p > 0.5 for p in p_values)))
    assert found == pytest.approx(
        np.maximum(usual * null / len(p_values), p_values).clip(0.0, 1.0), abs=1e-12
    ) or np.any(
        usual >= 1.0  # where statsmodels cuts at one before the factor
    )
    assert np.all(found >= p_values)
    order = np.argsort(p_values, kind="stable")
    assert np.all(np.diff(found[order]) >= -1e-12)


def test_no_p_values_are_none() -> None:
    assert len(adaptive_benjamini_hochberg(np.empty(0))) == 0


@pytest.mark.statistical
@pytest.mark.parametrize("active", [0, 10, 80])
def test_the_share_of_false_alarms(active: int) -> None:
    rng = np.random.default_rng(active)
    shares, found = [], 0
    for _ in range(2_000):
        values = rng.standard_normal(100)
        values[:active] += 4.0
        from scipy import special

        told = adaptive_benjamini_hochberg(2.0 * special.ndtr(-np.abs(values))) <= 0.05
        shares.append(told[active:].sum() / max(1, told.sum()))
        found += int(told[:active].sum())
    assert np.mean(shares) <= 0.05 + 2.6 * np.std(shares) / np.sqrt(2_000)
    assert found >= 0.7 * 2_000 * active


MAINS = [((option,),) for option in range(4)]
PAIRS = [(pair,) for pair in combinations(range(4), 2)]


def bonferroni(sizes: FloatArray, tests: int) -> FloatArray:
    """Statistics are negative logarithms to the base of ten of p-values."""
    return tests * 10.0**-sizes


def adjusted(sets: Sequence[Sequence[Term]], p_values: Sequence[float]) -> list[float]:
    return options_first(sets, -np.log10(p_values), bonferroni).tolist()


def test_golden_numbers() -> None:
    """By hand: an option's share is .95 / 4; what hands it on leaves (3 + 1/2) / 4 and gives the heirs 1/8 of .95.

    x0: 4 (.001) / .95. x0:x1: of three heirs, 3 (.0004) / (.95 / 8), which is larger. x1: 3 (.009) / (.95 (3.5) / 4),
    then the others of main effects: 2 (.2) / (.95 (3) / 4). Of five heirs 0:2 is next, 4 (.02) / (.95 / 4).
    """
    p_values = [0.001, 0.009, 0.2, 0.3, 0.0004, 0.02, 0.9, 0.9, 0.9, 0.9]
    found = adjusted([*MAINS, *PAIRS], p_values)
    assert found[0] == pytest.approx(4 * 0.001 / 0.95)
    assert found[4] == pytest.approx(3 * 0.0004 / (0.95 / 8))
    assert found[1] == pytest.approx(3 * 0.009 / (0.95 * 3.5 / 4))
    assert found[5] == pytest.approx(4 * 0.02 / (0.95 / 4))
    assert found[2] == pytest.approx(2 * 0.2 / (0.95 * 3 / 4))
    assert found[3] == found[2]  # as in Holm's procedure no later one is smaller


def test_an_interaction_without_a_parent_that_was_found_has_a_twentieth() -> None:
    found = adjusted([*MAINS, *PAIRS], [0.5, 0.5, 0.5, 0.5, 1e-6, 0.5, 0.5, 0.5, 0.5, 0.5])
    assert found[4] == pytest.approx(6 * 1e-6 / 0.05)
    assert found[0] == 1.0


def test_any_member_of_an_alias_set_has_parents() -> None:
    sets = [*MAINS, ((0, 1), (2, 3)), ((0, 2), (1, 3))]
    found = adjusted(sets, [0.5, 0.5, 0.5, 1e-9, 1e-4, 0.5])
    assert found[4] == pytest.approx(2 * 1e-4 / (0.95 / 8))


def test_without_interactions_it_is_holm_s_and_without_options_too() -> None:
    p_values = np.array([0.001, 0.02, 0.03, 0.2])
    assert adjusted(MAINS, p_values.tolist()) == pytest.approx(holm(p_values).tolist())
    assert adjusted(PAIRS[:4], p_values.tolist()) == pytest.approx(holm(p_values).tolist())


def test_the_shares_are_one_together() -> None:
    shares = Shares(14, 82)
    assert shares.main_effects(14) == pytest.approx(0.95)
    assert shares.main_effects(11) == pytest.approx(0.95 * 12.5 / 14)
    assert shares.main_effects(0) == 0.0
    assert (Shares(14, 0).main_effects(3), Shares(0, 5).orphans) == (1.0, 1.0)


@given(st.lists(st.floats(1e-6, 1.0), min_size=10, max_size=10), st.integers(0, 9), st.floats(0.0, 1.0))
def test_a_smaller_p_value_is_never_adjusted_to_a_larger_one(p_values: list[float], place: int, factor: float) -> None:
    smaller = [p * (max(factor, 1e-3) if i == place else 1.0) for i, p in enumerate(p_values)]
    before, after = adjusted([*MAINS, *PAIRS], p_values), adjusted([*MAINS, *PAIRS], smaller)
    assert all(new <= old * (1 + 1e-9) for old, new in zip(before, after, strict=True))


@pytest.mark.statistical
@pytest.mark.parametrize("active", [(), (0,), (0, 1, 4), (0, 1, 2, 3)], ids=str)
def test_false_ones_are_in_at_most_five_per_cent(active: tuple[int, ...]) -> None:
    """Of 4,000 studies at most 236, the 99 % binomial bound; whatever is active is found without fail."""
    rng = generator(14, "options first", str(active))
    statistics = -np.log10(rng.random((4000, 10)))
    statistics[:, list(active)] += 60.0
    inert = [place for place in range(10) if place not in active]
    found = [options_first([*MAINS, *PAIRS], row, bonferroni) for row in statistics]
    assert 0.03 * 4000 <= sum(bool(np.any(row[inert] <= 0.05)) for row in found) <= 236
    assert all(np.all(row[list(active)] <= 0.05) for row in found)


@settings(max_examples=50)
@given(st.lists(st.floats(0.0, 1.0), max_size=12), st.sampled_from([0.01, 0.05, 0.3]))
def test_the_critical_p_value_is_the_largest_that_is_rejected(others: list[float], alpha: float) -> None:
    critical = critical_p_value(np.array(others), alpha)
    below, above = (
        adaptive_benjamini_hochberg(np.array([*others, critical * (1.0 + shift)]))[-1] for shift in (-1e-9, 1e-9)
    )
    assert below <= alpha < above
