"""Suspect runs of a design whose repeats have the same value, and of one whose repeats vary."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from hati.stats import ModelTerms
from hati.studies.screening.conclusion import EffectScale
from hati.studies.screening.reruns import suspected
from hati.studies.screening.runs import MeasuredDesign

SIGNS = np.array(list(product((-1.0, 1.0), repeat=5)))
ROWS = np.concatenate([np.arange(32), np.arange(12)]).astype(np.intp)
"""All configurations of five options, and twelve of them again."""


@pytest.mark.parametrize(("noise", "suspects"), [(0.0, []), (1e-9, []), (0.05, [31])])
@pytest.mark.parametrize("scale", list(EffectScale))
def test_what_a_model_leaves_is_not_suspect_where_repeats_have_the_same_value(
    noise: float, suspects: list[int], scale: EffectScale
) -> None:
    signs = SIGNS[ROWS]
    pairs = {(i, j): signs[:, [i]] * signs[:, [j]] for i, j in combinations(range(5), 2)}
    terms = ModelTerms(np.ones((44, 1)), {(i,): signs[:, [i]] for i in range(5)} | pairs)
    values = 100.0 + 4.0 * signs[:, 0] + 30.0 * (ROWS == 31) + noise * np.random.default_rng(1).standard_normal(44)
    nothing = np.zeros(44, dtype=np.intp)
    found = MeasuredDesign(values, ROWS, nothing, nothing, np.arange(44), (), (), (), ())
    places, predicted = suspected(terms, found, scale)
    assert places.tolist() == suspects
    assert np.flatnonzero(np.abs(predicted - values) > 1.0).tolist() == suspects
