"""Aliases, alias sets and clear interactions: the RES paper's Table 3, and brute force over random matrices."""

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
    aliases,
    by_runs,
    clear_interactions,
    from_generators,
    full_factorial,
    letters,
    partial_aliases,
)

SCR_128 = ["H=ABC", "I=ABDE", "J=ABDF", "K=ACEF", "L=ACDG", "M=ABEFG", "N=BCDEFG"]
# The RES paper, Table 3: all aliases to fourth order of the five important options.
TABLE_3 = {
    "B": "ACH CGKM CKLN DGHL DHMN EFHK HIJK ADEI ADFJ",
    "J": "EFI ACIK BHIK CDFH DEGM DELN FGKN FKLM ABDF",
    "C": "ABH ADMN AIJK BGKM BKLN DEHI DFHJ AEFK ADGL",
    "F": "EIJ BEHK CDHJ DGIM DILN GJKN JKLM ABDJ ACEK",
    "I": "EFJ ACJK BHJK CDEH DFGM DFLN EGKN EKLM ABDE",
}


@st.composite
def matrices(draw: st.DrawFn) -> Design:
    """Two-level matrices of 2 to 5 factors and 1 to 12 runs, half of them made regular."""
    factors = draw(st.integers(2, 5))
    rows = np.array(
        draw(st.lists(st.lists(st.sampled_from([-1, 1]), min_size=factors, max_size=factors), min_size=1, max_size=12))
    )
    if draw(st.booleans()):
        count = draw(st.integers(1, factors))
        rows = full_factorial(letters(count)).matrix
        for _ in range(factors - count):
            chosen = draw(st.sets(st.integers(0, count - 1)))
            rows = np.column_stack([rows, rows[:, sorted(chosen)].prod(axis=1) * draw(st.sampled_from([-1, 1]))])
    return Design("given", letters(factors), rows)


def product(design: Design, effect: tuple[str, ...]) -> np.ndarray:
    return design.matrix[:, [design.factors.index(name) for name in effect]].astype(int).prod(axis=1)


def all_effects(design: Design, order: int) -> list[tuple[str, ...]]:
    return [effect for size in range(1, order + 1) for effect in combinations(design.factors, size)]


@pytest.mark.parametrize("option", TABLE_3)
def test_table_3_of_seed_000(option: str) -> None:
    found = aliases(from_generators(letters(14), SCR_128), (option,), 4)
    assert len(found) == 9
    assert {"".join(alias.factors) for alias in found} == set(TABLE_3[option].split())
    assert all(alias.sign == 1 for alias in found)


def test_aliases_are_sorted_by_order_then_factors() -> None:
    found = aliases(from_generators(letters(14), SCR_128), ("J",), 4)
    names = ["".join(alias.factors) for alias in found]
    assert names == sorted(names, key=lambda name: (len(name), name))


def test_signs() -> None:
    design = from_generators("ABCDE", ["D=-AB", "E=BC"])
    assert [("".join(a.factors), a.sign) for a in aliases(design, ["D"], 3)] == [("AB", -1), ("ACE", -1)]
    assert [("".join(a.factors), a.sign) for a in aliases(design, ["D", "C"], 2)] == [("AE", -1)]


def test_alias_sets_partition_the_effects() -> None:
    design = from_generators("ABCD", ["D=-ABC"])
    sets = alias_sets(design, 3)
    shown = [" ".join(("-" if a.sign < 0 else "") + "".join(a.factors) for a in group) for group in sets]
    assert shown == ["A -BCD", "B -ACD", "C -ABD", "D -ABC", "AB -CD", "AC -BD", "AD -BC"]


def test_effects_that_are_constant_are_in_no_alias_set() -> None:
    listed = {alias.factors for group in alias_sets(from_generators("ABC", ["C=AB"]), 3) for alias in group}
    assert listed == {("A",), ("B",), ("C",), ("A", "B"), ("A", "C"), ("B", "C")}


def test_clear_interactions() -> None:
    assert len(clear_interactions(full_factorial("ABCD"))) == 6
    assert clear_interactions(from_generators("ABCD", ["D=ABC"])) == ()
    assert clear_interactions(from_generators("ABCDE", ["D=AB"])) == (
        ("A", "C"),
        ("A", "E"),
        ("B", "C"),
        ("B", "E"),
        ("C", "D"),
        ("C", "E"),
        ("D", "E"),
    )
    assert len(clear_interactions(from_generators(letters(14), SCR_128))) == 73
    assert len(clear_interactions(by_runs(letters(14), 256))) == 91


def test_lost_runs_alias_partly() -> None:
    whole = from_generators("ABCD", ["D=ABC"])
    lost = Design("given", whole.factors, whole.matrix[1:])
    assert partial_aliases(whole, ["A"], 3) == ()
    found = {"".join(alias.factors): alias.coefficient for alias in partial_aliases(lost, ["A"], 2)}
    assert set(found) == {"B", "C", "D", "AB", "AC", "AD", "BC", "BD", "CD"}
    assert {abs(value) for value in found.values()} == {1 / 7}
    assert [alias.factors for alias in aliases(lost, ["A"], 3)] == [("B", "C", "D")]
    assert clear_interactions(lost) == ()


@pytest.mark.parametrize(
    ("effect", "message"),
    [((), "not a valid effect"), (("A", "A"), "not a valid effect"), (("X",), "'X' is not a factor")],
)
def test_refuses_what_is_no_effect(effect: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        aliases(full_factorial("ABC"), effect, 2)


def test_refuses_too_many_effects() -> None:
    design = Design("given", tuple(f"x{i}" for i in range(300)), np.ones((1, 300)))
    with pytest.raises(InputError, match="ask for a lower order"):
        alias_sets(design, 3)


@given(matrices())
def test_aliases_are_the_equal_columns(design: Design) -> None:
    every = all_effects(design, 3)
    for effect in every:
        own = product(design, effect)
        equal = {
            (other, sign)
            for other in every
            for sign in (1, -1)
            if other != effect and np.array_equal(product(design, other), sign * own)
        }
        assert {(alias.factors, alias.sign) for alias in aliases(design, effect, 3)} == equal


@given(matrices())
def test_aliasing_is_symmetric_and_the_sets_agree(design: Design) -> None:
    sets = alias_sets(design, 3)
    members = [alias.factors for group in sets for alias in group]
    assert len(members) == len(set(members))
    for group in sets:
        head = group[0]
        assert head.sign == 1
        assert set(group[1:]) == set(aliases(design, head.factors, 3))
        for alias in group[1:]:
            back = {other.factors: other.sign for other in aliases(design, alias.factors, 3)}
            assert back[head.factors] == alias.sign


@given(matrices())
def test_clear_interactions_are_the_orthogonal_ones(design: Design) -> None:
    low = all_effects(design, 2)
    expected = tuple(
        effect
        for effect in combinations(design.factors, 2)
        if not product(design, effect).sum()
        and not any(product(design, effect) @ product(design, other) for other in low if other != effect)
    )
    assert clear_interactions(design) == expected


@given(matrices())
def test_partial_aliases_are_neither_equal_nor_orthogonal(design: Design) -> None:
    own = product(design, ("A",))
    expected = {
        effect: own @ product(design, effect) / design.runs
        for effect in all_effects(design, 3)
        if 0 < abs(own @ product(design, effect)) < design.runs
    }
    found = {alias.factors: alias.coefficient for alias in partial_aliases(design, ("A",), 3)}
    assert found == pytest.approx(expected)
