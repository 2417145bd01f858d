"""Full factorials and fractions by generators, against the printed matrices of seeds 000 and 001.

The table of minimum-aberration fractions: against the published ones, and against exhaustive search to 32 runs.
"""

from __future__ import annotations

import csv
import sys
from itertools import pairwise
from math import comb
from pathlib import Path
from subprocess import run

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import InputError
from hati.design import (
    Design,
    by_resolution,
    by_runs,
    catalogue_sizes,
    clear_interactions,
    from_generators,
    full_factorial,
    letters,
    parse_factors,
    parse_generators,
    properties,
    resolution,
    word_length_pattern,
)
from hati.design.fractions import catalogue, from_columns

# Yilmaz et al., "Reliable Effects Screening" (TSE 33(2), 2007), Table 1: 2^(4-1), D = ABC.
SEED_000_TABLE_1 = """
- - - -
+ - - +
- + - +
+ + - -
- - + +
+ - + -
- + + -
+ + + +
"""

# Yilmaz et al., "Main Effects Screening" (ICSE 2005), section 2.3, given there by factors: 4 = 12, 5 = 23.
SEED_001_SECTION_2_3 = """
- + - + - + - +
- - + + - - + +
- - - - + + + +
+ - - + + - - +
+ + - - - - + +
"""

# The same, Table 2: 2^(14-9), o6 = 123, o7 = 124, o8 = 134, o9 = 234, o10 = 125, o11 = 135, o12 = 235, ...
SEED_001_TABLE_2 = """
- - - - - - - - - - - - - -
+ - - - - + + + - + + - + -
- + - - - + + - + + - + - +
+ + - - - - - + + - + + + +
- - + - - + - + + - + + - -
+ - + - - - + - + + - + + -
- + + - - - + + - + + - - +
+ + + - - + - - - - - - + +
- - - + - - + + + - - - + +
+ - - + - + - - + + + - - +
- + - + - + - + - + - + + -
+ + - + - - + - - - + + - -
- - + + - + + - - - + + + +
+ - + + - - - + - + - + - +
- + + + - - - - + + + - + -
+ + + + - + + + + - - - - -
- - - - + - - - - + + + + +
+ - - - + + + + - - - + - +
- + - - + + + - + - + - + -
+ + - - + - - + + + - - - -
- - + - + + - + + + - - + +
+ - + - + - + - + - + - - +
- + + - + - + + - - - + + -
+ + + - + + - - - + + + - -
- - - + + - + + + + + + - -
+ - - + + + - - + - - + + -
- + - + + + - + - - + - - +
+ + - + + - + - - + - - + +
- - + + + + + - - + - - - -
+ - + + + - - + - - + - + -
- + + + + - - - + - - + - +
+ + + + + + + + + + + + + +
"""


def printed(table: str) -> np.ndarray:
    return np.array([[1 if sign == "+" else -1 for sign in line.split()] for line in table.split("\n") if line])


def test_full_factorial_is_in_standard_order() -> None:
    design = full_factorial(("A", "B", "C"))
    assert design.kind == "full factorial"
    assert design.runs == 8
    assert design.matrix.tolist() == printed(SEED_001_SECTION_2_3)[:3].T.tolist()
    assert design.matrix.dtype == np.int8


def test_seed_000_table_1() -> None:
    design = from_generators(parse_factors("A-D"), ["D=ABC"])
    assert np.array_equal(design.matrix, printed(SEED_000_TABLE_1))
    assert design.kind == "regular fraction"
    assert design.generators == ("D=ABC",)


@pytest.mark.parametrize(
    ("factors", "generators"), [("A-E", ("D=AB", "E=BC")), ("1-5", ("4=12", "5=23")), ("o1-o5", ("D=AB", "E=BC"))]
)
def test_seed_001_section_2_3(factors: str, generators: tuple[str, ...]) -> None:
    design = from_generators(parse_factors(factors), generators)
    assert np.array_equal(design.matrix.T, printed(SEED_001_SECTION_2_3))


def test_seed_001_table_2() -> None:
    generators = ["F=ABC", "G=ABD", "H=ACD", "I=BCD", "J=ABE", "K=ACE", "L=BCE", "M=ADE", "N=BDE"]
    design = from_generators(parse_factors("o1-o14"), generators)
    assert np.array_equal(design.matrix, printed(SEED_001_TABLE_2))


def test_signs_names_and_generated_factors() -> None:
    factors = ("cache", "sync", "log", "page", "lock")
    for generators in (
        ["D=-AB", "E=DC"],
        ["page=-cache:sync", "lock=page:log"],
        ["page = \u2212 cache * sync", "lock=page*log"],
        [" D = - A B", "lock=DC"],
    ):
        matrix = from_generators(factors, generators).matrix
        assert np.array_equal(matrix[:, 3], -matrix[:, 0] * matrix[:, 1])
        assert np.array_equal(matrix[:, 4], matrix[:, 3] * matrix[:, 2])


