"""Effects at each setting of another option: from which model, and whether their intervals hold."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hati.core import FloatArray
from hati.design import Levels, levels
from hati.space import Option, Space, enumerate_configurations, parse_formula
from hati.stats import Term
from hati.studies.screening.changes import Readable
from hati.studies.screening.conclusion import Effect, EffectScale
from hati.studies.screening.population import ValidPopulation
from hati.studies.screening.runs import Units
from hati.studies.screening.screening_model import ShownEffects, conditional_effects, effects_at

STUDIES = 400


def shown(
    place: Space,
    levels: Levels,
    values: FloatArray,
    effects: Sequence[Effect] = (),
    judged: Sequence[Term] = (),
    scale: EffectScale = EffectScale.RAW,
) -> ShownEffects:
    zeros = np.zeros(len(levels), dtype=np.intp)
    units = Units(levels, zeros, np.arange(len(levels)), zeros, np.arange(float(len(levels))) if judged else None)
    population, readable = ValidPopulation.of(place, 1), Readable(values, scale, 1.0)
    return ShownEffects(place, population, units, readable, 0.01, tuple(effects), place.names, tuple(judged))


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


SIX = "abcdef"
MAINS: tuple[Term, ...] = tuple((place,) for place in range(len(SIX)))


def unbalanced(rng: np.random.Generator, runs: int) -> Levels:
    """Settings drawn at random: every effect is partially aliased with every other."""
    return rng.integers(0, 2, (runs, len(SIX)), dtype=np.int16)


@given(seed=st.integers(0, 2**32 - 1), runs=st.integers(24, 48), more=st.sets(st.sampled_from(["cd", "ef", "be"])))
@settings(max_examples=60, deadline=None)
def test_the_mean_over_the_settings_of_a_found_interaction_is_the_effect_that_is_shown(
    seed: int, runs: int, more: set[str]
) -> None:
    """In any design, and although only two of the six options are shown."""
    rng = np.random.default_rng(seed)
    levels = unbalanced(rng, runs)
    values = rng.standard_normal(runs) + (2.0 * levels - 1.0) @ rng.standard_normal(len(SIX))
    judged = (*MAINS, (0, 1), *(tuple(map(SIX.index, pair)) for pair in sorted(more)))
    effects = [important(options, 1.0) for options in (("a",), ("b",), ("a", "b"))]
    found = shown(switches(SIX), levels, values, effects, judged, EffectScale.LOG)
    fit = found.fit(judged)
    if all(map(fit.determines, judged)):
        for name, other in ("ab", "ba"):
            at = effects_at(found, name, [other])
            assert np.mean([np.log1p(each.relative) for each in at]) == pytest.approx(
                fit.effect(found.term(name)).estimate, abs=1e-9
            )


def covered(studies: int, found: bool) -> float:
    """How often the intervals of an effect at both settings hold it, in designs where half of the options are shown.

    The others act too, by less than what is found: 24 runs, noise of 1, effects of 1.6, 1.2 and 0.8.
    """
    rng = np.random.default_rng(11)
    place, pair, size = switches(SIX), ("a", "b"), 0.6 if found else 0.1
    effects = [important((name,), 1.6) for name in "abc"] + ([important(pair, 0.6)] if found else [])
    judged = (*MAINS, (0, 1)) if found else MAINS
    held = [0, 0]
    for _ in range(studies):
        levels = unbalanced(rng, 24)
        signs = 2.0 * levels - 1.0
        values = signs @ [0.8, 0.8, 0.6, 0.6, 0.4, 0.4] + size * signs[:, 0] * signs[:, 1] + rng.standard_normal(24)
        for each in effects_at(shown(place, levels, values, effects, judged, EffectScale.LOG), "a", ["b"]):
            truth = 2.0 * (0.8 + (size if each.at["b"] else -size))
            assert each.interval is not None
            low, high = np.log1p(each.interval)
            held[0] += 1
            held[1] += bool(low <= truth <= high)
    return held[1] / held[0]


@pytest.mark.statistical
@pytest.mark.parametrize("found", [True, False])
def test_intervals_at_settings_hold_the_effect_although_other_options_act(found: bool) -> None:
    """Three standard errors of the mean of correlated pairs around 95 %."""
    assert 0.91 <= covered(300, found) <= 0.99


@pytest.mark.statistical
@pytest.mark.acceptance
@pytest.mark.parametrize("found", [True, False])
def test_intervals_at_settings_hold_the_effect_in_95_of_100_studies(found: bool) -> None:
    assert 0.935 <= covered(3_000, found) <= 0.965


def test_few_runs_say_nothing_about_interactions_that_were_not_found() -> None:
    """Two degrees of freedom are left: an interval by them holds any interaction."""
    rng = np.random.default_rng(4)
    place, levels = switches("abcd"), np.array([*product(range(2), repeat=3)], dtype=np.int16)
    levels = np.column_stack([levels, levels.sum(axis=1) % 2]).astype(np.int16)
    values = (2.0 * levels - 1.0) @ [2.0, 1.0, 0.5, 0.2] + 0.1 * rng.standard_normal(8)
    mains = [important((name,), 2.0) for name in "ab"]
    assert conditional_effects(shown(place, levels, values, mains, ((0,), (1,), (2,), (3,)))) == ()


def test_an_effect_has_no_value_where_no_configuration_is_valid_with_both_settings() -> None:
    """At the other settings it is the mean change over valid configurations: c=on is rare, and doubles it."""
    rules = "b != 2 or not a", "c == 0 or b == 1"
    place = Space((*switches("a").options, Option("b", (0, 1, 2), 0), Option("c", (0, 1, 2), 0)))
    place = Space(place.options, tuple(map(parse_formula, rules)))
    rows = levels([*enumerate_configurations(place)] * 4, place)
    a, b, c = rows.T.astype(np.float64)
    values = 10.0 + a * (1.0 + 3.0 * b + (c == 2.0)) + 0.001 * np.random.default_rng(6).standard_normal(len(rows))
    effects = [important(options, 1.0) for options in (("a",), ("b",), ("a", "b"), ("a", "c"))]
    found = effects_at(shown(place, rows, values, effects), "a", ["b"])
    assert [dict(each.at) for each in found] == [{"b": 0}, {"b": 1}]
    assert [each.relative for each in found] == pytest.approx([1.0 / 10.0, (4.0 + 1.0 / 3.0) / 10.0], abs=1e-3)
