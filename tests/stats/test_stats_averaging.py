"""The average over models, beside its prior written out as a linear model with independent normal coefficients.

Box and Meyer's posterior probabilities: published numbers, and an independent slow implementation.

The published ones are printed in the vignette of the R package BsMD 2023.920 (Barrios), which runs Meyer's own Fortran,
to three decimals.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from injection_molding import INJECTION, REACTOR, REACTOR_YIELDS
from scipy import stats

from hati.core import FloatArray, InputError
from hati.design import Model
from hati.stats import averaged_model, ordered_settings, rank_by_explained, unordered_settings
from hati.stats.averaging import _kernels, _Likelihood, _Pairs, box_meyer

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


FRACTION = np.array([25, 2, 19, 12, 13, 22, 7, 32]) - 1
FOLLOW_UP = np.array([4, 10, 11, 26]) - 1


def test_injection_molding_with_its_block_as_a_factor() -> None:
    found = box_meyer(INJECTION[:, [1, 2, 3, 4, 5, 6, 7, 8, 0]], INJECTION[:, 9], gamma=2.0, most_active=9)
    assert found.factors == pytest.approx([0.781, 0, 1, 0, 0.987, 0, 0, 0.318, 0.045], abs=6e-4)
    assert found.models[:5] == ((0, 2, 4), (2, 4, 7), (0, 2, 4, 7), (2, 4, 7, 8), (0, 2, 4, 8))
    assert found.probabilities[:5] == pytest.approx([0.672, 0.194, 0.086, 0.024, 0.010], abs=6e-4)
    assert found.variances[:5] == pytest.approx([1.012, 1.154, 0.593, 0.473, 0.519], abs=6e-4)


def test_injection_molding_before_the_follow_up_has_four_equal_models() -> None:
    found = box_meyer(INJECTION[:16][:, [1, 3, 5, 8]], INJECTION[:16, 9], gamma=2.0, most_active=4)
    assert found.probabilities[:5] == pytest.approx([0.236, 0.236, 0.236, 0.236, 0.057], abs=6e-4)
    assert found.variances[:5] == pytest.approx([0.582] * 4 + [0.441], abs=6e-4)


def test_reactor_before_and_after_its_follow_up() -> None:
    first = box_meyer(REACTOR[FRACTION], REACTOR_YIELDS[FRACTION], gamma=0.4)
    assert first.factors == pytest.approx([0.271, 0.375, 0.172, 0.291, 0.170], abs=6e-4)
    rows = np.concatenate([FRACTION, FOLLOW_UP])
    # The vignette's block column is -1 and +1, so that a shift is twice its coefficient.
    after = box_meyer(REACTOR[rows], REACTOR_YIELDS[rows], blocks=np.repeat([0, 1], [8, 4]), gamma=1.2, shift=2.4)
    assert after.factors == pytest.approx([0.012, 0.938, 0.199, 0.873, 0.647], abs=6e-4)
    assert after.models[:5] == ((1, 3, 4), (1, 3), (1, 2, 3, 4), (1,), ())
    assert after.probabilities[:5] == pytest.approx([0.462, 0.209, 0.172, 0.064, 0.041], abs=6e-4)


def _by_density(
    matrix: FloatArray, values: FloatArray, gamma: float, activity: float, order: int
) -> dict[tuple[int, ...], float]:
    """Slowly: the integral over the noise of a multivariate normal density, on a grid of its logarithm."""
    runs, factors = matrix.shape
    weights = {}
    grid = np.linspace(-6.0, 6.0, 1601)
    for size in range(factors + 1):
        for model in combinations(range(factors), size):
            terms = [t for k in range(1, min(order, size) + 1) for t in combinations(model, k)]
            columns = np.column_stack([matrix[:, list(t)].prod(axis=1) for t in terms] or [np.zeros(runs)])
            spread = np.eye(runs) + gamma**2 * columns @ columns.T + 1e6 * np.ones((runs, runs))
            logs = np.array(
                [stats.multivariate_normal.logpdf(values, np.zeros(runs), np.exp(2 * s) * spread) + s for s in grid]
            )
            # The flat mean's own prior would scale with sigma here; a factor of sigma makes it flat again.
            weights[model] = np.log(np.trapezoid(np.exp(logs), grid)) + size * np.log(activity / (1 - activity))
    top = max(weights.values())
    total = sum(np.exp(w - top) for w in weights.values())
    return {model: float(np.exp(w - top) / total) for model, w in weights.items()}


def test_replicated_and_unbalanced_runs_against_integration_over_the_noise() -> None:
    rng = np.random.default_rng(5)
    matrix = rng.choice([-1.0, 1.0], (11, 3))
    matrix[5] = matrix[4]
    values = 1.2 * matrix[:, 0] + 0.8 * matrix[:, 0] * matrix[:, 2] + rng.standard_normal(11)
    slow = _by_density(matrix, values, gamma=1.7, activity=0.25, order=2)
    found = box_meyer(matrix, values, gamma=1.7, order=2)
    assert dict(zip(found.models, found.probabilities, strict=True)) == pytest.approx(slow, rel=1e-3)


def test_gamma_by_default_makes_the_empty_model_least_probable() -> None:
    values, matrix = INJECTION[:16, 9], INJECTION[:16, 1:9]
    best = box_meyer(matrix, values, most_active=3)
    nothing = {
        gamma: dict(zip(m.models, m.probabilities, strict=True))[()]
        for gamma in (0.5, 1.0, 2.0, 4.0, 9.0)
        for m in [box_meyer(matrix, values, most_active=3, gamma=gamma)]
    }
    own = dict(zip(best.models, best.probabilities, strict=True))[()]
    assert own <= min(nothing.values())


@pytest.mark.parametrize("wrong", [{"activity": 0.0}, {"order": 0}, {"most_active": 0}, {"most_active": 30}])
def test_what_cannot_be_asked_is_an_error(wrong: dict[str, float]) -> None:
    matrix = np.ones((8, 40 if wrong.get("most_active") == 30 else 3))
    with pytest.raises(InputError):
        box_meyer(matrix, np.arange(8.0), **wrong)  # type: ignore[arg-type]  # keywords of several types
