"""Partial configurations against all valid ones."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.space import Option, Space, enumerate_configurations, parse_formula
from hati.space.arrays import INACTIVE, OPEN, Completion

FORMULAS = [
    "a == 0 or b == 0",
    "c == 2 => d != 1",
    "not (b == 1 and e and d == 0)",
    "a + c < 3",
    "e => a == d",
]


def positions(space: Space) -> np.ndarray:
    found = [
        [
            option.settings.index(configuration[option.name]) if option.name in configuration else INACTIVE
            for option in space.options
        ]
        for configuration in enumerate_configurations(space)
    ]
    return np.array(found)


@pytest.fixture(scope="module")
def nested() -> Space:
    options = (
        Option("a", (0, 1), 0),
        Option("b", (0, 1, 2), 0, active_if=parse_formula("a == 1")),
        Option("c", (0, 1, 2), 0),
        Option("d", (0, 1), 0, active_if=parse_formula("b > 0")),
        Option("free", (0, 1, 2, 3, 4), 0),
    )
    return Space(options, (parse_formula("c == 2 => b == 2"),))


def expected(everything: np.ndarray, row: np.ndarray) -> bool:
    return bool(np.any(np.all((row == OPEN) | (everything == row), axis=1)))


def test_every_partial_configuration_of_a_nested_space(nested: Space) -> None:
    everything = positions(nested)
    choices = [(OPEN, INACTIVE, *range(len(option.settings))) for option in nested.options]
    rows = np.array(list(product(*choices)))
    found = Completion(nested).possible(rows)
    assert found.tolist() == [expected(everything, row) for row in rows]
    assert 0 < found.sum() < len(rows)


@given(st.sets(st.sampled_from(FORMULAS)), st.integers(0, 2**31))
def test_random_spaces(formulas: set[str], seed: int) -> None:
    options = (
        *(Option(name, (0, 1, 2), 0) for name in "abcd"),
        Option("e", (False, True), False),
    )
    space = Space(options, tuple(parse_formula(text) for text in sorted(formulas)))
    everything = positions(space)
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.integers(OPEN, len(option.settings), 50) for option in space.options])
    assert Completion(space).possible(rows).tolist() == [expected(everything, row) for row in rows]


def test_no_rows(nested: Space) -> None:
    assert not len(Completion(nested).possible(np.empty((0, 5), dtype=np.int16)))
