from __future__ import annotations

import statistics
from functools import partial

import pytest

import hati
from hati.python import Performance, exists, for_all


def sort(values: list[int]) -> None: ...


def old(values: list[int]) -> None: ...


@hati.workload
def rand(n: int) -> list[int]:
    return list(range(n))


@hati.instance
def bag(n: int) -> list[int]:
    return list(range(n))


def test_comparisons_write_formulas() -> None:
    new = Performance(sort, rand, 100)
    formula = new <= 1.05 * Performance(old, rand, 100)
    assert str(formula) == "sort[rand](100) <= 1.05 * old[rand](100)"
    assert formula.aliases == {name: f"{__name__}:{name}" for name in ("sort", "rand", "old")}
    assert str(new < new.at("v1.2")) == "sort[rand](100) < sort@v1.2[rand](100)"
    assert str(new.statistic("p99") <= "2 ms") == "p99(sort[rand](100)) <= 2 ms"
    assert str(new.equals(new.at("pkg==1.4"), "3%")) == "sort[rand](100) = sort@pkg==1.4[rand](100) +- 3%"
    assert str(Performance(list.__contains__, rand, bag, 5) >= 0.1 * (new + new)) == (
        "__contains__[rand, bag](5) >= 0.1 * (sort[rand](100) + sort[rand](100))"
    )


def test_a_partial_of_a_generator_has_arguments_of_its_own() -> None:
    made = Performance(sort, partial(rand, "uniform", 3), partial(bag, 2.5), 100)
    assert str(made <= "2 ms") == "sort[rand('uniform', 3), bag(2.5)](100) <= 2 ms"
    assert (made <= "2 ms").aliases == {name: f"{__name__}:{name}" for name in ("sort", "rand", "bag")}
    assert str(made.at("v1") <= made) == str(made <= made).replace("sort[", "sort@v1[", 1)
    every = for_all("kind", ("uniform", "normal"), lambda kind: Performance(sort, partial(rand, kind)) <= "1 ms")
    assert str(every) == "for all kind in {'uniform', 'normal'}: sort[rand(kind)] <= 1 ms"
    with pytest.raises(TypeError, match="has keyword arguments: give them by position"):
        Performance(sort, partial(rand, n=1))
    with pytest.raises(TypeError, match="is not a parameter: give a number, a text"):
        Performance(sort, partial(rand, None))


def test_texts_that_are_no_words_are_quoted() -> None:
    new = Performance(sort, rand)
    assert str(new.statistic("throughput") >= "5 1/s") == "throughput(sort[rand]) >= 5 '1/s'"
    assert str(new.at("it's") <= new.at("v1+2")) == r"sort@'it\'s'[rand] <= sort@'v1+2'[rand]"
    with pytest.raises(TypeError, match="not a parameter"):
        Performance(sort, None)


def test_formulas_are_combined() -> None:
    small = Performance("pkg:sort", rand, 1) <= "1 ms"
    both = small & ~small | small.implies(small)
    atom = "pkg:sort[rand](1) <= 1 ms"
    assert str(both) == f"(({atom}) & (!({atom}))) | (({atom}) => ({atom}))"
    every = for_all("n", (10, 100), lambda n: Performance(sort, rand, 2 * n) <= n * Performance(sort, rand, 1))
    assert str(every) == "for all n in {10, 100}: sort[rand](2 * n) <= n * sort[rand](1)"
    assert str(exists("f", ("a", 'b"'), lambda f: Performance(hati.SELF, f) > 1)) == (
        """exists f in {'a', 'b"'}: SELF(f) > 1"""
    )


def test_equal_names_of_different_functions_are_told_apart() -> None:
    ours, sort_outside = sort, Performance("", rand)
    assert str(sort_outside)  # a text is taken as it is

    class Other:
        @staticmethod
        def sort() -> None: ...

    Other.sort.__qualname__ = "Other.sort"
    formula = Performance(ours) <= Performance(Other.sort)
    assert str(formula) == "sort <= sort_2"
    assert formula.aliases["sort_2"] == f"{__name__}:Other.sort"


def test_functions_with_names_that_formulas_have_a_use_for_get_others() -> None:
    formula = Performance(abs) <= Performance(statistics.median)
    assert str(formula) == "abs_ <= median_"
    assert formula.aliases == {"abs_": "builtins:abs", "median_": "statistics:median"}


def test_a_formula_has_no_truth_before_it_is_measured() -> None:
    with pytest.raises(TypeError, match="decided by measuring"):
        bool(Performance(sort) <= 1)
    with pytest.raises(TypeError, match="not a performance"):
        Performance(sort) <= [1]  # noqa: B015  # comparing raises
    with pytest.raises(TypeError, match="needs a workload"):
        Performance(sort, bag)


def test_a_formula_is_stated_on_a_function() -> None:
    @hati.spl(Performance(hati.SELF, rand, 9) <= 1.1 * Performance(old, rand, 9))
    def faster() -> None: ...

    [statement] = hati.python.statements(faster)
    assert statement.formulas == ("SELF[rand](9) <= 1.1 * old[rand](9)",)
    assert statement.aliases == {"rand": f"{__name__}:rand", "old": f"{__name__}:old"}


def test_statements_of_a_function_are_read_after_those_of_files() -> None:
    assert callable(hati.python.has_statements)
    assert callable(hati.python.statements)
