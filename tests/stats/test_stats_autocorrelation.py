from __future__ import annotations

import numpy as np
import pytest

from hati.core import FloatArray
from hati.stats import lag_one, normal_scores
from hati.stats.series.dependence import contrast_variance, sum_variance


def correlations(size: int, phi: float) -> FloatArray:
    places = np.arange(size)
    return np.asarray(phi ** np.abs(np.subtract.outer(places, places)))


def autoregressive(size: int, phi: float, rng: np.random.Generator) -> FloatArray:
    values = rng.normal(size=size)
    for place in range(1, size):
        values[place] = phi * values[place - 1] + np.sqrt(1.0 - phi**2) * values[place]
    return values


@pytest.mark.parametrize("phi", [-0.3, 0.0, 0.4, 0.9])
def test_the_variance_of_a_sum_is_that_of_the_correlation_matrix(phi: float) -> None:
    sizes = np.arange(13)
    expected = [correlations(size, phi).sum() for size in sizes]
    assert sum_variance(sizes, np.array(phi)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("phi", [-0.3, 0.0, 0.4, 0.9])
@pytest.mark.parametrize(("start", "stop"), [(0, 1), (0, 7), (3, 9), (5, 6), (8, 11)])
def test_the_variance_of_a_contrast_is_that_of_the_correlation_matrix(phi: float, start: int, stop: int) -> None:
    size = 12
    weights = np.full(size, -1.0 / (size - (stop - start)))
    weights[start:stop] = 1.0 / (stop - start)
    expected = weights @ correlations(size, phi) @ weights / (weights @ weights)
    found = contrast_variance(np.array([start]), np.array([stop]), size, np.array(phi))
    assert found == pytest.approx([expected])


@pytest.mark.parametrize("phi", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("step", [0.0, 4.0])
def test_steps_hardly_inflate_the_autocorrelation(phi: float, step: float) -> None:
    rng = np.random.default_rng(3)
    groups = np.zeros(400, dtype=np.intp)
    levels = step * (np.arange(400) // 100 % 2)
    found = [lag_one(normal_scores(autoregressive(400, phi, rng) + levels, groups)) for _ in range(60)]
    assert np.mean(found) == pytest.approx(phi, abs=0.06)


def test_equal_values_have_none() -> None:
    assert lag_one(np.zeros(9)) == 0.0


def test_normal_scores_are_those_of_blom() -> None:
    from scipy import stats

    values = np.array([3.0, 1.0, 2.0, 2.0, 9.0, -4.0, 8.0])
    blom = stats.norm.ppf((stats.rankdata(values) - 0.375) / 7.25)
    blom -= blom.mean()
    assert normal_scores(values, np.zeros(7, dtype=np.intp)) == pytest.approx(blom / blom.std())


def test_groups_have_levels_and_noise_of_their_own() -> None:
    rng = np.random.default_rng(1)
    groups = np.arange(60) % 3
    values = rng.normal(size=60)
    scores = normal_scores(values, groups)
    assert normal_scores(values + 100.0 * groups, groups) == pytest.approx(scores)
    assert normal_scores(values * (1.0 + 9.0 * groups), groups) == pytest.approx(scores)
    assert np.bincount(groups, scores) == pytest.approx(np.zeros(3), abs=1e-12)
