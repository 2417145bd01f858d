"""One value for each configuration that was run several times, beside statsmodels' two-way model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import ols

from hati.stats import unit_means


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
