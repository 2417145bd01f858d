"""Which options carry a change: the margin decides, and not significance alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from hati.core import Configuration, FloatArray, Setting
from hati.design.suite import screening_suite
from hati.space import Option, Space
from hati.studies.gate import Attribution, AttributionSearch

CONFIGURATIONS = [dict(zip("abc", settings, strict=True)) for settings in product((False, True), repeat=3)]
LIMIT = float(np.log(1.05))


def attribution(
    cells: Sequence[Mapping[str, Setting]], values: FloatArray, limit: float = LIMIT, crossed: str = ""
) -> Attribution:
    search = AttributionSearch("b", "m", 0.01, limit, frozenset(crossed))
    return search.attribution(list(map(Configuration, cells)), values)


def named(change: dict[str, float], noise: float, limit: float) -> set[str]:
    """The carriers of a change that is the sum of what each option's second setting adds, in six rounds."""
    size = [sum(change[name] for name in change if each[name]) for each in CONFIGURATIONS]
    values = np.array(size) + noise * np.random.default_rng(1).standard_normal((6, len(CONFIGURATIONS)))
    return {one.option for one in attribution(CONFIGURATIONS, values, limit).options}


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
    """What the two changed configurations differ by could be any of four options, also where one is crossed."""
    cells = suite()
    size = np.array([{"x": 0.5 + 0.3 * float(str(each["b"]))}.get(str(each["d"]), 0.0) for each in cells])
    values = size + 0.003 * np.random.default_rng(1).standard_normal((5, len(cells)))
    for crossed in ("", "a"):
        found = attribution(cells, values, crossed=crossed)
        assert {(one.option, one.where) for one in found.options} == {("d", ())}
        [rivals] = found.rivals
        assert all("d" in cause.split() for cause in rivals.causes)
        assert len(rivals.causes) > 1


OPTIONS: dict[str, tuple[Setting, ...]] = {
    "threads": (1, 2, 4),
    "level": (1, 5, 6, 9),
    **dict.fromkeys(("independent", "rsync", "quiet", "cache", "log", "sync"), (False, True)),
}


def drawn(size: int, strata: Sequence[str], seed: int) -> list[Configuration]:
    """A suite of a space of eight options."""
    space = Space(tuple(Option(name, settings, settings[0]) for name, settings in OPTIONS.items()))
    return list(screening_suite(space, strata, size, np.random.default_rng(seed)).configurations)


def rounds(size: Sequence[float], seed: int) -> FloatArray:
    return np.array(size) + 0.02 * np.random.default_rng(seed).standard_normal((12, len(size)))


def test_what_two_options_change_together_in_few_configurations_is_no_options_fault() -> None:
    """In eight configurations other settings coincide with two of threads=2 and independent=true."""
    for seed in range(10):
        cells = drawn(8, (), seed)
        change = [0.22 * (each["threads"] == 2 and each["independent"] is True) for each in cells]
        found = attribution(cells, rounds(change, seed))
        assert {one.option for one in found.options} <= {"threads", "independent"}


def test_a_change_of_one_configuration_is_no_options_fault() -> None:
    for seed in range(10):
        cells = drawn(8, (), seed)
        found = attribution(cells, rounds([0.22, *7 * [0.0]], seed))
        assert found.options == ()
        assert len(found.rivals[0].causes) > 1


def test_an_option_of_strata_is_named_however_many_options_vary() -> None:
    for seed in range(10):
        cells = drawn(16, ("cache", "independent", "log"), seed)
        found = attribution(cells, rounds([0.18 * (each["cache"] is True) for each in cells], seed), crossed="cache")
        assert {one.option for one in found.options} == {"cache"}
        assert found.rivals == ()


def test_all_combinations_of_two_options_show_which_of_them_acts() -> None:
    cells = [Configuration({"a": a, "b": b}) for a in (0, 1) for b in (0, 1)]
    one = attribution(cells, rounds([0.0, 0.0, 0.2, 0.2], 1))
    assert {each.option for each in one.options} == {"a"}
    both = attribution(cells, rounds([0.0, 0.0, 0.0, 0.2], 1))
    assert {each.option for each in both.options} == {"a", "b"}


def test_two_configurations_that_differ_in_one_option_show_it() -> None:
    cells = [Configuration({"a": a, "b": 1}) for a in (0, 1)]
    assert {each.option for each in attribution(cells, rounds([0.0, 0.2], 1)).options} == {"a"}


def test_changes_of_few_configurations_that_nothing_explains_are_named_so() -> None:
    found = attribution(drawn(4, ("cache",), 1), rounds([0.0, 0.1, 0.25, 0.4], 1))
    assert found.options == ()
    assert [each.causes for each in found.rivals] == [()]


def test_of_options_that_listed_configurations_vary_together_none_is_blamed() -> None:
    cells = [Configuration(dict.fromkeys("abc", place)) for place in (0, 1)]
    values = np.array([0.0, 0.3]) + 0.001 * np.random.default_rng(1).standard_normal((5, 2))
    assert attribution(cells, values, crossed="abc").options == ()


def test_changes_that_cancel_out_at_another_setting_are_looked_for() -> None:
    """At d=y one setting of a is a third faster and one slower, which is no change on average."""
    cells = [Configuration({"a": a, "b": b, "d": d}) for d in "xy" for a in (0, 1) for b in (0, 1)]
    size = np.array([0.5 if each["d"] == "x" else 0.3 * (2 * float(str(each["a"])) - 1.0) for each in cells])
    values = size + 0.003 * np.random.default_rng(1).standard_normal((5, len(cells)))
    found = attribution(cells, values).options
    assert {one.option for one in found} == {"a", "d"}
    assert {one.where for one in found} == {()}
