"""The design as a value.

Names of factors.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import InputError
from hati.design import Design, full_factorial, letters, parse_factors


def test_matrix_is_a_read_only_copy() -> None:
    given = np.array([[-1, 1], [1, -1]], dtype=np.int8)
    design = Design("given", ("A", "B"), given)
    given[0, 0] = 1
    assert design.matrix[0, 0] == -1
    with pytest.raises(ValueError, match="read-only"):
        design.matrix[0, 0] = 1


def test_equal_by_factors_and_matrix() -> None:
    made = full_factorial(("A", "B"))
    read = Design("given", ("A", "B"), made.matrix)
    assert made == read
    assert hash(made) == hash(read)
    assert made != Design("given", ("B", "A"), made.matrix)
    assert made != Design("given", ("A", "B"), made.matrix[::-1])
    assert made != "A"


@pytest.mark.parametrize(
    ("factors", "matrix", "message"),
    [
        ((), [[]], "1 to 1024 factors"),
        (("A", "A"), [[1, 1]], "there twice"),
        (("A", ""), [[1, 1]], "not a valid name"),
        (("A", " B"), [[1, 1]], "not a valid name"),
        (("A", "B\n"), [[1, 1]], "not a valid name"),
        (("A", "B"), [[1, 1, 1]], "columns"),
        (("A",), [1], "columns"),
        (("A",), np.empty((0, 1)), "some rows"),
        (("A",), [[0]], "entries other"),
        (("A",), [[257]], "entries other"),
        (("A",), [[float("nan")]], "entries other"),
    ],
)
def test_refuses_what_is_no_design(factors: tuple[str, ...], matrix: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Design("given", factors, np.array(matrix))


def test_refuses_too_many_runs() -> None:
    with pytest.raises(InputError, match="too large"):
        Design("given", ("A",), np.ones((2**20 + 1, 1), dtype=np.int8))


def test_letters_include_i_and_go_on_in_lower_case() -> None:
    assert letters(14) == tuple("ABCDEFGHIJKLMN")
    assert letters(28)[-3:] == ("Z", "a", "b")
    assert len(set(letters(52))) == 52


@pytest.mark.parametrize("count", [0, -1, 53])
def test_letters_are_limited(count: int) -> None:
    with pytest.raises(InputError, match="1 to 52"):
        letters(count)


@pytest.mark.parametrize(
    ("text", "factors"),
    [
        ("A-N", letters(14)),
        ("A,B,C", ("A", "B", "C")),
        ("A-H, J", (*"ABCDEFGH", "J")),
        ("Y-b", ("Y", "Z", "a", "b")),
        ("1-5", tuple("12345")),
        ("o9-o11", ("o9", "o10", "o11")),
        ("cache,page-size", ("cache", "page-size")),
        ("x1-y3", ("x1-y3",)),
        ("A-A", ("A",)),
    ],
)
def test_parse_factors(text: str, factors: tuple[str, ...]) -> None:
    assert parse_factors(text) == factors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "neither a factor nor a range"),
        ("A,,B", "neither"),
        ("A-", "neither"),
        ("-", "neither"),
        ("N-A", "backwards"),
        ("o3-o1", "backwards"),
        ("A-C,B", "there twice"),
        ("x1-x999999", "more than 1024"),
        ("a\tb", "not a valid name"),
    ],
)
def test_parse_factors_refuses(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_factors(text)


@given(st.text(alphabet=st.sampled_from("ABab12,- -\u2212\n"), max_size=20) | st.text(max_size=20))
def test_any_text_is_factors_or_an_input_error(text: str) -> None:
    try:
        factors = parse_factors(text)
    except InputError:
        return
    assert len(set(factors)) == len(factors) >= 1
