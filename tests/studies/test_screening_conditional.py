"""Effects at each setting of another option: from which model, and whether their intervals hold."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hati.core import FloatArray
from hati.design import Levels
from hati.space import Option, Space
from hati.studies.screening.changes import Readable
from hati.studies.screening.conclusion import Effect, EffectScale
from hati.studies.screening.population import ValidPopulation
from hati.studies.screening.runs import Units
from hati.studies.screening.screening_model import ShownEffects, conditional_effects, effects_at

STUDIES = 400


def shown(place: Space, levels: Levels, values: FloatArray, effects: Sequence[Effect] = ()) -> ShownEffects:
    zeros = np.zeros(len(levels), dtype=np.intp)
    units = Units(levels, zeros, np.arange(len(levels)), zeros)
    readable = Readable(values, EffectScale.RAW, 1.0)
    return ShownEffects(place, ValidPopulation.of(place, 1), units, readable, 0.01, tuple(effects), place.names)


def important(options: tuple[str, ...], contrast: float) -> Effect:
    return Effect(
        options=options,
        aliases=(),
        estimate=contrast,
        interval=None,
        standard_error=None,
        relative=contrast,
        relative_interval=None,
        contrast=contrast,
        share=0.1,
        p_value=0.001,
        important=True,
        half_normal=1.0,
    )


def switches(names: str) -> Space:
    return Space(tuple(Option(name, (False, True), default=False) for name in names))


@pytest.mark.statistical
@pytest.mark.parametrize(("number", "most"), [(2, 0.985), (6, 1.0)])
def test_where_no_setting_does_anything_intervals_hold_nothing(number: int, most: float) -> None:
    """In at least 92.5 %, two standard errors below 95 %, though the lowest and the highest mean are chosen."""
    place = Space((Option("size", tuple(range(number)), 0), Option("fast", (False, True), default=False)))
    cells = np.array([*product(range(number), range(2), range(4))], dtype=np.int16)[:, :2]
    rng = np.random.default_rng(5)
    interaction = important(("size", "fast"), 1.0)
    held = 0
    for _ in range(STUDIES):
        first, *_ = effects_at(shown(place, cells, rng.standard_normal(len(cells)), [interaction]), "size", ["fast"])
        assert first.interval is not None
        held += first.interval[0] <= 0.0 <= first.interval[1]
    assert 0.925 <= held / STUDIES <= most


def test_effects_at_settings_are_differences_of_means() -> None:
    """Of a full factorial: of an option with three settings before and after one with two, at each of its settings."""
    place = Space((Option("a", (0, 1), default=1), Option("b", ("x", "y", "z"), "y"), Option("c", (0, 1), default=0)))
    levels = np.array([*product(range(2), range(3), range(2))] * 2, dtype=np.int16)
    values = np.random.default_rng(2).standard_normal(len(levels))
    found = shown(place, levels, values, [important(("a", "b"), 1.0), important(("c",), 0.5)])
    means = np.array([[values[(levels[:, 0] == i) & (levels[:, 1] == j)].mean() for j in range(3)] for i in range(2)])
    of_a, of_b = effects_at(found, "a", ["b"]), effects_at(found, "b", ["a"])
    assert [(each.before, each.after, each.at["b"]) for each in of_a] == [(0, 1, "y"), (0, 1, "x"), (0, 1, "z")]
    assert [each.relative for each in of_a] == pytest.approx([means[1, j] - means[0, j] for j in (1, 0, 2)])
    assert [each.at["a"] for each in of_b] == [1, 0]
    assert [each.relative for each in of_b] == pytest.approx([np.ptp(means[i]) for i in (1, 0)])


def test_a_shown_interaction_may_be_the_one_that_it_is_aliased_with() -> None:
    """Of four options in eight configurations ab is aliased with cd, and the runs do not distinguish the two."""
    place = switches("abcd")
    levels = np.array([(i, j, k, (i + j + k) % 2) for i, j, k in product(range(2), repeat=3)] * 4, dtype=np.int16)
    signs = 2.0 * levels - 1.0
    values = signs @ [1.0, 0.8, 0.6, 0.4] + signs[:, 0] * signs[:, 1]
    values += 0.01 * np.random.default_rng(3).standard_normal(len(levels))
    mains = [important((name,), size) for name, size in zip("abcd", (2.0, 1.6, 1.2, 0.8), strict=True)]
    found = conditional_effects(shown(place, levels, values, [*mains, important(("a", "b"), 2.0)]))
    assert {(each.option, *each.at, each.found) for each in found} == {
        ("a", "b", True),
        ("b", "a", True),
        ("c", "d", False),
        ("d", "c", False),
    }


def test_an_effect_that_depends_on_two_options_together_is_at_their_combinations() -> None:
    """Of a full factorial, with an interaction of three: differences of the means of cells, the default's first."""
    place = Space((Option("a", (0, 1), 0), Option("b", ("x", "y", "z"), "y"), Option("c", (0, 1), default=1)))
    levels = np.array([*product(range(2), range(3), range(2))] * 2, dtype=np.int16)
    values = np.random.default_rng(2).standard_normal(len(levels))
    sizes = {("a", "b"): 1.0, ("a", "c"): 0.4, ("a", "b", "c"): 0.5}
    effects = [important(options, size) for options, size in sizes.items()]
    found = conditional_effects(shown(place, levels, values, [*effects, important(("b",), 2.0)]))
    of_a = [each for each in found if each.option == "a"]
    assert [dict(each.at) for each in of_a] == [{"b": b, "c": c} for b in "yxz" for c in (1, 0)]
    means = {cell: values[(levels == cell).all(axis=1)].mean() for cell in product(range(2), range(3), range(2))}
    assert [each.relative for each in of_a] == pytest.approx(
        [means[1, j, k] - means[0, j, k] for j in (1, 0, 2) for k in (1, 0)]
    )
    assert {tuple(each.at) for each in found} == {("b", "c"), ("a", "c"), ("a", "b")}


