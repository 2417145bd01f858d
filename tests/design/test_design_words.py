"""Word-length patterns, resolutions and words: known designs, and brute force over random ones."""

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
    from_generators,
    full_factorial,
    letters,
    properties,
    resolution,
    word_length_pattern,
    words,
)

FACTORS = letters(14)
# The RES paper, appendix. Scr128 has resolution III as printed; M = ABEFG restores IV and its Table 3.
SCR_32 = ["F=ABC", "G=ABD", "H=ACD", "I=BCD", "J=ABE", "K=ACE", "L=BCE", "M=ADE", "N=BDE"]
SCR_64 = ["G=ABC", "H=ABD", "I=ABE", "J=ACDE", "K=ABF", "L=ACDF", "M=ACEF", "N=ADEF"]
SCR_128_PRINTED = ["H=ABC", "I=ABDE", "J=ABDF", "K=ACEF", "L=ACDG", "M=ABDFG", "N=BCDEFG"]
SCR_128 = ["H=ABC", "I=ABDE", "J=ABDF", "K=ACEF", "L=ACDG", "M=ABEFG", "N=BCDEFG"]
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
def matrices(draw: st.DrawFn) -> Design:
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


@given(matrices())
def test_any_pattern_equals_brute_force(design: Design) -> None:
    assert word_length_pattern(design) == pytest.approx(brute_force(design))
    assert resolution(design) == min(brute_force(design), default=None)
    facts = properties(design)
    sums = design.matrix.sum(axis=0)
    products = design.matrix.astype(int).T @ design.matrix.astype(int)
    assert facts.balanced == (not sums.any())
    assert facts.orthogonal == (np.count_nonzero(products) == len(design.factors))


@given(matrices())
def test_words_are_exactly_the_constant_products(design: Design) -> None:
    for length in range(1, len(design.factors) + 1):
        constant = {
            tuple(design.factors[j] for j in effect)
            for effect in combinations(range(len(design.factors)), length)
            if len(set(design.matrix[:, list(effect)].prod(axis=1).tolist())) == 1
        }
        assert {word.factors for word in words(design, length)} == constant
