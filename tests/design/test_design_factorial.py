"""Full factorials and fractions by generators, against the printed matrices of seeds 000 and 001."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import InputError
from hati.design import Design, from_generators, full_factorial, letters, parse_factors, parse_generators

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
