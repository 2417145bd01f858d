"""What a confirmation takes for independent, and what the new runs alone say."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from hati.design import Model
from hati.stats import ModelTerms, Term
from hati.studies.screening.changes import EffectContrast
from hati.studies.screening.model_fit import ModelFit
from hati.studies.screening.population import ValidPopulation
from hati.studies.validation.confirmed_effects import NewRunsTest, agree, new_runs_tests
from hati.studies.validation.screened import Runs, ScreenedSize

SIZES = (2, 2, 3)
TERMS: tuple[Term, ...] = ((0,), (1,), (2,))


def test_configurations_that_are_many_count_once() -> None:
    levels = np.unique(np.random.default_rng(1).integers(0, 2, (60, 6)), axis=0).astype(np.int16)
    values = np.arange(len(levels), dtype=np.float64)
    three = np.concatenate([values, values + 1.0, values + 5.0])
    runs = Runs.together(np.tile(levels, (3, 1)), three, np.repeat([0, 1, 2], len(levels))).by_configuration()
    assert len(runs) == len(levels) >= 21
    assert runs.values - runs.values.mean() == pytest.approx(values - values.mean())


def test_machines_take_a_parameter_each_in_every_period() -> None:
    """Three repetitions on two machines, and a follow-up on two: 3 + 1 + 1 + 1 columns, not 6 + 2."""
    levels, machines = np.zeros((12, 2), dtype=np.int16), np.tile([0, 1], 6)
    before = Runs.together(levels, np.arange(12.0), np.repeat([0, 1, 2], 4), machines)
    later = Runs.together(levels[:4], np.arange(4.0), np.zeros(4, dtype=np.intp), machines[:4])
    both = before.followed_by(later)
    assert [each.nuisance.shape[1] for each in (before, later, both)] == [4, 2, 6]
    assert np.linalg.matrix_rank(both.nuisance) == 6
    assert both.since(12).nuisance.shape[1] == 2
    assert not np.any(both.nuisance[:12].any(axis=0) & both.nuisance[12:].any(axis=0))


def test_few_configurations_are_the_whole_space_and_their_runs_count() -> None:
    levels = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 4, dtype=np.int16)
    runs = Runs.together(levels, np.arange(16.0), np.repeat(np.arange(4), 4))
    assert runs.by_configuration() == runs


@pytest.mark.parametrize(("effect", "least", "most"), [(0.0, 0.05, 1.0), (-3.0, 0.95, 1.0), (3.0, 0.0, 1e-3)])
def test_new_runs_have_to_show_an_effect_themselves(effect: float, least: float, most: float) -> None:
    """Where the old ones show it: by none, by the opposite, by the same."""
    rng = np.random.default_rng(2)
    levels = np.column_stack([rng.permutation(np.arange(36) % size) for size in SIZES]).astype(np.int16)
    new = np.arange(36) >= 24
    model = Model.of_order(SIZES, 1)
    columns = {term: model.matrix(levels)[:, model.owners == place] for place, term in enumerate(model.terms)}
    terms = ModelTerms(np.column_stack([~new, new]).astype(float), columns)
    values = np.where(new, effect, 6.0) * levels[:, 0] + 0.1 * rng.standard_normal(36)
    fit = ModelFit.of(terms, TERMS, ValidPopulation.unconstrained(SIZES), values)
    found = new_runs_tests(terms, fit, ((0,), (2,)), new)
    assert least <= found[0,].p_value <= most
    assert found[2,].p_value > 0.05
    assert [(found[term].df, found[term].of) for term in ((0,), (2,))] == [(1, 1), (2, 2)]
    assert not NewRunsTest(0.01, 15, 32).mostly
    assert NewRunsTest(0.01, 16, 32).mostly


@pytest.mark.parametrize(
    ("told", "now", "same"),
    [
        (ScreenedSize(1.0, 0.2), EffectContrast(0.85, 0.01, 0.02), True),
        (ScreenedSize(1.0, 0.1), EffectContrast(0.85, 0.01, 0.02), False),
        (ScreenedSize(1.0, 0.001), EffectContrast(0.995, 0.01, 0.02), True),  # less apart than what matters
        (ScreenedSize(1.0, 3.0), EffectContrast(-0.5, 0.01, 0.02), False),
        (ScreenedSize(5.218, None), EffectContrast(0.0825, 0.01, 0.02), False),
        (ScreenedSize(0.15, None), EffectContrast(0.0825, None, None), True),
        (ScreenedSize(0.3, None), EffectContrast(0.1, 0.1, 0.25), True),
    ],
)
def test_sizes_agree_within_what_the_screening_told_of_them(
    told: ScreenedSize, now: EffectContrast, same: bool
) -> None:
    assert agree(told, now, relevant=0.01) is same


def test_a_validation_is_shown_without_what_is_slow_to_load() -> None:
    rooms = "hati.studies.validation.screened, hati.studies.validation.rivals"
    script = f"import sys, {rooms}; print('scipy.linalg' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
