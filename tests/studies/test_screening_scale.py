"""The scale that decides where interactions are found beside main effects."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from hati.core import FloatArray
from hati.design import Levels, Model
from hati.stats import Index
from hati.studies.screening.conclusion import EffectScale
from hati.studies.screening.model import model_terms
from hati.studies.screening.runs import choose_scale, choose_scale_of_model, model_units

SIZES = (2,) * 10
RUNS = 96
ONE_BLOCK = np.zeros(RUNS, dtype=np.intp)


def drawn(seed: int) -> tuple[Levels, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.permutation(np.arange(RUNS) % 2) for _ in SIZES]).astype(np.int16), rng


def product(levels: Levels, rng: np.random.Generator) -> FloatArray:
    """Factors of four options; three of them together make a run a hundred times faster."""
    log = levels[:, :4] @ np.array([0.4, -0.3, 0.2, 0.5]) - 4.6 * levels[:, :3].all(axis=1)
    return np.asarray(np.exp(log + 0.02 * rng.standard_normal(RUNS)))


def total(levels: Levels, rng: np.random.Generator) -> FloatArray:
    """Times that add up; two options together take most of it."""
    mean = 10.0 + levels[:, :4] @ np.array([2.0, 3.0, 1.0, 1.5]) + 60.0 * levels[:, :2].all(axis=1)
    return np.asarray(mean + 0.1 * rng.standard_normal(RUNS))


def chosen(values: FloatArray, levels: Levels, blocks: Index = ONE_BLOCK) -> tuple[EffectScale, str]:
    model = Model.of_order(SIZES, 2)
    units = model_units(model, levels, blocks)
    return choose_scale_of_model(values, model_terms(model, units.levels, units.blocks), units)


@pytest.mark.parametrize("seed", range(5))
def test_what_few_combinations_do_does_not_decide_the_scale(seed: int) -> None:
    for program, scale in ((product, EffectScale.LOG), (total, EffectScale.RAW)):
        levels, rng = drawn(seed)
        assert chosen(program(levels, rng), levels)[0] is scale


def test_without_interactions_main_effects_decide() -> None:
    levels, rng = drawn(1)
    terms = model_terms(Model.of_order(SIZES, 2), levels, ONE_BLOCK)
    mains = np.hstack([terms.columns[term] for term in terms.main_effects])
    values = np.exp(levels[:, 0] + 0.1 * rng.standard_normal(RUNS))
    assert chosen(values, levels) == choose_scale(values, mains, ONE_BLOCK)


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_equal_values_and_values_below_zero_have_a_scale(value: float) -> None:
    levels, _ = drawn(1)
    assert chosen(np.full(RUNS, value), levels)[0] is EffectScale.RAW
    assert chosen(levels[:, 0] - 0.5, levels)[0] is EffectScale.RAW


def test_repetitions_show_no_more_interactions_than_configurations() -> None:
    """A product with many small interactions, and noise that adds up: repetitions would make all significant."""
    decided = []
    for seed in range(6):
        levels, rng = drawn(seed)
        signs = 2.0 * levels - 1.0
        pairs = [signs[:, i] * signs[:, j] for i, j in combinations(range(8), 2)]
        log = signs[:, :4] @ np.array([0.5, 0.4, 0.3, 0.2]) + np.column_stack(pairs) @ rng.normal(0.0, 0.06, 28)
        values = np.tile(np.exp(log), 3) + 0.03 * rng.standard_normal(3 * RUNS)
        decided.append(chosen(np.maximum(values, 0.01), np.tile(levels, (3, 1)), np.repeat([0, 1, 2], RUNS))[0])
    assert decided.count(EffectScale.LOG) >= 5
