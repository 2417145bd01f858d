"""The likelihood of models: Box and Meyer's posterior probabilities, as published and by a slow implementation.

The published ones are printed in the vignette of the R package BsMD 2023.920 (Barrios), which runs Meyer's own Fortran,
to three decimals.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from box_meyer import box_meyer
from injection_molding import INJECTION, REACTOR, REACTOR_YIELDS
from scipy import stats

from hati.core import FloatArray

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
