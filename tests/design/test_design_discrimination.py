"""The MD criterion: published values (as printed in the vignette of the R package BsMD 2023.920), and its own laws."""

from __future__ import annotations

import sys
from itertools import combinations, pairwise, product
from pathlib import Path

import numpy as np
import pytest

from hati.core import FloatArray, InputError
from hati.design.rival_models import (
    Predictions,
    Rival,
    discriminating_runs,
    discrimination,
    one_by_one,
    predictions,
    separations,
)

sys.path.append(str(Path(__file__).parents[1] / "stats"))

from box_meyer import FactorModels, box_meyer
from injection_molding import INJECTION, REACTOR, REACTOR_YIELDS

# The candidates of the vignette: the 16 runs of the fraction in A, C, E and H, in its order.
CANDIDATES = np.array(
    [[a, c, e, a * c * e * s] for s in (-1.0, 1.0) for a in (-1.0, 1.0) for c in (-1.0, 1.0) for e in (-1.0, 1.0)]
)
CANDIDATES[:8, 3] = CANDIDATES[:8, :3].prod(axis=1)
CANDIDATES[8:, 3] = -CANDIDATES[8:, :3].prod(axis=1)


def _columns(matrix: FloatArray, block: float) -> FloatArray:
    terms = [t for size in (1, 2, 3) for t in combinations(range(matrix.shape[1]), size)]
    products = [matrix[:, list(term)].prod(axis=1) for term in terms]
    return np.column_stack([np.ones(len(matrix)), np.full(len(matrix), block), *products])


def _predictions(
    matrix: FloatArray, values: FloatArray, candidates: FloatArray, models: FactorModels, most: int
) -> Predictions:
    factors = matrix.shape[1]
    terms = [t for size in (1, 2, 3) for t in combinations(range(factors), size)]
    rivals = [
        Rival(
            float(probability),
            float(variance),
            np.array([0, 1, *(2 + i for i, term in enumerate(terms) if set(term) <= set(model))]),
        )
        for model, probability, variance in zip(
            models.models[:most], models.probabilities, models.variances, strict=False
        )
    ]
    precisions = np.full(2 + len(terms), models.gamma**-2)
    precisions[0] = 0.0
    return predictions(_columns(matrix, -1.0), values, _columns(candidates, 1.0), precisions, rivals)


@pytest.fixture(scope="module")
def injection() -> Predictions:
    matrix, values = INJECTION[:16][:, [1, 3, 5, 8]], INJECTION[:16, 9]
    return _predictions(matrix, values, CANDIDATES, box_meyer(matrix, values, gamma=2.0, most_active=4), 5)


@pytest.fixture(scope="module")
def reactor() -> Predictions:
    rows = np.array([25, 2, 19, 12, 13, 22, 7, 32]) - 1
    matrix, values = REACTOR[rows], REACTOR_YIELDS[rows]
    return _predictions(matrix, values, REACTOR, box_meyer(matrix, values, gamma=0.4), 32)


@pytest.mark.parametrize(
    ("rows", "published"),
    [
        ((9, 9, 12, 15), 85.726),
        ((9, 12, 14, 15), 84.893),
        ((9, 11, 12, 15), 83.684),
        ((9, 11, 12, 14), 77.136),
        ((9, 9, 11, 12), 77.111),
    ],
)
def test_injection_molding(injection: Predictions, rows: tuple[int, ...], published: float) -> None:
    assert discrimination(injection, [row - 1 for row in rows]) == pytest.approx(published, abs=6e-4)


@pytest.mark.parametrize(
    ("rows", "published"), [((4, 10, 11, 26), 0.615), ((4, 10, 11, 28), 0.610), ((4, 10, 26, 27), 0.608)]
)
def test_reactor(reactor: Predictions, rows: tuple[int, ...], published: float) -> None:
    assert discrimination(reactor, [row - 1 for row in rows]) == pytest.approx(published, abs=6e-4)


def test_exchange_finds_the_published_best(injection: Predictions, reactor: Predictions) -> None:
    rng = np.random.default_rng(1)
    assert discriminating_runs(injection, 4, rng).rows == (8, 8, 11, 14)
    assert discriminating_runs(reactor, 4, rng, starts=10).rows == (3, 9, 10, 25)


def test_exchange_reaches_the_best_of_all_designs_of_two(injection: Predictions) -> None:
    every = max(discrimination(injection, rows) for rows in product(range(16), repeat=2))
    assert discriminating_runs(injection, 2, np.random.default_rng(0)).criterion == pytest.approx(every)


def test_runs_taken_one_by_one_are_each_the_best_beside_those_before(injection: Predictions) -> None:
    rows = one_by_one(injection, 4)
    for number in range(1, 5):
        before = rows[: number - 1]
        gains = [discrimination(injection, [*before, row]) for row in range(16)]
        assert gains[rows[number - 1]] == pytest.approx(max(gains))


def test_no_candidate_is_taken_more_often_than_it_may_be(injection: Predictions) -> None:
    rows = discriminating_runs(injection, 4, np.random.default_rng(1), most_each=1).rows
    assert rows == (8, 11, 13, 14)  # the second best that is published
    with pytest.raises(InputError, match="too few"):
        discriminating_runs(injection, 17, np.random.default_rng(1), most_each=1)


def test_more_runs_tell_more(injection: Predictions) -> None:
    apart = [separations(injection, [8, 11, 14, 8][:size]) for size in (1, 2, 3, 4)]
    for fewer, more in pairwise(apart):
        assert np.all(more >= fewer - 1e-9)
    assert np.allclose(np.diag(apart[-1]), 0.0)


def test_a_follow_up_needs_runs_and_models(injection: Predictions) -> None:
    with pytest.raises(InputError):
        discriminating_runs(injection, 0, np.random.default_rng(1))
    with pytest.raises(InputError):
        predictions(np.eye(2), np.ones(2), np.eye(2), np.ones(2), [])
