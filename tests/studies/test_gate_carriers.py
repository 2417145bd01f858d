"""Which options carry a change: the margin decides, and not significance alone."""

from __future__ import annotations

from itertools import product

import numpy as np

from hati.core import Configuration, Setting
from hati.studies.gate.conclusion import affected_options

CONFIGURATIONS = [dict(zip("abc", settings, strict=True)) for settings in product((False, True), repeat=3)]
LIMIT = float(np.log(1.05))


def named(change: dict[str, float], noise: float, limit: float) -> set[str]:
    """The carriers of a change that is the sum of what each option's second setting adds, in six rounds."""
    size = [sum(change[name] for name in change if each[name]) for each in CONFIGURATIONS]
    values = np.array(size) + noise * np.random.default_rng(1).standard_normal((6, len(CONFIGURATIONS)))
    return {one.option for one in affected_options("b", "m", CONFIGURATIONS, values, 0.01, limit)}


def test_an_option_that_adds_less_than_the_margin_carries_nothing_however_clear_it_is() -> None:
    assert named({"a": 0.3, "b": 0.0005}, 1e-5, 0.0) == {"a", "b"}
    assert named({"a": 0.3, "b": 0.0005}, 1e-5, LIMIT) == {"a"}
    assert named({"a": 0.3, "b": 0.0005}, 0.0, LIMIT) == {"a"}


def test_an_option_that_adds_more_than_the_margin_carries_it() -> None:
    assert named({"a": 0.3, "b": 0.1}, 0.01, LIMIT) == {"a", "b"}
    assert named({}, 0.01, LIMIT) == set()


def suite() -> list[Configuration]:
    """Twelve configurations, of which d=x is in the two that differ in b, e and f too; a is crossed."""
    rows: list[dict[str, Setting]] = [
        {"a": place % 2, "b": place // 2 % 2, "d": "yz"[place % 2], "e": place % 3, "f": 0} for place in range(10)
    ]
    rows += [{"a": 0, "b": 0, "d": "x", "e": 0, "f": 0}, {"a": 1, "b": 1, "d": "x", "e": 1, "f": 1}]
    return list(map(Configuration, rows))


def test_options_that_only_differ_among_the_changed_configurations_are_not_blamed() -> None:
    """What the two changed configurations differ by could be any of four options, of which one is crossed."""
    cells = suite()
    size = np.array([{"x": 0.5 + 0.3 * float(str(each["b"]))}.get(str(each["d"]), 0.0) for each in cells])
    values = size + 0.003 * np.random.default_rng(1).standard_normal((5, len(cells)))
    found = affected_options("b", "m", cells, values, 0.01, LIMIT)
    assert {one.option for one in found} == {"d"}
    of_crossed = affected_options("b", "m", cells, values, 0.01, LIMIT, {"a"})
    assert {(one.option, one.where) for one in of_crossed} == {("d", ()), ("a", (("d", "x"),))}


def test_of_options_that_listed_configurations_vary_together_none_is_blamed() -> None:
    cells = [Configuration(dict.fromkeys("abc", place)) for place in (0, 1)]
    values = np.array([0.0, 0.3]) + 0.001 * np.random.default_rng(1).standard_normal((5, 2))
    assert affected_options("b", "m", cells, values, 0.01, LIMIT, set("abc")) == ()


def test_changes_that_cancel_out_at_another_setting_are_looked_for() -> None:
    """At d=y one setting of a is a third faster and one slower, which is no change on average."""
    cells = [Configuration({"a": a, "b": b, "d": d}) for d in "xy" for a in (0, 1) for b in (0, 1)]
    size = np.array([0.5 if each["d"] == "x" else 0.3 * (2 * float(str(each["a"])) - 1.0) for each in cells])
    values = size + 0.003 * np.random.default_rng(1).standard_normal((5, len(cells)))
    found = affected_options("b", "m", cells, values, 0.01, LIMIT)
    assert {one.option for one in found} == {"a", "d"}
    assert {one.where for one in found} == {()}
