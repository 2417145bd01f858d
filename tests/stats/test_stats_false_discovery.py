"""The false discovery rate: beside statsmodels, and by simulation (5 % of false alarms among alarms, in the mean)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from hati.stats import adaptive_benjamini_hochberg


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
