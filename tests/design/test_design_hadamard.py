"""Hadamard matrices and Plackett-Burman designs: orthogonal by counting, with the partial aliases that are known."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from msgspec.structs import asdict

from hati.core import InputError
from hati.design import (
    Design,
    clear_interactions,
    describe,
    foldover,
    hadamard,
    letters,
    partial_aliases,
    plackett_burman,
    plackett_burman_sizes,
    properties,
    word_length_pattern,
)
from hati.design.constructions import field, prime_power, reachable_orders

# Plackett and Burman's (1946) own generator for 12 runs, their run of minuses last.
CYCLE = "++-+++---+-"


@pytest.mark.parametrize("size", [2, 3, 4, 5, 7, 8, 9, 16, 25, 27, 32, 49, 64, 81, 128])
def test_a_field_is_one(size: int) -> None:
    elements = field(size)
    add, times = elements.add, elements.multiply
    assert all(sorted(row) == list(range(size)) for row in times[1:, :].tolist())
    a, b, c = np.random.default_rng(size).integers(size, size=(3, 500))
    assert np.array_equal(times[a, add[b, c]], add[times[a, b], times[a, c]])
    assert np.array_equal(times[times[a, b], c], times[a, times[b, c]])
    assert np.array_equal(add[add[a, b], c], add[a, add[b, c]])
    assert not add[a, elements.negative[a]].any()
    assert np.array_equal(times[1, a], a)
    assert np.array_equal(add[0, a], a)
    squares = {int(times[x, x]) for x in range(1, size)}
    assert {x for x in range(size) if elements.character[x] == 1} == squares


def test_what_is_no_field() -> None:
    assert prime_power(12) is None
    with pytest.raises(InputError, match="no field of 12"):
        field(12)


@pytest.mark.parametrize("order", reachable_orders(256))
def test_columns_are_orthogonal(order: int) -> None:
    matrix = hadamard(order).astype(int)
    assert np.array_equal(matrix.T @ matrix, order * np.eye(order, dtype=int))
    assert np.all(matrix[0] == 1)
    assert np.all(matrix[:, 0] == 1)


def test_only_92_is_missing_up_to_100() -> None:
    assert set(range(4, 101, 4)) - set(reachable_orders(100)) == {92}
    assert plackett_burman_sizes() == tuple(n for n in range(8, 101, 4) if n != 92)
    with pytest.raises(InputError, match="order 92"):
        hadamard(92)


@pytest.mark.parametrize("runs", plackett_burman_sizes())
def test_every_size_has_orthogonal_main_effects(runs: int) -> None:
    design = plackett_burman(tuple(f"x{i}" for i in range(runs - 1)), runs)
    values = design.matrix.astype(int)
    assert design.kind == "Plackett-Burman"
    assert np.array_equal(values.T @ values, runs * np.eye(runs - 1, dtype=int))
    assert not values.sum(axis=0).any()
    assert np.all(design.matrix[0] == -1)


def test_twelve_runs_alias_each_interaction_by_a_third_with_every_other_main_effect() -> None:
    design = plackett_burman(letters(11))
    assert design.runs == 12
    for pair in combinations(design.factors, 2):
        partial = {alias.factors: alias.coefficient for alias in partial_aliases(design, pair, 1)}
        assert partial.keys() == {(name,) for name in design.factors if name not in pair}
        assert {abs(value) for value in partial.values()} == {1 / 3}
    assert clear_interactions(design) == ()


def test_twelve_runs_have_the_published_pattern() -> None:
    first = np.array([1 if sign == "+" else -1 for sign in CYCLE])
    published = Design("given", letters(11), np.vstack([*(np.roll(first, k) for k in range(11)), [-1] * 11]))
    assert properties(published).orthogonal
    # There is one Hadamard matrix of order 12 up to signs and permutations, so that all its patterns are equal.
    assert word_length_pattern(plackett_burman(letters(11))) == word_length_pattern(published)
    pattern = word_length_pattern(plackett_burman(letters(5), 12))
    assert pattern[3] == pytest.approx(10 / 9)  # each of 10 triples: (1/3)^2
    assert pattern[4] == pytest.approx(5 / 9)


def test_twenty_runs_have_coefficients_of_fifths() -> None:
    design = plackett_burman(letters(19))
    found = {round(abs(a.coefficient) * 5) for a in partial_aliases(design, ("A", "B"), 1)}
    assert design.runs == 20
    assert found <= {1, 3}
    assert properties(design).resolution == 3
    assert not properties(design).regular


def test_powers_of_two_that_are_doubled_are_regular_with_resolution_four_up_to_half() -> None:
    assert properties(plackett_burman(letters(8), 16)).resolution == 4
    assert properties(plackett_burman(letters(15), 16)).regular
    assert properties(plackett_burman(letters(20), 40)).resolution == 4


def test_a_foldover_frees_main_effects_from_interactions() -> None:
    design = foldover(plackett_burman(letters(11)))
    assert design.runs == 24
    assert properties(design).resolution == 4
    assert not any(len(a.factors) == 2 for a in partial_aliases(design, ("A",), 2))


def test_large_designs_can_be_described() -> None:
    told = asdict(describe(plackett_burman(tuple(f"x{i}" for i in range(47)), 48)))
    assert told["resolution"] == 3
    assert told["words"] == []


@pytest.mark.parametrize(
    ("factors", "runs", "message"),
    [
        (5, 10, "8 and 12 runs"),
        (5, 92, "88 and 96 runs"),
        (5, 4, "the nearest: 8 runs"),
        (12, 12, "room for 11 factors.* use 16 runs"),
        (100, None, "at most 99"),
        (120, 100, "use fewer factors"),
    ],
)
def test_what_cannot_be_had(factors: int, runs: int | None, message: str) -> None:
    with pytest.raises(InputError) as error:
        plackett_burman(tuple(f"x{i}" for i in range(factors)), runs)
    assert re.search(message, str(error.value))
