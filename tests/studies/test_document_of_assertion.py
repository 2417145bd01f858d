"""Estimates of relations as text: by how much the left side is larger, in a unit."""

from __future__ import annotations

import pytest
from assertion_samples import atom, book_of, of_means

from hati.studies.assertion.tables import excess_text, undecided_text

BOOK = of_means(a=0.010, b=0.020)


@pytest.mark.parametrize(
    ("relation", "told"),
    [
        ("b <= a", "+100.0 %"),
        ("a <= b", "-50.0 %"),
        ("b <= 15 ms", "5 ms"),
        ("a <= 15 ms", "-5 ms"),
        ("15 ms <= b", "-5 ms"),
    ],
)
def test_an_estimate_is_what_the_left_side_is_larger_by(relation: str, told: str) -> None:
    assert excess_text(atom(BOOK, relation), BOOK) == told


def test_equal_values_on_a_limit_of_zero_are_explained() -> None:
    book = book_of(a=[[0.0]] * 20)
    said = undecided_text(atom(book, "a <= 0 s"))
    assert said.startswith("all values are equal and on the limit")
    assert undecided_text(atom(book, "a <= 0.5 s")) == ""
