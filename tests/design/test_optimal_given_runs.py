"""Runs made already, read from a table."""

from __future__ import annotations

import pytest

from hati.core import InputError
from hati.design import read_runs
from hati.space import Option, Space, parse_formula

SPACE = Space(
    (
        Option("a", (False, True), False),
        Option("b", (1.0, 2.5), 1.0, active_if=parse_formula("a")),
        Option("c", ("x", "y"), "x"),
    ),
    (parse_formula("not b == 2.5 or c == 'x'"),),
)


def test_rows_in_any_order_of_columns_with_others_between() -> None:
    rows = read_runs("\ufefflatency,c,a,b\n3.5,y,false,\n1,x,1,2.50\n1,x,1,2.5\n", SPACE)
    assert rows.tolist() == [[0, -1, 1], [1, 1, 0], [1, 1, 0]]
    assert read_runs("a,b,c\n", SPACE).shape == (0, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "r.csv:1: there is no column for option 'a'"),
        ("a,b\n0,1\n", "r.csv:1: there is no column for option 'c'"),
        ("a,a,b,c\n", "r.csv:1: there are two columns for option 'a'"),
        ("a,b,c\n0,,x\n0,,z\n", "r.csv:3: 'z' is not a setting of option 'c'"),
        ("a,b,c\n1,,x\n", "r.csv:2: option 'b' is active here"),
        ("a,b,c\n1,2.5,y\n", "r.csv:2: this configuration is not valid"),
        ("a,b,c\n1,1\n", "r.csv:2: this row ends before column 'c'"),
        ('a,b,c\n"1,1,x\n', "this is not CSV"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_runs(text, SPACE, "r.csv")
    assert message in str(error.value)
