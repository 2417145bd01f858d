"""How many runs decide effects that are in doubt."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hati.stats import holm
from hati.studies.screening.changes import EffectContrast
from hati.studies.validation.validation_base import OpenEffect, runs_to_decide

STUDIES = 4_000
DEVIATION = 0.1


@pytest.mark.parametrize("family", [1, 4, 16, 64])
def test_so_many_runs_show_an_effect_among_others_in_80_percent(family: int) -> None:
    effect = 0.05
    runs = runs_to_decide([OpenEffect(effect, DEVIATION**2, 0.01, 0.05 / family)], 1)
    assert runs is not None
    rng = np.random.default_rng(1)
    errors = rng.standard_normal((STUDIES, family))
    errors[:, 0] += effect / (2 * DEVIATION / np.sqrt(runs))
    df = runs - family - 1
    p_values = 2 * stats.t.sf(np.abs(errors) / np.sqrt(rng.chisquare(df, STUDIES) / df)[:, None], df)
    power = np.mean([holm(row)[0] <= 0.05 for row in p_values])
    assert 0.77 <= power <= 0.83


@pytest.mark.parametrize("effect", [0.0, 0.01, 0.03])
def test_so_many_runs_show_in_80_percent_that_an_effect_does_not_matter(effect: float) -> None:
    """Its interval is between both bounds of what matters."""
    relevant = 0.05
    runs = runs_to_decide([OpenEffect(effect, DEVIATION**2, relevant, 0.05 / 8)], 1)
    assert runs is not None
    error = 2 * DEVIATION / np.sqrt(runs)
    power = np.mean(np.abs(np.random.default_rng(2).normal(effect, error, STUDIES)) + 1.96 * error < relevant)
    assert 0.77 <= power <= 0.83


def test_runs_that_are_known_already_count_for_half_of_the_decision() -> None:
    """All runs show the effect, and the new ones alone: those before are the same in every validation."""
    effect, before = 0.05, 40
    runs = runs_to_decide([OpenEffect(effect, DEVIATION**2, 0.01, 0.05 / 30, before, 0.05)], 1)
    assert runs is not None
    new = np.random.default_rng(3).normal(effect, 2 * DEVIATION / np.sqrt(runs), STUDIES)
    every = (before * effect + runs * new) / (before + runs)
    shown = every * np.sqrt(before + runs) / (2 * DEVIATION) > stats.norm.isf(0.05 / 60)
    power = np.mean(shown & (new * np.sqrt(runs) / (2 * DEVIATION) > stats.norm.isf(0.05)))
    assert 0.77 <= power <= 0.83


def test_several_effects_are_decided_together_in_80_percent() -> None:
    effects = [OpenEffect(0.05, DEVIATION**2, 0.01, 0.05 / 3)] * 3
    runs = runs_to_decide(effects, 1)
    assert runs is not None
    new = np.random.default_rng(4).normal(0.05, 2 * DEVIATION / np.sqrt(runs), (STUDIES, 3))
    shown = new * np.sqrt(runs) / (2 * DEVIATION) > stats.norm.isf(0.05 / 6)
    assert 0.77 <= np.mean(shown.all(axis=1)) <= 0.83


def test_what_no_runs_decide_and_what_has_no_error_is_left_open() -> None:
    assert runs_to_decide([OpenEffect(0.05, DEVIATION**2, 0.05, 0.05)], 1) is None
    assert runs_to_decide([], 1) is None
    assert OpenEffect.of(EffectContrast(0.1, None, None), 40, 0.01, 0.05) is None
