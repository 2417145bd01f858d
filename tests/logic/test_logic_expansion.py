"""Quantifiers, parameters and transformations: what they expand and evaluate to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hati.core import InputError
from hati.logic.syntax import (
    Affine,
    Declarations,
    PerformanceSide,
    Relation,
    affine,
    check_dimensions,
    evaluate,
    expand,
    parse_file,
    parse_formula,
)


def relation(text: str) -> Relation:
    formula = parse_formula(text)
    assert isinstance(formula, Relation)
    return formula


def right(text: str) -> PerformanceSide:
    side = relation(text).right
    assert isinstance(side, PerformanceSide)
    return side


@pytest.mark.parametrize(
    ("text", "ground"),
    [
        ("a <= b", "a <= b"),
        ("for all n in {3}: f(n) <= g", "f(3) <= g"),
        ("for all n in {1..3}: f(n) <= g(n * 2)", "f(1) <= g(2) & f(2) <= g(4) & f(3) <= g(6)"),
        ("exists n in {1..9 step 4}: f(n) < g", "f(1) < g | f(5) < g | f(9) < g"),
        ("for all n in {0.1..0.3 step 0.1}: f(n) < g", "f(0.1) < g & f(0.2) < g & f(0.3) < g"),
        ("for all n in {2, 1..3, 2}: f(n) < g", "f(2) < g & f(1) < g & f(3) < g"),
        (
            "for all (n, k) in {(1, 'x'), (2, 'y')}: f(n, k) <= n * g + n * 3 us",
            "f(1, 'x') <= 1 * g + 3 us & f(2, 'y') <= 2 * g + 6 us",
        ),
        (
            "for all n in {1, 2}, k in {1..n}: n > k => f(n) <= g(k)",
            "(false => f(1) <= g(1)) & ((true => f(2) <= g(1)) & (false => f(2) <= g(2)))",
        ),
        ("for all t in {2 ms, 3 ms}: p99(f) <= t within t", "p99(f) <= 2 ms within 2 ms & p99(f) <= 3 ms within 3 ms"),
        ("for all n in {8}: f(log2(n), n / 4, n / 3 * 3, 2 ** -1, max(n, 9)) < g", "f(3, 2, 8.0, 0.5, 9) < g"),
        (
            "for all n in {'a', 'b'}: n = 'a' | f[rand(n)](n) <= g",
            "(true | f[rand('a')]('a') <= g) & (false | f[rand('b')]('b') <= g)",
        ),
        ("for all n in {2}: throughput(f) >= n * 1000 / s", "throughput(f) >= 2000 /s"),
        ("for all n in {2}: f <=(x: x, x: max(x, n * 1 ms)) g", "f <=(x: x, x: max(x, 2 ms)) g"),
        ("!(exists n in {1, 2}: f(n) < g)", "!(f(1) < g | f(2) < g)"),
    ],
)
def test_quantifiers_expand(text: str, ground: str) -> None:
    expanded = expand(parse_formula(text))
    assert str(expanded) == ground
    assert parse_formula(ground) == expanded


def test_constants_and_sets_are_put_in() -> None:
    file = parse_file(
        "constant few = {1, 2}\nconstant t = 3%\nfor all n in {few, 5}: f(n) <= g(t / 1%) within t", "a.spl"
    )
    ground = expand(file.formulas[0].formula, file.declarations, source=file.source)
    assert str(ground) == "f(1) <= g(3) within 3% & f(2) <= g(3) within 3% & f(5) <= g(3) within 3%"


def test_too_many_relations_are_refused_with_their_count() -> None:
    formula = parse_formula("for all n in {1..1000}, k in {1..1000}: f(n) <= g(k) & g(k) <= h")
    with pytest.raises(InputError, match="2000000 relations"):
        expand(formula)
    assert len(expand(parse_formula("for all n in {1..50}, k in {1..n}: f(n) <= g(k)")).find(Relation)) == 50 * 51 // 2


def test_every_relation_of_an_expansion_knows_where_it_was_read() -> None:
    text = "for all n in {1, 2}:   f(n) <= g & g <= h"
    offsets = [part.offset for part in expand(parse_formula(text)).find(Relation)]
    assert [text[offset] for offset in offsets] == ["f", "g", "f", "g"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <= b", Affine(1, 0)),
        ("a <= 1.05 * b", Affine(1.05, 0)),
        ("a <= b / 4 - 2 ms", Affine(0.25, -0.002)),
        ("a <=(x: x, x: 3 * (x + 1 s) - x) b", Affine(2, 3)),
        ("a <=(x: x, x: -(x - 1 s) / 2) b", Affine(-0.5, 0.5)),
        ("a <=(x: x, x: 5% * x ** 1) b", Affine(0.05, 0)),
        ("a <=(x: x, x: x * x) b", None),
        ("a <=(x: x, x: 1 / x) b", None),
        ("a <=(x: x, x: x ** 2) b", None),
        ("a <=(x: x, x: log2(x)) b", None),
    ],
)
def test_affine_transformations_are_told(text: str, expected: Affine | None) -> None:
    # dimensions are those of unknown metrics
    found = affine(right(text).transformation)
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert (found.factor, found.shift) == pytest.approx((expected.factor, expected.shift))


@settings(max_examples=30)
@given(st.data())
def test_an_affine_transformation_is_evaluated_as_its_line(data: st.DataObject) -> None:
    numbers = st.integers(1, 9).map(str)
    text = "x"
    for _ in range(data.draw(st.integers(1, 5))):
        form = data.draw(
            st.sampled_from(("({} + {})", "({} - {})", "({} * {})", "({} / {})", "-{} + {}", "({} + x * {})"))
        )
        text = form.format(text, data.draw(numbers))
    transformation = right(f"a <=(x: x, x: {text}) b").transformation
    line = affine(transformation)
    assume(line is not None)
    assert line is not None
    observed = np.array([0.5, 1.0, 40.0])
    scale = max(1.0, abs(line.factor) * 40 + abs(line.shift))
    assert evaluate(transformation, observed) == pytest.approx(line.factor * observed + line.shift, abs=1e-9 * scale)


def test_any_transformation_is_evaluated_on_arrays() -> None:
    transformation = right("a <=(x: x, x: max(sqrt(x), 2, log2(x)) + 500 ms / 1 s) b").transformation
    assert evaluate(transformation, np.array([1.0, 16.0, 2.0**40])).tolist() == [2.5, 4.5, 2.0**20 + 0.5]


@pytest.mark.parametrize(
    ("text", "units", "message"),
    [
        ("a <= 2 ms", ("ms", None), None),
        ("a <= 2 MB", ("ms", None), "the left side is time, the right side memory"),
        ("a <= b", ("s", "B"), "the left side is time, the right side memory"),
        ("a <= b + 2", ("s", "s"), "2 is a number without unit, not time"),
        ("a >= 2 MB/s", ("B/s", None), None),
        ("throughput(a) >= 2 Hz", ("us", None), None),
        ("a * 2 MB <= b * 3 MB", ("s", "ms"), None),
        ("latency of a <= 3 'page'", ("page", None), None),
    ],
)
def test_sides_have_one_dimension(text: str, units: tuple[str, str | None], message: str | None) -> None:
    if message is None:
        check_dimensions(relation(text), *units)
    else:
        with pytest.raises(InputError, match=message):
            check_dimensions(relation(text), *units)


def test_aliases_add_up_with_their_use() -> None:
    declared = "constant c = 3\nalias old = m:f@v1\nalias older = old[rand](c * 2)\ngenerator rand = m:g(c)\n"
    text = f"{declared}old[rand](1) <= 2 ms\nolder <= 2 ms\nold@v2 <= b"
    file = parse_file(text, "a.spl")
    methods = [item.formula.find(Relation)[0].left.measured.method for item in file.formulas]  # type: ignore[attr-defined]  # all sides are measured
    resolved = file.declarations.resolved
    assert [str(resolved(method)) for method in methods[:2]] == ["m:f@v1[m:g(3)](1)", "m:f@v1[m:g(3)](6)"]
    with pytest.raises(InputError, match="already has its revision"):
        resolved(methods[2])
    assert Declarations().resolved(methods[0]) == methods[0]


def test_generators_stand_for_one_another_in_chains() -> None:
    declared = "generator g = h\ngenerator h = m:rand@v1\ngenerator i = j('x')\ngenerator j = h\ngenerator k = k\n"
    file = parse_file(f"{declared}m:f[g, i](1) <= m:f[i, k](2)\nm:f[g(3), k('y')](1) <= m:f[g@v2](1)", "a.spl")
    relations = [item.formula.find(Relation)[0] for item in file.formulas]
    sides = [side for each in relations for side in (each.left, each.right)]
    used = [side.measured.method for side in sides if isinstance(side, PerformanceSide)]
    resolved = file.declarations.resolved
    assert [str(resolved(method)) for method in used[:3]] == [
        "m:f[m:rand@v1, m:rand@v1('x')](1)",
        "m:f[m:rand@v1('x'), k](2)",
        "m:f[m:rand@v1(3), k('y')](1)",
    ]
    with pytest.raises(InputError, match="'h' already has its revision"):
        resolved(used[3])
