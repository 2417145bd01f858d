"""Outliers among the runs of a design."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from hati.core import FloatArray
from hati.stats import ModelTerms, suspect_runs


def two_level(options: int) -> FloatArray:
    return np.array(list(product((-1.0, 1.0), repeat=options)))


def terms(signs: FloatArray) -> ModelTerms:
    pairs = combinations(range(signs.shape[1]), 2)
    columns = {(i,): signs[:, [i]] for i in range(signs.shape[1])}
    products = {(i, j): signs[:, [i]] * signs[:, [j]] for i, j in pairs}
    return ModelTerms(np.ones((len(signs), 1)), {**columns, **products})


@pytest.mark.parametrize("sizes", [(0.0,) * 5, (1.25,) * 5, (40.0, 10.0, 2.0, 0.0, 0.0)])
def test_one_outlier_of_thirty_deviations_is_the_most_suspect(sizes: tuple[float, ...]) -> None:
    signs = two_level(5)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        place = int(rng.integers(32))
        values = signs @ np.array(sizes) + rng.standard_normal(32)
        shifted = values + 30.0 * (np.arange(32) == place)
        found = suspect_runs(terms(signs), shifted)
        assert found.places[0] == place
        assert len(found.places) <= 2
        assert found.shifts[0] == pytest.approx(30.0, abs=4.0)
        assert found.without(shifted)[place] == pytest.approx(values[place], abs=5.0)


def test_the_most_suspect_comes_first() -> None:
    rng = np.random.default_rng(3)
    signs = two_level(6)
    values = 3.0 * signs[:, 0] + rng.standard_normal(64)
    values[[4, 50, 20]] += (20.0, -40.0, 30.0)
    assert suspect_runs(terms(signs), values).places.tolist() == [50, 20, 4]


def test_nothing_is_suspect_without_noise_in_few_runs_and_where_all_are_alike() -> None:
    signs = two_level(5)
    assert not len(suspect_runs(terms(signs), 2.0 * signs[:, 0] + signs[:, 0] * signs[:, 1]).places)
    assert not len(suspect_runs(terms(signs), np.full(32, 7.0)).places)
    few = two_level(3)
    assert not len(suspect_runs(terms(few), np.arange(8.0) ** 4).places)


def test_clean_runs_are_rarely_suspect() -> None:
    """One in a hundred by construction: more than 6 of 100 are seen in one of ten thousand."""
    signs = two_level(5)
    suspect = [
        bool(len(suspect_runs(terms(signs), np.random.default_rng(seed).standard_normal(32)).places))
        for seed in range(100)
    ]
    assert sum(suspect) <= 6


def test_settings_beyond_two_are_terms_with_several_columns() -> None:
    rng = np.random.default_rng(1)
    settings = np.array(list(product(range(3), repeat=3)))
    columns = {(i,): np.eye(3)[settings[:, i]][:, 1:] - 1 / 3 for i in range(3)}
    values = 4.0 * (settings[:, 0] == 2) + rng.standard_normal(27)
    values[11] += 25.0
    assert suspect_runs(ModelTerms(np.ones((27, 1)), columns), values).places.tolist() == [11]
