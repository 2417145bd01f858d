from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import hati
from hati.python import Once, freshness, kind, reference, resolve, statements
from hati.python import stated as all_stated


@hati.workload
def rand(n: int) -> list[int]:
    return list(range(n))


@hati.instance(fresh="call")
def new() -> object:
    return object()


@hati.measured
def loop(spl: Once, found: list[int]) -> None:
    while spl.needs_more():
        with spl.measure():
            found.append(1)


@hati.spl("SELF <= 2 ms", "SELF <= old", old="pkg.lists:sort@v1.2", made=rand)
@hati.spl("SELF <= 3 ms")
def stated() -> int:
    return 1


def test_a_decorated_function_is_the_same_function() -> None:
    assert rand(2) == [0, 1]
    assert stated() == 1
    found: list[int] = []
    loop(Once(), found)
    assert found == [1]
    assert isinstance(new(), object)


def test_what_was_marked_is_read_again() -> None:
    assert [kind(one) for one in (rand, new, loop, stated, len, 3)] == ["workload", "instance", "measured", "", "", ""]
    assert freshness(new) == "call"
    first, second = statements(stated)
    assert first.formulas == ("SELF <= 2 ms", "SELF <= old")
    assert first.aliases == {"old": "pkg.lists:sort@v1.2", "made": f"{__name__}:rand"}
    assert (first.file, second.formulas) == (__file__, ("SELF <= 3 ms",))
    assert first.line == second.line - 1


def test_a_class_has_no_performance() -> None:
    with pytest.raises(TypeError, match=r"@hati\.spl stands on the class Bag: write it on a function or a method"):
        hati.spl("SELF <= 1 s")(Bag)


def test_a_property_is_no_function() -> None:
    size: Any = property(stated)
    with pytest.raises(TypeError, match="not a function written in Python"):
        hati.spl("SELF <= 1 s")(size)


class Bag:
    @staticmethod
    @hati.spl("SELF <= 1 s")
    def put() -> None: ...

    @hati.spl("SELF <= Bag.put")
    def take(self) -> None: ...

    @hati.spl("SELF <= 4 s")
    @staticmethod
    def count() -> None: ...

    @hati.spl("SELF <= 5 s")
    @classmethod
    def made(cls) -> None: ...


again = stated


def test_the_functions_of_a_module_with_statements_are_found() -> None:
    found = all_stated(sys.modules[__name__])
    assert [one.__qualname__ for one in found] == ["stated", "Bag.put", "Bag.take", "Bag.count", "Bag.made"]
    assert [each.formulas for each in statements(found[-1])] == [("SELF <= 5 s",)]


def test_names_mean_what_they_mean_to_the_function() -> None:
    assert resolve("rand", stated) == f"{__name__}:rand"
    assert resolve("Bag.put", stated) == f"{__name__}:Bag.put"
    assert [resolve(name, stated) for name in ("missing", "Bag.missing", "sys", "__name__")] == [None] * 4


def test_references_are_those_that_can_be_imported() -> None:
    assert reference(list.append) == "builtins:list.append"
    with pytest.raises(TypeError, match="not a function that can be imported"):
        reference(lambda: 1)
    with pytest.raises(ValueError, match="fresh='never'"):
        hati.instance(fresh="never")
    with pytest.raises(TypeError, match="not a valid formula"):
        hati.spl(3)


def test_the_decorators_load_nothing_heavy() -> None:
    code = "import sys, hati; hati.workload; hati.Performance; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "scipy", "hati.core", "lark", "json", "inspect"} & set(done.stdout.split())


def test_a_name_that_is_not_there_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'workloads'"):
        hati.workloads  # noqa: B018  # what is not there is refused
