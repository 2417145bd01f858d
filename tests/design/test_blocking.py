"""Blocks: what they confound, counted from the runs, against the textbooks' best."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import InputError
from hati.design import (
    Blocks,
    Design,
    blocked,
    by_runs,
    clear_interactions,
    foldover,
    full_factorial,
    letters,
    plackett_burman,
    replicated,
)


def hidden(design: Design, blocks: Blocks, order: int) -> set[tuple[str, ...]]:
    """The effects that are constant within every block and not over all."""
    found = set()
    of_runs = np.array(blocks.of_runs)
    for chosen in combinations(range(len(design.factors)), order):
        product = design.matrix[:, chosen].prod(axis=1)
        within = all(len(set(product[of_runs == block].tolist())) == 1 for block in range(1, blocks.number + 1))
        if within and len(set(product.tolist())) == 2:
            found.add(tuple(design.factors[j] for j in chosen))
    return found


# How many two-factor interactions the best blocking of a full factorial confounds; those not 0 by trying all.
BEST = [(3, 2, 0), (3, 4, 3), (4, 2, 0), (4, 4, 1), (5, 2, 0), (5, 4, 0), (5, 8, 2), (6, 8, 0), (6, 16, 3), (7, 16, 0)]


@pytest.mark.parametrize(("factors", "number", "pairs"), BEST)
def test_full_factorials_lose_as_few_interactions_as_can_be(factors: int, number: int, pairs: int) -> None:
    design = full_factorial(letters(factors))
    blocks = blocked(design, number)
    assert np.array_equal(np.bincount(blocks.of_runs)[1:], [design.runs // number] * number)
    assert hidden(design, blocks, 1) == set()
    assert len(hidden(design, blocks, 2)) == pairs == len(blocks.lost)


@pytest.mark.parametrize(("factors", "number", "pairs"), [row for row in BEST if row[2] and row[0] < 6])
def test_no_blocking_does_better(factors: int, number: int, pairs: int) -> None:
    weight = [bin(column).count("1") for column in range(2**factors)]
    fewest = 10**6
    for generators in combinations(range(1, 2**factors), number.bit_length() - 1):
        spanned = {0}
        for generator in generators:
            spanned |= {generator ^ member for member in spanned}
        weights = [weight[member] for member in spanned]
        if len(spanned) == number and 1 not in weights:
            fewest = min(fewest, weights.count(2))
    assert fewest == pairs


@pytest.mark.parametrize(("factors", "runs", "number"), [(5, 16, 2), (7, 32, 4), (8, 32, 4), (7, 64, 8), (14, 128, 8)])
def test_fractions_keep_main_effects_and_tell_what_is_hidden(factors: int, runs: int, number: int) -> None:
    design = by_runs(letters(factors), runs)
    blocks = blocked(design, number)
    assert blocks.number == number
    assert hidden(design, blocks, 1) == set()
    assert hidden(design, blocks, 2) | hidden(design, blocks, 3) == set(blocks.confounded)
    assert set(blocks.lost) == hidden(design, blocks, 2) & set(clear_interactions(design))


def test_interactions_that_are_aliased_already_are_given_up_first() -> None:
    design = by_runs(letters(8), 32)
    assert len(clear_interactions(design)) == 13
    assert blocked(design, 4).lost == ()


@given(st.integers(3, 7), st.integers(1, 3), st.integers(1, 3))
def test_generators_tell_the_block(factors: int, exponent: int, times: int) -> None:
    design = replicated(full_factorial(letters(factors)), times)
    number = 2 ** min(exponent, factors - 1)
    blocks = blocked(design, number)
    signs = [design.matrix[:, [letters(factors).index(c) for c in g]].prod(axis=1) for g in blocks.generators]
    keys = {block: set() for block in range(1, number + 1)}
    for block, *key in zip(blocks.of_runs, *signs, strict=True):
        keys[block].add(tuple(int(sign) for sign in key))
    assert all(len(its) == 1 for its in keys.values())
    assert len(set.union(*keys.values())) == number


def test_a_foldover_that_is_regular_can_be_blocked() -> None:
    assert blocked(foldover(by_runs(letters(7), 8)), 2).number == 2


@pytest.mark.parametrize(
    ("design", "number", "message"),
    [
        (plackett_burman(letters(11)), 2, "only a regular design"),
        (full_factorial(letters(4)), 3, "not a valid number of blocks"),
        (full_factorial(letters(4)), 16, "use at most 8"),
        (by_runs(letters(15), 16), 2, "hide main effects"),
        (full_factorial(letters(15)), 2, "too large to block"),
    ],
)
def test_what_cannot_be_blocked(design: Design, number: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        blocked(design, number)
