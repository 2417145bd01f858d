"""Foldovers, semi-foldovers and replicates: their laws on any design, and what they separate on known ones."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import InputError
from hati.design import (
    Design,
    alias_sets,
    by_runs,
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
    with_replicated_points,
    word_length_pattern,
)


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


@given(designs(), st.integers(0, 2**32), st.data())
def test_replicated_points_are_different_runs_of_the_design(design: Design, seed: int, data: st.DataObject) -> None:
    distinct = properties(design).distinct
    points = data.draw(st.integers(1, distinct))
    larger = with_replicated_points(design, points, np.random.default_rng(seed))
    added = {tuple(row) for row in larger.matrix[design.runs :].tolist()}
    assert len(added) == points
    assert added <= {tuple(row) for row in design.matrix.tolist()}


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
    assert estimability(uneven).rank == estimability(design).rank == 1 + len(alias_sets(design, 2))


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
    with pytest.raises(InputError, match="cannot be repeated"):
        with_replicated_points(design, 17, np.random.default_rng(1))
    with pytest.raises(InputError, match="leaves no effects"):
        estimability(design, 0)
    with pytest.raises(InputError, match="too many"):
        estimability(plackett_burman(tuple(f"x{i}" for i in range(95))))
