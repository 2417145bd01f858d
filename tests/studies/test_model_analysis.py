"""From runs of any design to effects: what is independent, what cannot be told, what the model leaves out."""

from __future__ import annotations

import numpy as np
import pytest

from hati.core import FloatArray
from hati.design import Levels, Model
from hati.space import Option
from hati.stats import Index
from hati.studies.screening import EffectScale, Noise
from hati.studies.screening.model import ModelAnalysis, analyse_model, analyse_model_variance
from hati.studies.screening.model_conclusion import ranking
from hati.studies.screening.runs import model_units


def spread(sizes: tuple[int, ...], runs: int, seed: int = 1) -> Levels:
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.permutation(np.arange(runs) % size) for size in sizes]).astype(np.int16)


def analysed(
    sizes: tuple[int, ...],
    levels: Levels,
    values: FloatArray,
    *,
    blocks: Index | None = None,
    order: int = 2,
    relevant: float = 0.0,
    seed: int = 1,
) -> ModelAnalysis:
    blocks = np.zeros(len(values), dtype=np.intp) if blocks is None else blocks
    model = Model.of_order(sizes, min(order, len(sizes)))
    return analyse_model(model, levels, values, blocks, np.random.default_rng(seed), alpha=0.05, relevant=relevant)


def important(analysis: ModelAnalysis) -> set[tuple[int, ...]]:
    return {effect.term for effect in analysis.effects if effect.important}


@pytest.mark.parametrize("runs", [1, 2, 3, 4])
def test_a_few_runs_conclude_nothing(runs: int) -> None:
    levels = spread((2, 2, 3), runs)
    found = analysed((2, 2, 3), levels, 1.0 + np.arange(runs))
    assert important(found) == set()
    assert found.judged_by is Noise.NONE
    options = [Option(name, tuple(range(size)), default=0) for name, size in zip("abc", (2, 2, 3), strict=True)]
    assert sorted(ranking(found, levels, options)) == [0, 1, 2]


@pytest.mark.parametrize("value", [0.0, 0.1, 5e6, -3.0])
def test_equal_values_show_nothing(value: float) -> None:
    found = analysed((2, 2, 3), spread((2, 2, 3), 24), np.full(24, value))
    assert important(found) == set()
    assert found.readable.scale is EffectScale.RAW
    assert all(effect.p_value == 1.0 and effect.share == 0.0 for effect in found.effects)


def test_effects_below_the_relevant_fraction_are_significant_and_not_important() -> None:
    levels = spread((2, 2, 3), 36)
    values = np.exp(0.005 * levels[:, 0] + 1e-4 * np.random.default_rng(2).standard_normal(36))
    small = analysed((2, 2, 3), levels, values, relevant=0.01)
    (effect,) = (e for e in small.effects if e.term == (0,))
    assert effect.p_value == 0.001
    assert important(small) == set()
    assert important(analysed((2, 2, 3), levels, values, relevant=0.001)) == {(0,)}


def test_an_option_with_one_setting_is_neither_shown_nor_missed() -> None:
    levels = spread((2, 1, 3), 24)
    found = analysed((2, 1, 3), levels, 1.0 + levels[:, 0] + 0.1 * np.random.default_rng(1).random(24))
    assert important(found) == {(0,)}
    assert {effect.term for effect in found.effects} == {(0,), (2,)}
    assert found.missing == ()


def test_options_that_always_change_together_are_named_as_missing_and_not_shown() -> None:
    levels = spread((2, 2, 3), 30)
    levels[:, 1] = levels[:, 0]
    found = analysed((2, 2, 3), levels, 1.0 + levels[:, 0] + 0.1 * np.random.default_rng(1).random(30))
    assert found.missing == ((0,), (1,))
    assert important(found) == set()
    assert [effect.term for effect in found.effects] == [(2,)]


def test_configurations_are_the_units_where_there_are_enough_of_them() -> None:
    model = Model.of_order((2, 2, 3), 2)  # five parameters of main effects
    rng = np.random.default_rng(1)
    few = np.unique(spread((2, 2, 3), 60), axis=0)
    assert len(few) == 12
    twice = np.vstack([few, few])
    assert model_units(model, twice, np.repeat([0, 1], 12)).are_runs
    wide = Model.of_order((2,) * 6, 2)
    different = np.unique(rng.integers(0, 2, (200, 6)), axis=0).astype(np.int16)
    units = model_units(wide, np.vstack([different] * 2), np.repeat([0, 1], len(different)))
    assert not units.are_runs
    assert np.array_equal(units.levels[units.places], np.vstack([different] * 2))
    assert model_units(wide, different, np.zeros(len(different), dtype=np.intp)).are_runs


