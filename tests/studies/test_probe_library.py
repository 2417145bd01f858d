"""The library of experiments as a graph of inputs and outputs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hati.core import InputError
from hati.probing.executing import _EXECUTIONS
from hati.studies.probe import LIBRARY, Experiment, chosen_experiments, validate_given


def names(found):
    return [each.name for each in found]


def experiment(name, outputs, inputs=()):
    return Experiment(name, name, "1", dict.fromkeys(outputs, "1"), lambda raw, inputs: (), inputs)


def test_what_is_needed_is_measured_first() -> None:
    assert names(chosen_experiments(["sched.demand"])) == [
        "cpu.work",
        "clock.reading",
        "sched.timeslice",
        "sched.demand",
    ]


def test_what_is_given_is_not_measured() -> None:
    assert names(chosen_experiments(["cpu.pair"], {"cpu.rate": 1.0})) == ["cpu.pair"]


def test_the_whole_library_is_in_an_order_in_which_inputs_are_known() -> None:
    known: set[str] = set()
    for each in chosen_experiments([]):
        assert known.issuperset(each.inputs)
        known |= set(each.outputs)
    assert "sched.demand" not in names(chosen_experiments([]))
    assert {each.name for each in LIBRARY if not each.asks} == set(_EXECUTIONS)


def test_what_asks_for_more_is_measured_only_if_it_or_its_domain_is_named() -> None:
    assert "virt.speed" not in names(chosen_experiments([]))
    assert names(chosen_experiments(["virt"])) == ["virt.speed", "virt.steal"]
    (asking,) = chosen_experiments(["virt.speed"])
    assert "--inside" in asking.asks
    assert "--reference FILE" in asking.asks


def test_no_two_experiments_yield_the_same_property() -> None:
    outputs = [name for each in LIBRARY for name in each.outputs]
    assert len(outputs) == len(set(outputs))


def test_every_property_is_in_the_reference() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/experiments.md").read_text()
    named = set(re.findall(r"`([a-z0-9_.]+)`", page))
    inner = {f"mem.level{number}_{what}" for number in (2, 3) for what in ("size", "latency")}
    for each in LIBRARY:
        assert {each.name, *each.outputs} - inner <= named


def test_cycles_are_refused_with_their_way() -> None:
    library = [experiment("a.a", ["x"], ("y",)), experiment("b.b", ["y"], ("z",)), experiment("c.c", ["z"], ("x",))]
    with pytest.raises(InputError, match=r"a\.a needs b\.b needs c\.c needs a\.a"):
        chosen_experiments(["a.a"], (), library)
    assert names(chosen_experiments(["a.a"], ["z"], library)) == ["b.b", "a.a"]


def test_unknown_names_and_inputs_are_refused() -> None:
    with pytest.raises(InputError, match="there is no experiment or domain 'cpus'"):
        chosen_experiments(["cpus"])
    with pytest.raises(InputError, match="no experiment yields q"):
        chosen_experiments(["a.a"], (), [experiment("a.a", ["x"], ("q",))])
    with pytest.raises(InputError, match="is not an input"):
        validate_given({"cpu.quota": 1.0})
    with pytest.raises(InputError, match="positive"):
        validate_given({"cpu.rate": 0.0})
