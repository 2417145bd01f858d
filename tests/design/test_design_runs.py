"""Foldovers, semi-foldovers and replicates: their laws on any design, and what they separate on known ones.

Blocks: what they confound, counted from the runs, against the textbooks' best.
"""

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
    estimability,
    foldover,
    from_generators,
    full_factorial,
    letters,
    plackett_burman,
    properties,
    replicated,
    semifoldover,
    separation,
    word_length_pattern,
)
from hati.design.aliasing import groups, hull


@st.composite
def designs(draw: st.DrawFn) -> Design:
    factors = draw(st.integers(1, 6))
    row = st.lists(st.sampled_from([-1, 1]), min_size=factors, max_size=factors)
    return Design("given", letters(factors), np.array(draw(st.lists(row, min_size=1, max_size=12))))


@given(designs())
def test_a_full_foldover_has_no_odd_words(design: Design) -> None:
    """Every product of an odd number of factors sums to zero."""
    folded = foldover(design)
    assert folded.runs == 2 * design.runs
    assert not any(length % 2 for length in word_length_pattern(folded))


@given(designs(), st.data())
def test_a_foldover_keeps_the_runs_and_reverses_the_named_factors_only(design: Design, data: st.DataObject) -> None:
    named = data.draw(st.sets(st.sampled_from(design.factors), min_size=1))
    folded = foldover(design, sorted(named))
    first, second = folded.matrix[: design.runs], folded.matrix[design.runs :]
    signs = np.array([-1 if name in named else 1 for name in design.factors])
    assert np.array_equal(first, design.matrix)
    assert np.array_equal(second, design.matrix * signs)
    for name in named:
        assert folded.matrix[:, design.factors.index(name)].sum() == 0


@given(designs(), st.integers(1, 5))
def test_replicates_change_nothing_but_the_number_of_runs(design: Design, times: int) -> None:
    repeated = replicated(design, times)
    assert repeated.runs == times * design.runs
    assert np.array_equal(repeated.matrix, np.tile(design.matrix, (times, 1)))
    assert word_length_pattern(repeated) == word_length_pattern(design)
    assert properties(repeated).distinct == properties(design).distinct
    assert (repeated.kind, repeated.generators) == (design.kind, design.generators)


@given(designs())
def test_the_rank_is_that_of_the_models_matrix(design: Design) -> None:
    values = design.matrix.astype(float)
    chosen = [e for order in (1, 2) for e in combinations(range(len(design.factors)), order)]
    model = np.column_stack([np.ones(design.runs), *(values[:, list(e)].prod(axis=1) for e in chosen)])
    known = estimability(design)
    rank = np.linalg.matrix_rank(model)
    assert known.rank == rank
    without = [np.linalg.matrix_rank(np.delete(model, j + 1, axis=1)) < rank for j in range(len(chosen))]
    expected = [tuple(design.factors[j] for j in e) for e, alone in zip(chosen, without, strict=True) if alone]
    assert list(known.effects) == expected


@pytest.mark.parametrize(("factors", "runs"), [(7, 8), (6, 8), (15, 16), (9, 16)])
def test_folding_resolution_three_gives_four(factors: int, runs: int) -> None:
    design = by_runs(letters(factors), runs)
    assert properties(design).resolution == 3
    folded = foldover(design)
    assert properties(folded).resolution == 4
    told = separation(design, folded)
    assert {(name,) for name in design.factors} <= set(told.after.effects)
    assert any(len(effect) == 1 for effect in told.separated)


def test_folding_one_factor_frees_its_interactions() -> None:
    design = by_runs(letters(8), 16)
    told = separation(design, foldover(design, ["C"]))
    assert set(told.separated) == {tuple(sorted(("C", other))) for other in design.factors if other != "C"}
    assert len(told.separated) == 7


@pytest.mark.parametrize(("factors", "runs"), [(4, 8), (6, 16), (7, 16), (8, 16), (8, 32), (9, 32), (10, 32)])
def test_a_semifoldover_of_resolution_four_estimates_as_much_as_the_whole(factors: int, runs: int) -> None:
    """Mee and Peralta (2000): by folding on a factor and keeping the half that has it at one setting."""
    design = by_runs(letters(factors), runs)
    for name in design.factors:
        half, whole = semifoldover(design, name), foldover(design, [name])
        assert half.runs == runs + runs // 2
        assert estimability(half).rank == estimability(whole).rank
        assert estimability(half).effects == estimability(whole).effects


def test_the_smallest_semifoldover_tells_everything_in_twelve_runs() -> None:
    """Three quarters of the full 2^4 estimate all four main effects and six interactions."""
    design = from_generators("ABCD", ["D=ABC"])
    told = separation(design, semifoldover(design, "A"))
    assert (told.before.runs, told.after.runs) == (8, 12)
    assert (told.before.rank, told.after.rank) == (8, 11)
    assert len(told.separated) == 6


def test_the_half_that_is_kept_has_the_setting() -> None:
    design = by_runs(letters(8), 16)
    for setting in (-1, 1):
        added = semifoldover(design, "B", setting, ["C", "D"]).matrix[16:]
        assert np.all(added[:, 1] == setting)
        assert len(added) == 8


def test_semifolding_a_resolution_three_design_does_not_free_all_main_effects_at_once() -> None:
    design = by_runs(letters(7), 8)
    half, whole = semifoldover(design, "A", reverse=design.factors), foldover(design)
    assert len(estimability(half).effects) < len(estimability(whole).effects) == 7


def test_regular_and_other_designs_are_told_alike() -> None:
    """The alias sets of a regular design, and the null vectors of the same runs with one twice."""
    design = by_runs(letters(7), 16)
    uneven = Design("given", design.factors, np.vstack([design.matrix, design.matrix[:1]]))
    assert not properties(uneven).regular
    assert estimability(uneven).effects == estimability(design).effects
    assert estimability(uneven).rank == estimability(design).rank == 1 + len(groups(hull(design), 2))


def test_estimability_of_third_order() -> None:
    assert estimability(full_factorial(letters(3)), 3).rank == 8
    assert len(estimability(full_factorial(letters(4)), 3).effects) == 14


def test_errors() -> None:
    design = by_runs(letters(5), 16)
    with pytest.raises(InputError, match="not a factor"):
        foldover(design, ["Z"])
    with pytest.raises(InputError, match="does not halve"):
        semifoldover(Design("given", ("A", "B"), np.array([[1, 1], [1, -1]])), "A", reverse=["B"])
    with pytest.raises(InputError, match="leave no runs"):
        replicated(design, 0)
    with pytest.raises(InputError, match="too large"):
        replicated(design, 2**20)
    with pytest.raises(InputError, match="leaves no effects"):
        estimability(design, 0)
    with pytest.raises(InputError, match="too many"):
        estimability(plackett_burman(tuple(f"x{i}" for i in range(95))))


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
