"""Columns by index equal those of the model, for rows and for their neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.design.optimal.coding import INACTIVE, Columns, Model, candidates
from hati.design.optimal.information import basis, independent
from hati.space import Option, Space, parse_formula

SIZES = st.lists(st.integers(1, 4), min_size=1, max_size=5)


@given(SIZES, st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_columns_are_those_of_the_model(sizes: list[int], order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = Model.of_order(sizes, min(order, len(sizes)))
    rows = rng.integers(INACTIVE, sizes, (7, len(sizes))).astype(np.int16)
    assert np.allclose(Columns(model).matrix(rows), model.matrix(rows))


@given(SIZES, st.integers(1, 2), st.integers(0, 2**32 - 1))
def test_neighbours_are_shifted_rows(sizes: list[int], order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = Columns(Model.of_order(sizes, min(order, len(sizes))))
    rows = rng.integers(0, sizes, (3, len(sizes))).astype(np.int16)
    found = columns.neighbours(rows)
    for row, neighbours in zip(rows, found, strict=True):
        for option, shift, neighbour in zip(*columns.moves, neighbours, strict=True):
            moved = row.copy()
            moved[option] = (row[option] + shift) % sizes[option]
            assert np.allclose(neighbour, columns.matrix(moved[None])[0])


@given(SIZES, st.integers(2, 3))
def test_ranges_are_those_over_all_combinations(sizes: list[int], order: int) -> None:
    columns = Columns(Model.of_order(sizes, min(order, len(sizes))))
    everything = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), -1).reshape(-1, len(sizes))
    assert np.allclose(columns.ranges, np.ptp(columns.matrix(everything.astype(np.int16)), axis=0))


def test_independent_columns_come_first() -> None:
    rng = np.random.default_rng(1)
    a, b, c = rng.normal(size=(3, 20))
    columns = np.column_stack([a, b, a + b, np.zeros(20), c, c - a])
    assert independent(columns.T @ columns).tolist() == [0, 1, 4]


def test_potential_columns_are_orthogonal_to_primary_ones_and_have_range_one() -> None:
    options = tuple(Option(name, ("0", "1", "2")[: 2 + (name == "c")], "0") for name in "abc")
    space = Space(options, (parse_formula("a == '0' or b == '0' or c == '2'"),))
    among = candidates(space, np.random.default_rng(1))
    made = basis(among, Model.of_order((2, 2, 3), 2), among.levels[:0], 1, 1.0)
    rows = made.matrix(among.levels)
    assert made.primary == 5
    assert np.abs(rows[:, :5].T @ rows[:, 5:]).max() < 1e-9
    assert np.ptp(rows[:, 5:], axis=0) == pytest.approx(np.ones(len(rows.T) - 5))
    assert made.prior[5:] == pytest.approx(1.0)
