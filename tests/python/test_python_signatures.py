"""What goes by place and by name is given as a call in Python would give it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import Parameter
from inspect import signature as inspected
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.python.injected.parameters import Parameters
from hati.python.injected.signature import Signature, signature
from hati.python.injected.trouble import Trouble

PLACED = [("", 1), ("", 2)]
NAMED = [("n", 1), ("k", 2)]
FUNCTIONS: list[Callable[..., Any]] = [
    lambda: None,
    lambda n: None,
    lambda n, k=0: None,
    lambda n, /: None,
    lambda n, /, k: None,
    lambda n, /, k=0, *, m=0: None,
    lambda *n: None,
    lambda n, *more: None,
    lambda n, *more, k=0: None,
    lambda n, *, k: None,
    lambda *, n, k=0: None,
    lambda **more: None,
    lambda n, **more: None,
    lambda n, *more, k, **others: None,
]


def given_to(function: Callable[..., Any], parameters: list[tuple[str, Any]], *own: object) -> Any:
    """What a function returns of what it is given."""
    every = Parameters(parameters, "seed")
    bound = every.bound(function, own)
    every.check_given("m:f")
    return bound()


@pytest.mark.parametrize(
    ("function", "parameters", "own", "found"),
    [
        (lambda n, k: (n, k), PLACED, (), (1, 2)),
        (lambda n, k: (n, k), [("k", 2), ("n", 1)], (), (1, 2)),
        (lambda n, /, k: (n, k), PLACED, (), (1, 2)),
        (lambda n, *more: (n, more), PLACED, (), (1, (2,))),
        (lambda *, k, n: (n, k), NAMED, (), (1, 2)),
        (lambda k, more=9, n=0: (n, k, more), NAMED, (), (1, 2, 9)),
        (lambda n, **more: (n, more), NAMED, (), (1, {"k": 2})),
        (lambda kind, n, k: (kind, n, k), PLACED, ("x",), ("x", 1, 2)),
        (lambda kind, n, k: (kind, n, k), NAMED, ("x",), ("x", 1, 2)),
        (lambda kind, /, n, k: (kind, n, k), NAMED, ("x",), ("x", 1, 2)),
        (lambda *every: every, PLACED, ("x", "y"), ("x", "y", 1, 2)),
        (lambda kind, **more: (kind, more), NAMED, ("x",), ("x", {"n": 1, "k": 2})),
        (lambda a, b: (a, b), [], ("x", "y"), ("x", "y")),
    ],
)
def test_what_is_in_brackets_comes_first_then_parameters_by_place_or_by_name(
    function: Callable[..., Any], parameters: list[tuple[str, Any]], own: tuple[object, ...], found: object
) -> None:
    assert given_to(function, parameters, *own) == found


@pytest.mark.parametrize(
    "function",
    [
        lambda rng, *n: (rng, n),
        lambda *n, rng: (rng, n),
        lambda rng, a, b, /: (rng, (a, b)),
        lambda a, rng, /, b: (rng, (a, b)),
        lambda a, b, rng=None: (rng, (a, b)),
    ],
)
def test_rng_is_given_wherever_it_stands_and_is_no_place(function: Callable[..., Any]) -> None:
    rng, others = given_to(function, PLACED)
    assert 0.0 <= rng.random() < 1.0
    assert others == (1, 2)


@pytest.mark.parametrize(
    ("function", "parameters", "own", "said"),
    [
        (lambda size, depth: 0, NAMED, (), "m:f has no use for parameter n: <lambda> takes size, depth"),
        (lambda n: 0, PLACED, (), r"m:f has no use for parameter 2 \(2\): <lambda> takes n"),
        (lambda **more: 0, PLACED, (), r"no use for parameter 1 \(1\): <lambda> takes any others by name"),
        (lambda *more: 0, NAMED, (), "no use for parameter n: <lambda> takes any others"),
        (lambda n, /, **more: 0, NAMED, (), "no use for parameter n: <lambda> takes n, any others by name"),
        (lambda kind, k: 0, [("kind", 1), ("k", 2)], ("x",), r"for parameter kind: .* of which \('x'\) is given"),
        (lambda n, k: 0, PLACED, ("x",), r"parameter 2 \(2\): <lambda> takes n, k, of which \('x'\) is given"),
        (lambda n, k, m: 0, PLACED, (), "<lambda> needs m: give it as a parameter$"),
        (lambda n, k, *, m: 0, PLACED, (), "<lambda> needs m: give it as a parameter by its name"),
        (lambda m, /, n, k: 0, NAMED, (), "<lambda> needs m: give it as a parameter without a name"),
        (lambda n, m=0, rng=None, /: 0, [("", 1)], (), "<lambda> needs m: give it as a parameter without a name"),
        (lambda n: 0, [], ("x", "y"), "<lambda> takes n, and is given 2 in brackets"),
        (lambda *, n: 0, [], ("x",), "<lambda> takes n, and is given 1 in brackets"),
    ],
)
def test_what_is_of_no_use_or_is_missing_is_refused(
    function: Callable[..., Any], parameters: list[tuple[str, Any]], own: tuple[object, ...], said: str
) -> None:
    with pytest.raises(Trouble, match=said):
        given_to(function, parameters, *own)


@given(
    function=st.sampled_from(FUNCTIONS),
    own=st.lists(st.integers(), max_size=3),
    named=st.booleans(),
    parameters=st.lists(st.tuples(st.sampled_from("nkm"), st.integers()), max_size=3, unique_by=lambda one: one[0]),
)
def test_all_is_given_where_python_would_take_it_and_else_refused(
    function: Callable[..., Any], own: list[int], named: bool, parameters: list[tuple[str, int]]
) -> None:
    listed = (*own, *(value for _, value in parameters)) if not named else tuple(own)
    names = dict(parameters) if named else {}
    try:
        wanted = inspected(function).bind(*listed, **names)
    except TypeError:
        wanted = None
    asked = Parameters(parameters if named else [("", value) for _, value in parameters])
    try:
        found = asked.taken("f", signature(function), own)
        asked.check_given("f")
    except Trouble:
        nameless = [
            each.name for each in inspected(function).parameters.values() if each.kind is Parameter.POSITIONAL_ONLY
        ]
        assert wanted is None or set(nameless) & set(names)  # Python takes such a name for **more
    else:
        assert wanted is not None
        assert inspected(function).bind(*found[0], **found[1]).arguments == wanted.arguments


class Maker:
    @classmethod
    def make(cls, n: int) -> int:
        return n


def test_signatures_are_read_without_inspect() -> None:
    def many(z: int, /, a: int, b: int = 1, *c: int, d: int, e: int = 2, **f: int) -> None: ...

    assert signature(many).names == {"z": True, "a": True, "b": False, "d": True, "e": False}
    assert signature(many)[1:] == (1, 3, True, True)
    assert signature(many).describe({"a": 0}) == "z, b, d, e, any others"
    assert signature(many, 2).free({}) == ("b",)
    assert signature(lambda: None) == Signature({})
    assert signature(Maker.make).free({}) == ("n",)
    with pytest.raises(Trouble, match="what a partial takes is not known: write a function around it"):
        Parameters([]).bound(partial(many, 1))