def test_an_interaction_of_three_with_many_combinations_is_shown_by_its_pairs() -> None:
    place = Space((Option("a", (0, 1), 0), *(Option(name, tuple(range(4)), 0) for name in "bc")))
    levels = np.array([*product(range(2), range(4), range(4))] * 2, dtype=np.int16)
    values = np.random.default_rng(2).standard_normal(len(levels))
    effects = [important(("a", "b"), 1.0), important(("a", "b", "c"), 0.5)]
    found = conditional_effects(shown(place, levels, values, effects))
    assert [tuple(each.at) for each in found if each.option == "a"] == [("b",)] * 4


def fractions(cells: FloatArray, repeated: Sequence[int]) -> None:
    """Compare the effects of a at the settings of b with the means; c adds 3, and some rows are repeated."""
    sizes = (*cells.shape, 2)
    place = Space(tuple(Option(name, tuple(range(size)), 0) for name, size in zip("abc", sizes, strict=True)))
    every = np.array([*product(*map(range, sizes))], dtype=np.int16)
    levels = np.vstack([every, every[[row % len(every) for row in repeated]]])
    values = cells[levels[:, 0], levels[:, 1]] + 3.0 * levels[:, 2]
    effects = [important(options, 1.0) for options in (("a",), ("b",), ("c",), ("a", "b"))]
    found = effects_at(shown(place, levels, values, effects), "a", ["b"])
    assert len(found) == sizes[1]
    for each in found:
        there = cells[:, int(each.at["b"])] + 1.5
        before, after = there[int(each.before)], there[int(each.after)]
        assert each.relative == pytest.approx((after - before) / before, rel=1e-6, abs=1e-6)
        assert each.relative >= -1.0


@pytest.mark.parametrize("sizes", [(2, 2), (3, 2), (2, 3)])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_change_at_a_setting_is_from_the_mean_there(sizes: tuple[int, int], data: st.DataObject) -> None:
    """Of positive values on the raw scale, where settings occur unequally often."""
    number = sizes[0] * sizes[1]
    means = data.draw(st.lists(st.floats(0.5, 100.0), min_size=number, max_size=number))
    fractions(np.array(means).reshape(sizes), data.draw(st.lists(st.integers(0, 2 * number - 1), max_size=20)))


def test_a_change_at_a_setting_of_few_runs_is_not_of_the_mean_of_all() -> None:
    """At b=1 a setting takes 1,001.5 to 1.5, and three in four runs are at b=0, where nothing matters."""
    fractions(np.array([[5.0, 1000.0], [5.0, 0.0]]), [0, 1, 4, 5] * 4)
