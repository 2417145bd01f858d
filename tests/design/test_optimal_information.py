"""The update formulas against determinants, inverses and traces computed anew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.design.optimal.information import Information


@given(st.integers(0, 2**32 - 1), st.booleans(), st.integers(0, 2))
def test_gains_and_exchanges_are_those_of_direct_computation(seed: int, average: bool, lead: int) -> None:
    rng = np.random.default_rng(seed)
    rows, watched = rng.normal(size=(9, 4)), rng.normal(size=(6, 4 - lead))
    prior = np.array([0.0, 0.0, 0.5, 1.0])
    moments = np.cov(rng.normal(size=(4, 30))) if average else None

    def value(x: np.ndarray) -> float:
        matrix = x.T @ x + np.diag(prior)
        return (
            float(np.linalg.slogdet(matrix)[1])
            if moments is None
            else -float(np.trace(np.linalg.inv(matrix) @ moments))
        )

    about = Information(rows.copy(), prior, watched, moments)
    for place in range(3):
        row = rows[place].copy()
        others = np.hstack([np.tile(row[:lead], (6, 1)), watched])
        gains = about.watched_gains(row[None])[0]
        assert about.gains(row[None], others[None])[0] == pytest.approx(gains, rel=1e-6, abs=1e-9)
        before = value(rows)
        for move in range(6):
            changed = rows.copy()
            changed[place] = others[move]
            expected = value(changed) - before
            assert gains[move] == pytest.approx(expected if average else np.expm1(expected), rel=1e-6, abs=1e-8)
        best = int(np.argmax(gains))
        about.exchange(row, others[best])
        rows[place] = others[best]
        assert about.value == pytest.approx(value(rows), rel=1e-8)
        assert about.inverse == pytest.approx(np.linalg.inv(rows.T @ rows + np.diag(prior)), rel=1e-6, abs=1e-8)


def test_many_rows_at_once_have_the_gains_of_each() -> None:
    rng = np.random.default_rng(3)
    rows, others = rng.normal(size=(8, 3)), rng.normal(size=(8, 5, 3))
    about = Information(rows, np.zeros(3))
    each = [about.gains(rows[i][None], others[i][None])[0] for i in range(8)]
    assert about.gains(rows, others) == pytest.approx(np.array(each))