def test_generated_factors_may_come_first() -> None:
    design = from_generators("ABCD", ["A=BC", "B=+D"])
    assert design.runs == 4
    assert design.matrix[:, 2:].tolist() == [[-1, -1], [1, -1], [-1, 1], [1, 1]]
    assert np.array_equal(design.matrix[:, 0], design.matrix[:, 2] * design.matrix[:, 3])


def test_generators_are_split_at_commas() -> None:
    assert parse_generators(" F=ABC , G = -ABD") == ("F=ABC", "G = -ABD")
    assert parse_generators(" ") == ()
    with pytest.raises(InputError, match="not a valid generator"):
        from_generators("ABC", parse_generators("C=AB,"))


def test_no_generators_make_a_full_factorial() -> None:
    assert from_generators("ABC", []) == full_factorial("ABC")


@pytest.mark.parametrize(
    ("generators", "message"),
    [
        (["F"], "not a valid generator"),
        (["F="], "not a valid generator"),
        (["=AB"], "not a valid generator"),
        (["F=-"], "not a valid generator"),
        ([""], "not a valid generator"),
        (["F=ABX"], "'X', which is not a factor"),
        (["f=AB"], "'f', which is not a factor"),
        (["F=AB="], "'=', which is not a factor"),
        (["F=AAB"], "'A' twice"),
        (["F=AB", "F=AC"], "two generators"),
        (["F=AF"], "circle"),
        (["E=AF", "F=BE"], "circle"),
        (["AF=BC"], "'AF', which is not a factor"),
    ],
)
def test_refuses_generators(generators: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_generators(letters(6), generators)


def test_refuses_too_many_runs() -> None:
    with pytest.raises(InputError, match="21 base factors"):
        full_factorial(letters(21))
    with pytest.raises(InputError, match="give more generators"):
        from_generators(letters(22), ["V=ABC"])


@given(st.lists(st.text(alphabet="ABCDEFI=-+ :*\u2212\n", max_size=8) | st.text(max_size=8), max_size=4))
def test_any_generators_make_a_design_or_an_input_error(generators: list[str]) -> None:
    try:
        design = from_generators(letters(6), generators)
    except InputError:
        return
    assert isinstance(design, Design)
    assert design.runs == 2 ** (6 - len(generators))


SIZES = sorted(catalogue())
# Sizes that the published list lacks, and without which resolution IV could not be had in so few runs.
OWN_SIZES = {*((k, 128) for k in (41, 42, 43, 44, 50)), *((k, 256) for k in (65, 66, 67, 68))}

# Misprints of the published list, all refuted by its own generators: how many leading entries of the pattern hold.
MISPRINTED = {("21-16.1", 32): 5, ("22-17.1", 32): 5, **{(f"{k}-{k - 12}.1", 4096): 12 for k in range(20, 25)}}
# The generators that it prints for these sizes are those of 28 factors.
WRONG_GENERATORS = {("26-17.1", 512), ("27-18.1", 512)}

# The most factors of resolution V or more (Mee 2009; the lengths of optimal binary codes of distance 5).
MOST_OF_RESOLUTION_FIVE = {16: 5, 32: 6, 64: 8, 128: 11, 256: 17, 512: 23}


def names(count: int) -> tuple[str, ...]:
    return tuple(f"x{i}" for i in range(1, count + 1))


def pattern_of(design: Design) -> list[float]:
    found = word_length_pattern(design)
    return [found.get(length, 0) for length in range(1, len(design.factors) + 1)]


@pytest.fixture(scope="module")
def patterns() -> dict[tuple[int, int], list[float]]:
    return {(factors, runs): pattern_of(by_runs(names(factors), runs)) for factors, runs in SIZES}


@pytest.fixture(scope="module")
def published(shared_data: Path) -> list[dict[str, str]]:
    with (shared_data / "two-level-designs.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_has_all_published_sizes(published: list[dict[str, str]]) -> None:
    sizes = {(int(row["factors"]), int(row["runs"])) for row in published}
    assert len(sizes) == 327
    assert set(SIZES) == sizes | OWN_SIZES


def test_every_entry_is_as_good_as_the_published(
    published: list[dict[str, str]], patterns: dict[tuple[int, int], list[float]]
) -> None:
    for row in published:
        factors, runs = int(row["factors"]), int(row["runs"])
        ours = patterns[factors, runs]
        key = (row["name"], runs)
        printed = [int(n) for n in row["wlp"].split()[: MISPRINTED.get(key)] if n != "NA"]
        assert printed == (ours + [0] * len(printed))[: len(printed)], key
        assert resolution(by_runs(names(factors), runs)) == int(row["resolution"]), key
        if key not in WRONG_GENERATORS:
            base = runs.bit_length() - 1
            assert ours == pattern_of(from_columns(names(factors), base, [int(n) for n in row["generators"].split()]))


def test_every_entry_has_as_many_clear_interactions(published: list[dict[str, str]]) -> None:
    for row in published:
        design = by_runs(names(int(row["factors"])), int(row["runs"]))
        assert len(clear_interactions(design)) >= int(row["clear2fi"]), row["name"]


def test_every_entry_is_a_regular_orthogonal_fraction(patterns: dict[tuple[int, int], list[float]]) -> None:
    for factors, runs in SIZES:
        facts = properties(by_runs(names(factors), runs))
        assert (facts.runs, facts.distinct, facts.factors) == (runs, runs, factors)
        assert facts.regular
        assert facts.orthogonal
        assert facts.balanced
        assert sum(patterns[factors, runs]) == 2**factors // runs - 1


def test_resolutions_are_the_highest_there_are(patterns: dict[tuple[int, int], list[float]]) -> None:
    found = {size: next(length for length, n in enumerate(pattern, 1) if n) for size, pattern in patterns.items()}
    for (factors, runs), reached in found.items():
        # Resolution IV exists exactly up to half as many factors as runs (fold-over; Rao's bound).
        assert (reached >= 4) == (factors <= runs // 2)
        if runs in MOST_OF_RESOLUTION_FIVE:
            assert (reached >= 5) == (factors <= MOST_OF_RESOLUTION_FIVE[runs])
    for factors in {factors for factors, _ in SIZES}:
        resolutions = [found[size] for size in SIZES if size[0] == factors]
        assert resolutions == sorted(resolutions)


def test_a_further_factor_never_improves(patterns: dict[tuple[int, int], list[float]]) -> None:
    by_size = sorted(patterns, key=lambda size: (size[1], size[0]))
    for smaller, larger in pairwise(by_size):
        if smaller[1] == larger[1]:
            assert patterns[smaller] <= patterns[larger], (smaller, larger)


def _krawtchouk(length: int, distance: int, factors: int) -> int:
    return sum((-1) ** i * comb(distance, i) * comb(factors - distance, length - i) for i in range(length + 1))


def _popcount(values: np.ndarray) -> np.ndarray:
    table = np.array([n.bit_count() for n in range(2**16)], dtype=np.uint8)
    return table[values & 0xFFFF] + table[values >> 16]


def _subsets(columns: list[int], sizes: range) -> dict[int, np.ndarray]:
    """All subsets by size, as masks: bit c for column c."""
    level = [np.zeros(1, dtype=np.int64)]
    for column in columns:
        level = [
            np.concatenate([old] + ([level[size - 1] | 1 << column] if size else []))
            for size, old in enumerate([*level, np.zeros(0, dtype=np.int64)][: sizes.stop])
        ]
    return {size: level[size] for size in sizes if size < len(level)}


def _best_pattern(chosen: np.ndarray, factors: int, runs: int) -> list[int]:
    """The least pattern, length by length, among sets of columns given as masks."""
    # The code word of row u has weight |{c in set: u.c odd}|; the weights of all rows determine the pattern.
    odd = [sum(1 << c for c in range(1, runs) if (u & c).bit_count() & 1) for u in range(runs)]
    terms = np.array([[_krawtchouk(j, x, factors) for x in range(factors + 1)] for j in range(factors + 1)])
    triples = sum(terms[3].astype(np.int32)[_popcount(chosen & mask)] for mask in odd)
    chosen = chosen[triples == triples.min()]
    weights = np.stack([_popcount(chosen & mask) for mask in odd], axis=1)
    distinct = np.unique(np.sort(weights, axis=1), axis=0)
    for length in range(4, factors + 1):
        counts = terms[length][distinct].sum(axis=1)
        distinct = distinct[counts == counts.min()]
    return [int(n) // runs for n in terms[1:, distinct[0]].sum(axis=1)]


def _mask(columns: list[int]) -> int:
    return sum(1 << column for column in columns)


@pytest.mark.parametrize("runs", [4, 8, 16])
def test_minimum_aberration_to_16_runs_by_trying_all(runs: int, patterns: dict[tuple[int, int], list[float]]) -> None:
    base = [1 << i for i in range(runs.bit_length() - 1)]
    others = [column for column in range(1, runs) if column not in base]
    for size, chosen in _subsets(others, range(1, len(others) + 1)).items():
        factors = size + len(base)
        assert _best_pattern(chosen | _mask(base), factors, runs) == patterns[factors, runs]


@pytest.mark.acceptance
def test_minimum_aberration_in_32_runs_to_16_factors(patterns: dict[tuple[int, int], list[float]]) -> None:
    # Resolution IV can be had, so no generated factor is a product of two base factors: 2^16 sets are all.
    base = [1, 2, 4, 8, 16]
    others = [column for column in range(32) if column.bit_count() >= 3]
    for size, chosen in _subsets(others, range(1, 12)).items():
        assert _best_pattern(chosen | _mask(base), size + 5, 32) == patterns[size + 5, 32]


@pytest.mark.acceptance
def test_minimum_aberration_in_32_runs_from_17_factors(patterns: dict[tuple[int, int], list[float]]) -> None:
    # By the columns left out, up to a change of base: they lie in a hyperplane; or they hold a base and the
    # product of two of it; or they hold a base and no product of any two.
    base = [1, 2, 4, 8, 16]
    plane = _subsets(list(range(1, 16)), range(15))
    triangle = _subsets([c for c in range(32) if c.bit_count() >= 2 and c != 3], range(9))
    none = _subsets([c for c in range(32) if c.bit_count() >= 3], range(10))
    for size in range(15):
        left_out = np.concatenate(
            [
                plane[size],
                triangle.get(size - 6, np.zeros(0, dtype=np.int64)) | _mask([*base, 3]),
                none.get(size - 5, np.zeros(0, dtype=np.int64)) | _mask(base),
            ]
        )
        chosen = left_out ^ _mask(list(range(1, 32)))
        assert _best_pattern(chosen, 31 - size, 32) == patterns[31 - size, 32]


@pytest.mark.parametrize(
    ("runs", "expected"), [(16, 3), (32, 4), (64, 4), (128, 4), (256, 5), (512, 6), (1024, 7), (2048, 8), (4096, 9)]
)
def test_fourteen_factors(runs: int, expected: int) -> None:
    design = by_runs(letters(14), runs)
    assert (design.runs, resolution(design)) == (runs, expected)
    assert np.array_equal(
        design.matrix[:, : runs.bit_length() - 1], full_factorial(names(runs.bit_length() - 1)).matrix
    )


def test_sizes_of_fourteen_factors() -> None:
    sizes = [(entry.runs, entry.resolution) for entry in catalogue_sizes(14)]
    assert sizes[:3] == [(16, 3), (32, 4), (64, 4)]
    assert sizes[-2:] == [(4096, 9), (16384, None)]


def test_sizes_at_the_ends() -> None:
    assert [(e.runs, e.resolution) for e in catalogue_sizes(1)] == [(2, None)]
    assert [(e.runs, e.resolution) for e in catalogue_sizes(3)] == [(4, 3), (8, None)]
    assert catalogue_sizes(21)[-1].resolution is not None
    assert catalogue_sizes(0) == catalogue_sizes(500) == ()


def test_generators_are_told_in_letters() -> None:
    design = by_runs(letters(6), 16)
    assert design.generators == ("E=ABC", "F=ABD")
    assert design.kind == "regular fraction"
    assert by_runs(("p", "q", "rr"), 4).generators == ("C=AB",)


def test_the_full_size_is_the_full_factorial() -> None:
    assert by_runs(letters(3), 8).kind == "full factorial"


@pytest.mark.parametrize(
    ("factors", "runs", "message"),
    [
        (14, 48, "14 factors in 48 runs; the nearest that it has: 32 and 64 runs"),
        (14, 8192, "nearest that it has: 4096 and 16384 runs"),
        (14, 8, "nearest that it has: 16 runs"),
        (3, 16, "nearest that it has: 8 runs"),
        (14, 0, "nearest"),
        (14, -32, "nearest"),
        (200, 256, "give generators"),
    ],
)
def test_a_size_that_the_table_lacks_is_named(factors: int, runs: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        by_runs(names(factors), runs)


@pytest.mark.parametrize(
    ("wanted", "runs"), [(3, 16), (4, 32), (5, 256), (6, 512), (9, 4096), (10, 16384), (99, 16384)]
)
def test_by_resolution_takes_the_fewest_runs(wanted: int, runs: int) -> None:
    assert by_resolution(letters(14), wanted).runs == runs


def test_by_resolution_refuses() -> None:
    with pytest.raises(InputError, match="2 does not distinguish main effects"):
        by_resolution(letters(14), 2)
    with pytest.raises(InputError, match=r"25 factors and resolution 9.*4096 runs \(resolution 6\)"):
        by_resolution(names(25), 9)
    with pytest.raises(InputError, match="none for this number of factors"):
        by_resolution(names(200), 3)


def test_importing_reads_no_table() -> None:
    code = "import hati.design, hati.design.fractions as c; assert c.catalogue.cache_info().currsize == 0"
    assert run([sys.executable, "-c", code], check=False).returncode == 0
