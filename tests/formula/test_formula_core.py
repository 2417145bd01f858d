"""The core of formulas: evaluation, simplification, printing, and grammars with their tables."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import lark
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import InputError, replace
from hati.formula import (
    KLEENE,
    SIGNS,
    SIMPLIFYING,
    And,
    Equivalent,
    FormulaError,
    Grammar,
    Implies,
    Node,
    Not,
    Notation,
    Or,
    Proposition,
    Source,
    Truth,
    evaluate,
    unquoted,
)
from hati.formula.proposition import DEEPEST
from hati.logic.syntax import parse_formula as parse_performance
from hati.logic.syntax.parse_tables import GRAMMAR as PERFORMANCE
from hati.space import parse_formula
from hati.space.parse_tables import GRAMMAR as CONSTRAINTS

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import grammars

NAMES = ("a", "b", "c")


@dataclass(frozen=True)
class Letter(Proposition["Letter"]):
    name: str

    @property
    def notation(self) -> Notation:
        return SIGNS

    def __str__(self) -> str:
        return self.name


A, B, C = map(Letter, NAMES)
FORMULAS = st.recursive(
    st.sampled_from((A, B, C, Truth[Letter](value=True), Truth[Letter](value=False))),
    lambda parts: st.one_of(
        parts.map(Not),
        st.lists(parts, min_size=2, max_size=3).map(lambda each: And(tuple(each))),
        st.lists(parts, min_size=2, max_size=3).map(lambda each: Or(tuple(each))),
        st.tuples(parts, parts).map(lambda pair: Implies(*pair)),
        st.tuples(parts, parts).map(lambda pair: Equivalent(*pair)),
    ),
    max_leaves=8,
)


def _value(formula: Proposition[Letter], values: dict[str, bool | None]) -> bool | None:
    return evaluate(formula, KLEENE, lambda letter: values[letter.name])


@given(FORMULAS)
def test_what_kleene_knows_holds_whatever_is_unknown(formula: Proposition[Letter]) -> None:
    for known in product((True, False, None), repeat=len(NAMES)):
        found = _value(formula, dict(zip(NAMES, known, strict=True)))
        completions = product(*((value,) if value is not None else (True, False) for value in known))
        possible = {_value(formula, dict(zip(NAMES, whole, strict=True))) for whole in completions}
        assert None not in possible
        assert found is None or possible == {found}


@given(FORMULAS)
def test_what_is_simplified_is_true_in_the_same_cases_and_has_no_constants(formula: Proposition[Letter]) -> None:
    simple = evaluate(formula, SIMPLIFYING, lambda letter: letter)
    assert isinstance(simple, Truth) or not simple.find(Truth)
    for values in product((True, False), repeat=len(NAMES)):
        case: dict[str, bool | None] = dict(zip(NAMES, values, strict=True))
        assert _value(simple, case) == _value(formula, case)


@given(FORMULAS)
def test_a_formula_mapped_to_itself_is_the_same(formula: Proposition[Letter]) -> None:
    assert Not(formula).mapped(lambda part: part) == Not(formula)


def test_precedence_and_notation() -> None:
    formula = Implies(Or((And((A, Not(B))), C)), Equivalent(A, Or((B, And((C, Or((A, B))))))))
    assert str(formula) == "a & !b | c => (a <=> b | c & (a | b))"
    truths = And((Truth[Letter](value=True), Not(Truth[Letter](value=False))))
    assert str(truths) == "true and not false"
    assert str(And((Truth[Letter](value=True, notation=SIGNS), A))) == "true & a"
    assert str(Implies(Implies(A, B), Implies(B, C))) == "(a => b) => b => c"


def test_both_languages_print_truths_as_they_write_them() -> None:
    assert str(parse_formula("true and not (false)")) == "true and not false"
    assert str(parse_performance("true and not (false)")) == "true & !false"


def test_trees_have_a_depth() -> None:
    formula: Proposition[Letter] = A
    for _ in range(DEEPEST - 1):
        formula = Not(formula)
    with pytest.raises(FormulaError, match="nested deeper than 60 levels"):
        Not(formula)
    with pytest.raises(InputError, match="two formulas or more"):
        And((A,))


def test_errors_of_nodes_are_placed_in_the_source() -> None:
    source = Source("a\n  b & c", "file.spl", line=7)
    with pytest.raises(FormulaError) as caught, source.placing():
        raise Node(offset=6).error("this is wrong", fix="fix it")
    assert str(caught.value) == "file.spl:8:5: this is wrong; fix it\n    b & c\n      ^"
    with pytest.raises(FormulaError) as caught, source.placing():
        unquoted(r"'ab\q'", 2)
    assert caught.value.offset == 5


@pytest.mark.parametrize("path", grammars.texts(), ids=lambda path: path.name)
def test_tables_are_of_the_grammar(path: Path) -> None:
    """Else run scripts/grammars.py."""
    assert not grammars.stale(path, grammars.texts()[path])


@pytest.mark.parametrize(
    ("grammar", "start", "text"),
    [
        (CONSTRAINTS, "formula", "a and not (`b c` + 2 * x <= -1) => mode in ['WAL', 1.5] <=> true"),
        (PERFORMANCE, "formula", "for all n in {1..3}: f@v1[g(n)](n) <=(x: 2*x, id) 3 ms & !(p99(a) = b +- 3%)"),
        (PERFORMANCE, "statement", "constant sizes = {1, 2}"),
    ],
)
def test_tables_read_as_the_grammar_does(
    grammar: Grammar, start: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = grammar.parser.parse(text, start=start)
    monkeypatch.setattr(lark, "__version__", "0")
    computed = grammar.parser
    assert computed.parse(text, start=start) == loaded


def test_tables_of_another_version_are_not_loaded() -> None:
    with pytest.raises(lark.exceptions.GrammarError):
        _ = replace(CONSTRAINTS, version="0", text="start:").parser
