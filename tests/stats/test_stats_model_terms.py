"""The terms of a model: what each adds to all others."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hati.stats.model_terms import ModelTerms


@given(st.integers(0, 2**32 - 1), st.integers(2, 14), st.lists(st.integers(1, 3), max_size=4), st.booleans())
def test_what_terms_add_to_all_others_is_what_each_adds_by_itself(
    seed: int, runs: int, widths: list[int], repeated: bool
) -> None:
    rng = np.random.default_rng(seed)
    columns = {(place,): rng.standard_normal((runs, width)) for place, width in enumerate(widths)}
    if repeated and len(columns) > 1:
        columns[(0,)] = columns[(1,)] @ rng.standard_normal((columns[(1,)].shape[1], widths[0]))
    terms = ModelTerms(np.column_stack([np.ones(runs), rng.standard_normal(runs)]), columns)
    model = tuple(columns)
    found = terms.added_to_others(model)
    assert tuple(found) == model
    for term, added in found.items():
        alone = terms.added(term, [other for other in model if other != term])
        assert added.shape == alone.shape
        assert np.allclose(added.T @ added, np.eye(added.shape[1]), atol=1e-6)
        assert np.allclose(added @ added.T, alone @ alone.T, atol=1e-5)
