"""Formulas: what is read, what is refused and where, and that printing and reading are inverse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.formula import And, Comparator, FormulaError, Implies, Not, Or, Truth
from hati.formula.proposition import DEEPEST
from hati.space import Constraint, parse_formula
from hati.space.constraint import Flag, Literal, Membership, Name, Product, Sum, TermComparison, mentioned
from spaces import NAMES, formulas, options

A, B, C = Flag("a"), Flag("b"), Flag("c")


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("a", A),
        (" true ", Truth(value=True)),
        ("a and b or c", Or((And((A, B)), C))),
        ("a or b and c", Or((A, And((B, C))))),
        ("a => b => c", Implies(A, Implies(B, C))),
        ("not a and b", And((Not(A), B))),
        ("not x == 1", Not(TermComparison(Name("x"), Comparator.EQUAL, Literal(1)))),
        ("x==1.0", TermComparison(Name("x"), Comparator.EQUAL, Literal(1.0))),
        ("x in [-1, 'it\\'s', true]", Membership(Name("x"), (Literal(-1), Literal("it's"), Literal(value=True)))),
        ('`page-size` != "a"', TermComparison(Name("page-size"), Comparator.UNEQUAL, Literal("a"))),
        (
            "x + 2 * y - 1 >= 1_000",
            TermComparison(
                Sum((Name("x"), Product((Literal(2), Name("y"))), Literal(1)), ("+", "-")),
                Comparator.AT_LEAST,
                Literal(1000),
            ),
        ),
        ("notable and order", And((Flag("notable"), Flag("order")))),
        ("(((a)))", A),
    ],
)
def test_reads(text: str, formula: Constraint) -> None:
    assert parse_formula(text) == formula


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("", 0, "expected an option, a setting or '(', found the end"),
        ("a ==  ", 4, "expected an option, a setting or '(', found the end"),
        ("(a", 0, "the '(' is never closed"),
        ("a)", 1, "the ')' was never opened"),
        ("a b", 2, "expected a comparison, and, or, =>, <=> or the end, found 'b'"),
        ("1 < a < 3", 6, "expected and, or, =>, <=> or the end, found '<'"),
        ("a in []", 6, "expected a setting, found ']'"),
        ("a in 5", 5, "expected '[', found '5'"),
        ("x == 'WAL", 5, "the ' is never closed"),
        ("x == 'WAL\n and y == 'on'", 5, "the ' is never closed"),
        ("a && b", 2, "'&&' is not known in formulas"),
        ("x = 1", 2, "'=' is not known in formulas"),
        ("a -> b", 2, "'->' is not known in formulas"),
        ("!a", 0, "'!' is not known in formulas"),
        ("a and 5", 6, "expected something true or false, found 5"),
        ("(a and b) == true", 1, "expected an option or a setting, found something true or false"),
        ("x == 1e999", 5, "the number is too large"),
        ("x == 99999999999999999999", 5, "the number is too large"),
        ("x == '\\q'", 6, "unknown escape '\\\\q'"),
        ("x == '\\u{d800}'", 6, "'\\\\u{d800}' is not a valid character"),
        ("-'a' == x", 0, "'a' has no sign"),
        ("a and\n  b c", 10, "expected a comparison, and, or, =>, <=> or the end, found 'c'"),
    ],
)
def test_tells_what_is_wrong_and_where(text: str, offset: int, message: str) -> None:
    with pytest.raises(FormulaError) as caught:
        parse_formula(text)
    assert (caught.value.offset, caught.value.message) == (offset, message)


def test_the_fix_names_our_operator() -> None:
    with pytest.raises(FormulaError) as caught:
        parse_formula("a || b")
    assert str(caught.value) == "formula:1:3: '||' is not known in formulas; write 'or'\n  a || b\n    ^"


def test_the_place_of_an_error_in_a_later_line() -> None:
    with pytest.raises(FormulaError) as caught:
        parse_formula("a and\n  b c")
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.column, caught.value.place.text) == (2, 5, "  b c")


@pytest.mark.parametrize(
    "text", ["(" * 5000, "not " * 4000 + "a", "-" * 5000 + "x == 1", "a => " * 3000 + "a", "[" * 900]
)
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(FormulaError):
        parse_formula(text)


def test_depth_is_bounded_and_width_is_not() -> None:
    assert parse_formula("not " * (DEEPEST - 1) + "a").depth == DEEPEST
    with pytest.raises(FormulaError, match="nested deeper than 60 levels"):
        parse_formula("not " * DEEPEST + "a")
    assert parse_formula(" and ".join(["a"] * 3000)).depth == 2
    assert parse_formula("(" * 3000 + "a" + ")" * 3000) == A


def test_length_is_bounded() -> None:
    with pytest.raises(FormulaError, match="has 20001 characters"):
        parse_formula("a" * 20_001)


def test_a_literal_knows_its_type() -> None:
    assert len({Literal(1), Literal(1.0), Literal(value=True)}) == 3
    assert parse_formula("x == 1") != parse_formula("x == 1.0") != parse_formula("x == true")


def test_offsets_are_those_of_the_text_and_do_not_matter_to_equality() -> None:
    formula = parse_formula("  b or x == 'y'")
    assert [node.offset for node in formula.nodes()] == [2, 2, 7, 7, 12]
    assert formula == parse_formula("b or (x=='y')")


def test_mentions_each_option_once_in_order() -> None:
    assert mentioned(parse_formula("b and x + b * x > 1 and a")) == ("b", "x", "a")


@given(st.data())
def test_printing_and_reading_are_inverse(data: st.DataObject) -> None:
    known = [data.draw(options(name)) for name in data.draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=4))]
    formula = data.draw(formulas(known))
    assert parse_formula(str(formula)) == formula


_FRAGMENTS = st.sampled_from(
    [
        *"()[]+-*,'\"`\\ \n1.e=<>!&|",
        "and",
        " or ",
        "not ",
        " in ",
        "=>",
        "<=>",
        "==",
        "x",
        "true",
        "1e5",
        "\\u{",
        "é",
        "\0",
    ]
)


@given(st.one_of(st.text(), st.lists(_FRAGMENTS).map("".join)))
def test_any_text_is_a_formula_or_an_error_with_its_place(text: str) -> None:
    try:
        formula = parse_formula(text)
    except FormulaError as error:
        assert 0 <= error.offset <= len(text)
        assert error.message
        assert str(error)
    else:
        assert parse_formula(str(formula)) == formula


def test_lark_is_not_loaded_before_the_first_formula() -> None:
    import subprocess
    import sys

    program = "import sys, hati.space; print([m for m in ('lark', 'dd', 'ortools') if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"
