"""What is important does not depend on which of an option's settings is written first."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import generator
from hati.stats import contrasts
from hati.studies.screening.contrasts import Analysis, analyse

MATRIX = np.array(list(itertools.product((-1, 1), repeat=3)), dtype=np.int8)
ROWS, BLOCKS = np.tile(np.arange(8), 3), np.repeat(np.arange(3), 8)


def analysed(sizes: dict[tuple[int, ...], float], swapped: int | None, seed: int = 1) -> Analysis:
    """Three options whose effects on the logarithm are these; the settings of one may be swapped."""
    logs = sum((size / 2 * MATRIX[ROWS][:, list(term)].prod(axis=1) for term, size in sizes.items()), start=0.0)
    values = 10.0 * np.exp(logs + 1e-6 * generator(seed, "order").standard_normal(24))
    matrix = MATRIX.copy()
    if swapped is not None:
        matrix[:, swapped] *= -1
    return analyse(contrasts(matrix), values, ROWS, BLOCKS, alpha=0.05, relevant=0.01)


@pytest.mark.parametrize(("ratio", "important"), [(1.0101, True), (1 / 1.0101, True), (1.0099, False), (0.9902, False)])
def test_one_per_cent_is_a_ratio_in_either_direction(ratio: float, important: bool) -> None:
    effects = analysed({(0,): np.log(ratio), (1,): 0.5}, None).effects
    assert next(effect.important for effect in effects if effect.term == (0,)) is important


@given(
    st.dictionaries(
        st.sampled_from([(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]),
        st.one_of(st.floats(-0.0102, -0.0098), st.floats(0.0098, 0.0102), st.floats(-1, 1)),
        max_size=4,
    ),
    st.integers(0, 2),
)
def test_swapped_settings_give_the_same_verdicts_and_the_opposite_contrast(
    sizes: dict[tuple[int, ...], float], swapped: int
) -> None:
    one, other = analysed(sizes, None), analysed(sizes, swapped)
    turned = {effect.term: effect for effect in other.effects}
    assert one.readable.scale is other.readable.scale
    for effect in one.effects:
        same = turned[effect.term]
        assert same.important is effect.important
        sign = -1.0 if swapped in effect.term else 1.0
        assert same.contrast == pytest.approx(sign * effect.contrast, abs=1e-9)
