"""How many runs settle an effect that is in doubt."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hati.stats import holm
from hati.studies.screening.model_fit import Contrast
from hati.studies.validation.settling import runs_needed, runs_to_settle

STUDIES = 4_000


@pytest.mark.parametrize("family", [1, 4, 16, 64])
def test_so_many_runs_show_an_effect_among_others_in_80_percent(family: int) -> None:
    effect, deviation = 0.05, 0.1
    runs = runs_to_settle(effect, deviation**2, 0.01, family)
    assert runs is not None
    rng = np.random.default_rng(1)
    errors = rng.standard_normal((STUDIES, family))
    errors[:, 0] += effect / (2 * deviation / np.sqrt(runs))
    df = runs - family - 1
    p_values = 2 * stats.t.sf(np.abs(errors) / np.sqrt(rng.chisquare(df, STUDIES) / df)[:, None], df)
    power = np.mean([holm(row)[0] <= 0.05 for row in p_values])
    assert 0.77 <= power <= 0.83


def test_so_many_runs_show_in_80_percent_that_an_effect_does_not_matter() -> None:
    relevant, deviation = 0.05, 0.1
    runs = runs_to_settle(0.0, deviation**2, relevant, 8)
    assert runs is not None
    rng = np.random.default_rng(2)
    error = 2 * deviation / np.sqrt(runs)
    power = np.mean(rng.normal(0.0, error, STUDIES) + 1.96 * error <= relevant)
    assert 0.77 <= power <= 0.83


def test_the_effect_that_needs_most_decides_and_one_without_error_leaves_it_open() -> None:
    small, large = Contrast(0.03, 0.02, 0.04), Contrast(0.1, 0.02, 0.04)
    assert runs_needed([small, large], 40, 0.01, 2) == runs_needed([small], 40, 0.01, 2)
    assert runs_needed([small, Contrast(0.1, None, None)], 40, 0.01, 2) is None
    assert runs_needed([], 40, 0.01, 1) is None