@pytest.mark.acceptance
@pytest.mark.statistical
def test_what_is_said_to_be_found_with_80_per_cent_power_is() -> None:
    """100 studies of an effect of the size that most of 20 studies tell; .67 and .92 are the 0.5 % quantiles."""
    rng = np.random.default_rng(5)
    levels = rng.integers(0, 2, (32, 6)).astype(np.int16)
    told = [analysed((2,) * 6, levels, 10 + rng.standard_normal(32), seed=seed).detectable for seed in range(20)]
    size = float(np.median([found[0] for found in told if found]))
    hits = 0
    for seed in range(100):
        values = 10 + size * levels[:, 0] + rng.standard_normal(32)
        hits += (0,) in important(analysed((2,) * 6, levels, values, seed=seed))
    assert 67 <= hits <= 92


@pytest.mark.acceptance
@pytest.mark.statistical
def test_two_of_four_settings_that_differ_are_found_as_often_as_is_said() -> None:
    """The worst case of an option with several settings: the others in the middle. As above."""
    rng = np.random.default_rng(6)
    levels = np.column_stack([rng.integers(0, size, 48) for size in (4, 4, 2, 2)]).astype(np.int16)
    told = [analysed((4, 4, 2, 2), levels, 10 + rng.standard_normal(48), seed=seed).detectable for seed in range(20)]
    size = float(np.median([found[0] for found in told if found]))
    hits = 0
    for seed in range(100):
        values = 10 + size * np.array([0.0, 0.5, 0.5, 1.0])[levels[:, 0]] + rng.standard_normal(48)
        hits += (0,) in important(analysed((4, 4, 2, 2), levels, values, seed=seed))
    assert 67 <= hits <= 92


@pytest.mark.acceptance
def test_repetitions_make_nothing_certain_that_the_model_leaves_out() -> None:
    """Configurations differ for reasons beyond the model, runs of one hardly; taken for independent, all alarm."""
    rng = np.random.default_rng(3)
    sizes, alarms, studies = (2,) * 7, 0, 60
    for number in range(studies):
        levels = np.unique(spread(sizes, 34, number), axis=0)
        deviations = 0.1 * rng.standard_normal(len(levels))
        values = np.exp(np.tile(deviations, 3) + 0.01 * rng.standard_normal(3 * len(levels)))
        blocks = np.repeat(np.arange(3), len(levels))
        alarms += bool(important(analysed(sizes, np.vstack([levels] * 3), values, blocks=blocks, seed=number)))
    assert alarms <= 8  # the 99 % binomial bound of 5 %


def test_blocks_do_not_pass_for_effects_when_the_last_is_incomplete() -> None:
    rng = np.random.default_rng(4)
    sizes = (2,) * 5
    levels = np.unique(spread(sizes, 60), axis=0)
    runs = np.vstack([levels, levels[:9]])
    blocks = np.repeat([0, 1], [len(levels), 9])
    values = np.exp(0.5 * blocks + 0.1 * runs[:, 0] + 0.01 * rng.standard_normal(len(runs)))
    found = analysed(sizes, runs, values, blocks=blocks)
    assert important(found) == {(0,)}
    (effect,) = (e for e in found.effects if e.term == (0,))
    assert effect.decided.estimate == pytest.approx(0.1, abs=0.02)


def test_a_variance_that_an_option_changes_is_found() -> None:
    rng = np.random.default_rng(5)
    levels = spread((2, 2, 3), 48)
    logs = np.log(rng.chisquare(9, 48) / 9) + 1.5 * levels[:, 1]
    model, blocks = Model.of_order((2, 2, 3), 2), np.zeros(48, dtype=np.intp)
    found = analyse_model_variance(model, levels, logs, blocks, rng, alpha=0.05, relevant=0.01)
    assert important(found) == {(1,)}
    assert all(len(effect.term) == 1 for effect in found.effects)
