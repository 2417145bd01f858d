"""The average over models, beside its prior written out as a linear model with independent normal coefficients."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import FloatArray
from hati.design import Model
from hati.stats import averaged_model, ordered_settings, rank_by_explained, unordered_settings
from hati.stats.averaging import _kernels, _Likelihood, _Pairs

SIZES = (2, 3, 4)
ALIKE = [unordered_settings(size) for size in SIZES]
POPULATION = np.array(list(product(*map(range, SIZES))), dtype=np.int16)


def test_it_predicts_what_the_linear_model_of_all_effects_with_that_prior_does() -> None:
    rng = np.random.default_rng(1)
    levels = POPULATION[rng.permutation(len(POPULATION))[:16]]
    values = 3.0 + levels[:, 0] + 0.5 * levels[:, 1] * levels[:, 2] + 0.1 * rng.standard_normal(16)
    found = averaged_model(levels, ALIKE, np.ones((16, 1)), values)
    model = Model.of_order(SIZES, 3)
    variances = [100.0]
    for term in model.terms:
        weight = float(np.prod([found.weights[option] / (SIZES[option] - 1) for option in term]))
        columns = int(np.prod([SIZES[option] - 1 for option in term]))
        variances += [weight * (found.main if len(term) == 1 else found.interaction)] * columns
    x, prior = model.matrix(levels), np.diag(variances)
    covariance = x @ prior @ x.T + found.noise * np.eye(16)
    scaled = values - values.mean()
    coefficients = prior @ x.T @ np.linalg.solve(covariance, scaled)
    expected = model.matrix(POPULATION)[:, 1:] @ coefficients[1:]
    assert found.predicted(POPULATION) == pytest.approx(expected, abs=1e-6)


def test_options_that_act_have_weight_and_others_hardly_any() -> None:
    rng = np.random.default_rng(2)
    sizes = (2,) * 8
    levels = rng.integers(0, 2, (48, 8)).astype(np.int16)
    signs = 2.0 * levels - 1.0
    values = signs[:, 0] + signs[:, 1] * signs[:, 2] + 0.02 * rng.standard_normal(48)
    found = averaged_model(levels, [unordered_settings(size) for size in sizes], np.ones((48, 1)), values)
    assert set(np.argsort(-found.weights)[:3].tolist()) == {0, 1, 2}
    assert found.weights[3:].max() < 0.01 * found.weights[:3].min()


@pytest.mark.parametrize("value", [0.0, 0.1, 5e6])
def test_equal_values_predict_no_difference(value: float) -> None:
    found = averaged_model(POPULATION, ALIKE, np.ones((24, 1)), np.full(24, value))
    assert not found.predicted(POPULATION).any()


def test_an_inactive_option_adds_nothing_and_blocks_are_taken_out() -> None:
    levels = np.column_stack([np.tile([0, 1], 12), np.tile([0, 1, -1, 0], 6)]).astype(np.int16)
    blocks = np.repeat(np.eye(2), 12, axis=0)
    values = levels[:, 0] + 50.0 * blocks[:, 1]
    found = averaged_model(levels, [unordered_settings(2)] * 2, blocks, values)
    low, high = found.predicted(np.array([[0, -1], [1, -1]], dtype=np.int16))
    assert high - low == pytest.approx(1.0, abs=0.05)


def test_more_runs_than_weights_are_estimated_from_are_all_used() -> None:
    rng = np.random.default_rng(3)
    levels = rng.integers(0, 3, (400, 2)).astype(np.int16)
    values = levels[:, 1] + rng.standard_normal(400)
    found = averaged_model(levels, [unordered_settings(3)] * 2, np.ones((400, 1)), values)
    assert len(found.coefficients) == 400
    assert found.weights[1] > found.weights[0]


def test_options_that_act_only_together_are_found_together() -> None:
    levels = np.array(list(product((0, 1), repeat=4)), dtype=np.int16)
    signs = 2.0 * levels - 1.0
    values = 2.0 * signs[:, 1] * signs[:, 3] + 1.0 * signs[:, 0]
    assert set(rank_by_explained(levels, values)[:2]) == {1, 3}
    assert set(rank_by_explained(levels, values)[:3]) == {0, 1, 3}


@pytest.mark.parametrize("logs", [-1.0, 0.0, 1.5], ids=["weak", "one", "beyond the settings"])
def test_the_likelihood_is_that_of_the_whole_kernel(logs: float) -> None:
    """Of options with 1, 2 and 4 settings, some inactive, and weights that make factors zero or negative."""
    rng = np.random.default_rng(6)
    sizes = (2, 4, 2, 1)
    alike = [unordered_settings(2), ordered_settings([2, 0, 1, 3]), unordered_settings(2), unordered_settings(1)]
    levels = np.column_stack([rng.integers(0, size, 12) for size in sizes]).astype(np.int16)
    levels[:5, 1] = -1
    values, given = rng.standard_normal(12), np.ones((12, 12))
    found = _Likelihood(_Pairs.of(levels, alike), given, values)
    point = np.full(7, logs) + np.array([0.0, 0.3, 0.0, 0.0, 0.0, -0.5, 0.0])

    def whole(at: FloatArray) -> float:
        weights, (main, interaction, noise) = np.exp(at[:-3]), np.exp(at[-3:])
        additive, beyond = _kernels(weights, levels, levels, alike)
        covariance = main * additive + interaction * beyond + given + noise * np.eye(12)
        fit = values @ np.linalg.solve(covariance, values) + np.linalg.slogdet(covariance)[1]
        return float(0.5 * (fit + weights.sum() + interaction))

    value, gradient = found(point)
    assert value == pytest.approx(whole(point), rel=1e-8 if logs == 0.0 else 1e-12)
    steps = 1e-6 * np.eye(7)
    numeric = [(whole(point + step) - whole(point - step)) / 2e-6 for step in steps]
    assert gradient == pytest.approx(numeric, rel=1e-5, abs=1e-6)


def test_ordered_settings_are_as_alike_as_they_are_near() -> None:
    alike = ordered_settings([2, 0, 1, 3])
    assert np.trace(alike) == pytest.approx(4.0)
    assert alike.sum(axis=0) == pytest.approx(np.zeros(4))
    assert alike[1, 2] > alike[1, 0] > alike[1, 3]
    assert ordered_settings([1, 0]) == pytest.approx(unordered_settings(2))


def test_what_neighbours_do_is_expected_of_a_number_that_was_not_run() -> None:
    levels = np.array([[0], [1], [2], [4], [5]] * 2, dtype=np.int16)
    values = levels[:, 0] + np.tile([0.02, -0.01, 0.0, 0.01, -0.02], 2)
    found = averaged_model(levels, [ordered_settings(range(6))], np.ones((10, 1)), values)
    low, between, high = found.predicted(np.array([[2], [3], [4]], dtype=np.int16))
    assert low < between < high


@given(st.lists(st.floats(0.0, 2.0), min_size=3, max_size=3), st.integers(0, 2**32 - 1))
def test_kernels_are_sums_and_products_over_options(weights: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = (rng.integers(-1, SIZES, (runs, 3)).astype(np.int16) for runs in (3, 5))
    additive, beyond = _kernels(np.array(weights), one, other, ALIKE)
    for (i, row), (j, column) in product(enumerate(one), enumerate(other)):
        each = [
            weight * (alike[a, b] if min(a, b) >= 0 else 0.0)
            for weight, alike, a, b in zip(weights, ALIKE, row, column, strict=True)
        ]
        assert additive[i, j] == pytest.approx(sum(each))
        assert beyond[i, j] == pytest.approx(np.prod(1.0 + np.array(each)) - 1.0 - sum(each), abs=1e-12)
