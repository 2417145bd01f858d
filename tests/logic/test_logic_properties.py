"""What holds for any formula and any text: printing and reading are inverse, and nothing is worse than refused."""

from __future__ import annotations

import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st
from performance_formulas import formula_files, performance_formulas

from hati.core import InputError
from hati.formula import FormulaError
from hati.logic.syntax import FormulaFile, PerformanceFormula, expand, parse_file, parse_formula

TOKENS = (
    *(
        "a",
        "b",
        "n",
        "x",
        "pkg.mod:f",
        "`odd`",
        "SELF",
        "1",
        "2.5",
        ".5",
        "10",
        "ms",
        "%",
        "s",
        "MB",
        "'text'",
        "x:",
        "x: x",
        ":p.C",
    ),
    *(
        "<=",
        ">=",
        "<",
        ">",
        "=",
        "==",
        "+-",
        "within",
        "strictly",
        "&",
        "|",
        "!",
        "=>",
        "==>",
        "and",
        "or",
        "not",
        "implies",
    ),
    *(
        "+",
        "-",
        "*",
        "/",
        "**",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "..",
        "step",
        "in",
        "of",
        "for",
        "for all",
        "exists",
    ),
    *(
        "@v1",
        "@HEAD~1",
        "#m",
        "p99(",
        "median(",
        "cpu(",
        "quantile(",
        "log2(",
        "min(",
        "true",
        "alias",
        "constant",
        "\n",
        " ",
    ),
    *(
        "alias a = b",
        "constant c = 3",
        "a <= b",
        "for all n in {1..3}:",
        "q:",
        '"',
        "'",
        "#",
        "@",
        "\\",
        "é",
        "\x00",
        "λ",
        ".",
    ),
)


@settings(max_examples=25)
@given(performance_formulas(levels=2))
def test_what_is_printed_is_read_as_the_same_tree(formula: PerformanceFormula) -> None:
    text = str(formula)
    read = parse_formula(text)
    assert read == formula
    assert str(read) == text


@settings(max_examples=12)
@given(formula_files())
def test_files_are_read_as_they_were_printed(file: FormulaFile) -> None:
    assert parse_file(str(file), "a.spl") == file


@settings(max_examples=12)
@given(performance_formulas(levels=2))
def test_what_is_expanded_has_no_variables_and_prints_as_it_is(formula: PerformanceFormula) -> None:
    try:
        ground = expand(formula, most=1000)
    except FormulaError:
        return
    assert parse_formula(str(ground)) == ground
    assert expand(ground) == ground


@settings(max_examples=60)
@given(st.lists(st.sampled_from(TOKENS), max_size=25), st.sampled_from(("", " ")))
def test_no_text_of_tokens_is_worse_than_refused(tokens: list[str], between: str) -> None:
    _refused_or_read(between.join(tokens))


@settings(max_examples=25)
@given(performance_formulas(levels=1), st.data())
def test_no_mutation_is_worse_than_refused(formula: PerformanceFormula, data: st.DataObject) -> None:
    text = str(formula)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 5)))
    _refused_or_read(text[:start] + data.draw(st.sampled_from(("", *TOKENS))) + text[end:])


@settings(max_examples=25)
@given(st.text(max_size=60))
def test_no_text_at_all_is_worse_than_refused(text: str) -> None:
    _refused_or_read(text)


def _refused_or_read(text: str) -> None:
    try:
        formula = parse_formula(text)
        assert parse_formula(str(formula)) == formula
    except FormulaError as error:
        assert error.place
        assert error.place.line
        assert 0 <= error.offset <= len(text)
        assert len(error.message) < 400
    else:
        with contextlib.suppress(FormulaError):
            expand(formula, most=1000)
    with contextlib.suppress(InputError):
        file = parse_file(text, "a.spl")
        assert parse_file(str(file), "a.spl") == file
