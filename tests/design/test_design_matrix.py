"""The design as a value."""

from __future__ import annotations

import numpy as np
import pytest

from hati.core import InputError
from hati.design import Design, full_factorial


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
