"""Aliases, alias sets and clear interactions: the RES paper's Table 3, and brute force over random matrices.

Word-length patterns, resolutions and words: known designs, and brute force over random ones.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import InputError
from hati.design import (
    Design,
    Word,
    aliases,
    by_runs,
    clear_interactions,
    from_generators,
    full_factorial,
    letters,
    partial_aliases,
    properties,
    resolution,
    word_length_pattern,
    words,
)
from hati.design.aliasing import groups, hull, named

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


def alias_sets(design: Design, order: int) -> list[list[tuple[str, ...]]]:
    return [[named(design, effect) for effect in group] for group in groups(hull(design), order).values()]


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
    shown = [" ".join("".join(effect) for effect in group) for group in sets]
    assert shown == ["A BCD", "B ACD", "C ABD", "D ABC", "AB CD", "AC BD", "AD BC"]


def test_effects_that_are_constant_are_in_no_alias_set() -> None:
    listed = {effect for group in alias_sets(from_generators("ABC", ["C=AB"]), 3) for effect in group}
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
    members = [effect for group in sets for effect in group]
    assert len(members) == len(set(members))
    for group in sets:
        signs = {alias.factors: alias.sign for alias in aliases(design, group[0], 3)}
        assert group[1:] == list(signs)
        for effect, sign in signs.items():
            back = {other.factors: other.sign for other in aliases(design, effect, 3)}
            assert back[group[0]] == sign


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


FACTORS = letters(14)
# The RES paper, appendix. Scr128 has resolution III as printed; M = ABEFG restores IV and its Table 3.
SCR_32 = ["F=ABC", "G=ABD", "H=ACD", "I=BCD", "J=ABE", "K=ACE", "L=BCE", "M=ADE", "N=BDE"]
SCR_64 = ["G=ABC", "H=ABD", "I=ABE", "J=ACDE", "K=ABF", "L=ACDF", "M=ACEF", "N=ADEF"]
SCR_128_PRINTED = ["H=ABC", "I=ABDE", "J=ABDF", "K=ACEF", "L=ACDG", "M=ABDFG", "N=BCDEFG"]
SCR_2048 = ["L=ABCDEFGHIJK", "M=EFGHIJK", "N=CDGHIJK"]

# Plackett and Burman (1946), 12 runs: cyclic shifts of the first row, and a row of -1.
_FIRST = [1, 1, -1, 1, 1, 1, -1, -1, -1, 1, -1]
PLACKETT_BURMAN = Design("given", letters(11), np.array([np.roll(_FIRST, i) for i in range(11)] + [[-1] * 11]))


def brute_force(design: Design) -> dict[int, float]:
    """The generalised word-length pattern by its definition: sums of squared mean products (Xu and Wu 2001)."""
    k = len(design.factors)
    values = design.matrix.astype(float)
    pattern = {
        size: sum(values[:, list(effect)].prod(axis=1).mean() ** 2 for effect in combinations(range(k), size))
        for size in range(1, k + 1)
    }
    return {size: value for size, value in pattern.items() if value > 1e-12}


@st.composite
def fractions(draw: st.DrawFn) -> Design:
    """Regular fractions of 2 to 8 factors, their factors in any order, with signs, even of resolution I or II."""
    base = draw(st.integers(1, 4))
    extra = draw(st.integers(1, 4))
    names = draw(st.permutations(letters(base + extra)))
    generators = []
    for name in names[base:]:
        product = draw(st.sets(st.sampled_from(sorted(names[:base])), min_size=1))
        generators.append(f"{name}={draw(st.sampled_from(['', '-']))}{''.join(sorted(product))}")
    return from_generators(letters(base + extra), generators)


@st.composite
def small_matrices(draw: st.DrawFn) -> Design:
    """Any two-level matrices of 1 to 6 factors and 1 to 10 runs."""
    factors = draw(st.integers(1, 6))
    rows = draw(
        st.lists(st.lists(st.sampled_from([-1, 1]), min_size=factors, max_size=factors), min_size=1, max_size=10)
    )
    return Design("given", letters(factors), np.array(rows))


@pytest.mark.parametrize(
    ("generators", "pattern"),
    [
        (SCR_32, [77, 0, 168, 0, 203]),
        (SCR_64, [22, 40, 36, 56, 49, 24, 20, 8]),
        (SCR_128, [3, 24, 36, 16]),
        (SCR_2048, [0, 0, 3, 0, 2, 0, 1, 0, 1]),
    ],
)
def test_designs_of_seed_000(generators: list[str], pattern: list[int]) -> None:
    found = word_length_pattern(from_generators(FACTORS, generators))
    assert [found.get(length, 0) for length in range(4, 4 + len(pattern))] == pattern
    assert min(found) >= 4
    assert sum(found.values()) == 2 ** len(generators) - 1
    assert all(isinstance(count, int) for count in found.values())


def test_scr_128_as_printed_has_resolution_three() -> None:
    design = from_generators(FACTORS, SCR_128_PRINTED)
    assert resolution(design) == 3
    assert words(design) == (Word(("G", "J", "M"), 1),)
    assert {length: count for length, count in word_length_pattern(design).items() if length <= 6} == {
        3: 1,
        4: 3,
        5: 22,
        6: 32,
    }


def test_scr_128_corrected_has_resolution_four() -> None:
    assert resolution(from_generators(FACTORS, SCR_128)) == 4


def test_a_full_factorial_has_no_words() -> None:
    design = full_factorial("ABCD")
    assert word_length_pattern(design) == {}
    assert resolution(design) is None
    assert words(design) == words(design, 4) == ()


def test_replicated_runs_change_nothing() -> None:
    once = from_generators("ABCD", ["D=-ABC"])
    twice = Design("given", once.factors, np.vstack([once.matrix, once.matrix[::-1]]))
    assert word_length_pattern(twice) == word_length_pattern(once) == {4: 1}
    assert words(twice) == (Word(("A", "B", "C", "D"), -1),)
    assert properties(twice).regular
    assert (properties(twice).runs, properties(twice).distinct) == (16, 8)


def test_words_of_any_length_with_signs() -> None:
    design = from_generators("ABCDE", ["D=-AB", "E=BC"])
    assert words(design) == words(design, 3) == (Word(("A", "B", "D"), -1), Word(("B", "C", "E"), 1))
    assert words(design, 4) == (Word(("A", "C", "D", "E"), -1),)
    assert words(design, 5) == words(design, 9) == words(design, 0) == ()


def test_constant_and_equal_factors_are_resolution_one_and_two() -> None:
    constant = Design("given", ("A", "B"), np.array([[-1, 1], [1, 1]]))
    assert (resolution(constant), words(constant)) == (1, (Word(("B",), 1),))
    equal = from_generators("ABC", ["C=-B"])
    assert (resolution(equal), words(equal)) == (2, (Word(("B", "C"), -1),))
    single = Design("given", ("A", "B"), np.array([[-1, 1]]))
    assert word_length_pattern(single) == {1: 2, 2: 1}


def test_plackett_burman_is_not_regular() -> None:
    # Each of 165 triples has squared mean 1/9, so A3 = 55/3; likewise A4 = 330/9 (Xu and Wu 2001).
    found = word_length_pattern(PLACKETT_BURMAN)
    assert found[3] == pytest.approx(55 / 3)
    assert found[4] == pytest.approx(110 / 3)
    facts = properties(PLACKETT_BURMAN)
    assert (facts.regular, facts.balanced, facts.orthogonal, facts.resolution) == (False, True, True, 3)
    # Not a word of length three, yet the product of all eleven factors is constant.
    assert words(PLACKETT_BURMAN) == (Word(letters(11), -1),)


def test_a_missing_run_unbalances() -> None:
    whole = from_generators(FACTORS, SCR_32)
    facts = properties(Design("given", FACTORS, whole.matrix[1:]))
    assert (facts.regular, facts.balanced, facts.orthogonal, facts.resolution) == (False, False, False, 1)
    assert properties(whole).orthogonal


def test_many_runs_that_are_not_regular_are_refused() -> None:
    runs = full_factorial(letters(15)).matrix[1:]
    with pytest.raises(InputError, match="too large to analyse"):
        word_length_pattern(Design("given", letters(15), runs))


@given(fractions())
def test_regular_pattern_equals_brute_force(design: Design) -> None:
    pattern = word_length_pattern(design)
    assert pattern == pytest.approx(brute_force(design))
    assert properties(design).regular
    assert sum(pattern.values()) == 2 ** len(design.factors) // design.runs - 1
    listed = Counter({length: len(words(design, length)) for length in range(1, len(design.factors) + 1)})
    assert +listed == Counter(pattern)
    for word in words(design):
        chosen = [design.factors.index(name) for name in word.factors]
        assert np.all(design.matrix[:, chosen].prod(axis=1) == word.sign)
        assert len(word.factors) == resolution(design)


@given(small_matrices())
def test_any_pattern_equals_brute_force(design: Design) -> None:
    assert word_length_pattern(design) == pytest.approx(brute_force(design))
    assert resolution(design) == min(brute_force(design), default=None)
    facts = properties(design)
    sums = design.matrix.sum(axis=0)
    products = design.matrix.astype(int).T @ design.matrix.astype(int)
    assert facts.balanced == (not sums.any())
    assert facts.orthogonal == (np.count_nonzero(products) == len(design.factors))


@given(small_matrices())
def test_words_are_exactly_the_constant_products(design: Design) -> None:
    for length in range(1, len(design.factors) + 1):
        constant = {
            tuple(design.factors[j] for j in effect)
            for effect in combinations(range(len(design.factors)), length)
            if len(set(design.matrix[:, list(effect)].prod(axis=1).tolist())) == 1
        }
        assert {word.factors for word in words(design, length)} == constant
