"""Means and changes where constraints and conditions tie options together: over the valid configurations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hati.core import Configuration, FloatArray, Setting
from hati.design import INACTIVE, Levels, Model, levels
from hati.space import Option, Space, enumerate_configurations, parse_formula
from hati.studies.screening.changes import Readable
from hati.studies.screening.conclusion import EffectScale
from hati.studies.screening.model import model_terms
from hati.studies.screening.model_fit import ModelFit
from hati.studies.screening.population import ANYWHERE, Cell, ValidPopulation

SWITCH = (False, True)
NESTED = Space(
    (
        Option("log", SWITCH, default=False),
        Option("sync", (0, 1), default=0, active_if=parse_formula("log")),
        Option("f", ("a", "b", "c"), default="a"),
        Option("x", SWITCH, default=False),
    )
)
PARTS = ((433.0, 303.0), (50.0, -50.0), (0.0, 40.0, 90.0), (0.0, -30.0))
PART = st.floats(1.0, 50.0)
Assigned = Mapping[str, Setting]


@st.composite
def tied_spaces(draw: st.DrawFn) -> Space:
    """Four options; conditions and constraints tie the first three together, and leave the last alone."""
    three = Option("c", (1, 2, 3), default=1)
    nested = Option(
        "b", SWITCH, default=False, active_if=parse_formula(draw(st.sampled_from(["a", "not a", "c != 2"])))
    )
    plain = Option("b", SWITCH, default=False)
    rule = draw(st.sampled_from(["not (a and c == 3)", "a or c != 1", "c != 2 or a"]))
    constraints = (parse_formula(rule),) if draw(st.booleans()) else ()
    inner = draw(st.sampled_from([nested, plain]))
    return Space(
        (Option("a", SWITCH, default=True), inner, three, Option("d", (1, 2, 3), default=1)),
        constraints if inner is nested else (parse_formula("a or b"), *constraints),
    )


def rows_of(space: Space) -> Levels:
    return levels([*enumerate_configurations(space)], space)


def additive(rows: Levels, parts: Sequence[FloatArray]) -> FloatArray:
    """The sum of the active options' parts."""
    of_options = [np.append(own, 0.0)[column] for own, column in zip(parts, rows.T, strict=True)]
    return np.asarray(np.sum(of_options, axis=0), dtype=np.float64)


def lowest_and_highest(part: FloatArray) -> tuple[int, int]:
    """The settings between which an effect is: of more than two, those that differ the most, where none are alike."""
    if len(part) == 2:
        return 0, 1
    assume(np.diff(np.sort(part)).min() > 1e-3)
    return int(np.argmin(part)), int(np.argmax(part))


def fitted(space: Space, rows: Levels, values: FloatArray) -> ModelFit:
    sizes = [len(option.settings) for option in space.options]
    terms = model_terms(Model.of_order(sizes, 1), rows, np.zeros(len(rows), dtype=np.intp))
    return ModelFit.of(terms, tuple(terms), ValidPopulation.of(space, 1), values)


@given(space=tied_spaces(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_means_are_those_of_the_valid_configurations(space: Space, data: st.DataObject) -> None:
    """Without noise, whatever the runs; a change is the difference as a fraction of the mean compared against."""
    rows = rows_of(space)
    parts = [np.array(data.draw(st.lists(PART, min_size=n, max_size=n))) for n in (2, 2, 3, 3)]
    if space.options[1].active_if is not None:
        parts[1] -= parts[1].mean()  # an option's effect is that at the mean of those that depend on it
    values = 100.0 + additive(rows, parts)
    more = np.array(data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=30)), dtype=np.intp)
    runs = np.concatenate([np.arange(len(rows)), more])
    fit = fitted(space, rows[runs], values[runs])
    readable = Readable(values, EffectScale.RAW, float(values.mean()))
    for option, part in enumerate(parts):
        assume(fit.determines((option,)))
        means = [float(values[rows[:, option] == place].mean()) for place in range(len(part))]
        assert [each.estimate for each in fit.means(option).values()] == pytest.approx(means)
        low, high = lowest_and_highest(part)
        expected = changed(space, lambda rows: 100.0 + additive(rows, parts), option, low, high)
        assert expected is not None
        change = readable.change(fit.effect((option,)))
        assert change.relative == pytest.approx((part[high] - part[low]) / expected[1], rel=1e-6, abs=1e-9)


COMPRESSION = Space(
    (
        Option("level", (1, 6, 9), default=6),
        Option("rsyncable", SWITCH, default=False),
        Option("independent", SWITCH, default=False),
        Option("zlib", SWITCH, default=False),
        Option("block", (64, 128, 256), default=128),
        Option("strategy", ("a", "b"), default="a"),
    ),
    (parse_formula("not (zlib and rsyncable)"), parse_formula("not independent or block >= 128")),
)
COMPRESSED = (*((place,) for place in range(6)), (1, 2), (1, 5), (0, 5))


def compressed_size(rows: Levels) -> FloatArray:
    """The size: independent blocks cost more where the output is rsyncable, which fewer configurations are."""
    level, rsyncable, independent, zlib, block, strategy = rows.T.astype(np.float64)
    own = 1300.0 - 10.0 * level - 3.0 * level**2 + 18.0 * rsyncable + 6.0 * independent + 3.0 * zlib + 40.0 * strategy
    return np.asarray(own + 22.0 * independent * rsyncable + 25.0 * rsyncable * strategy + 4.0 * block * level)


def changed(
    space: Space, value: Callable[[Levels], FloatArray], place: int, low: int, high: int, at: Cell = ANYWHERE
) -> tuple[float, float] | None:
    """The mean change and the mean before, over the configurations that are valid with both; None if there is none."""
    cells = [{place: low}, {place: high}]
    means = means_of_moves(space, value, cells, at)
    return None if means is None else (float(means[1] - means[0]), float(means[0]))


def means_of_moves(
    space: Space, value: Callable[[Levels], FloatArray], cells: Sequence[Cell], at: Cell = ANYWHERE
) -> FloatArray | None:
    """The mean with each cell's settings, over the configurations with the settings ``at`` that are valid with all."""
    fixed, *named = [
        {space.names[place]: space.options[place].settings[at] for place, at in cell.items()} for cell in (at, *cells)
    ]
    every = [each for each in enumerate_configurations(space) if fixed.items() <= each.items()]
    moves = [[moved(space, each, new, fixed) for new in named] for each in every if named[0].keys() <= each.keys()]
    values = [[value(levels(own, space)).mean() for own in move] for move in moves if all(move)]
    return np.mean(values, axis=0) if values else None


def moved(space: Space, each: Configuration, new: Assigned, fixed: Assigned) -> list[Configuration]:
    """A configuration with other settings, for all settings of options that become active; empty if it is not valid."""
    found = space.canonical({**each, **new})
    if not space.valid(found) or not {**new, **fixed}.items() <= found.items():
        return []
    more = [other for other in space.options if other.name in found and other.name not in each]
    settings = product(*(other.settings for other in more))
    return [Configuration({**found, **dict(zip((o.name for o in more), own, strict=True))}) for own in settings]


def of_compression(runs: Levels, values: FloatArray) -> ModelFit:
    sizes = tuple(len(option.settings) for option in COMPRESSION.options)
    terms = model_terms(Model(sizes, COMPRESSED), runs, np.zeros(len(runs), dtype=np.intp))
    return ModelFit.of(terms, COMPRESSED, ValidPopulation.of(COMPRESSION, 1), values)


@pytest.mark.parametrize("place", range(6))
def test_effects_are_mean_changes_over_configurations_valid_with_both_settings(place: int) -> None:
    """Also of the option that nothing ties, which interacts with one that is tied."""
    rows = rows_of(COMPRESSION)
    fit = of_compression(rows, compressed_size(rows))
    change, found = fit.change(place), fit.effect((place,))
    assert change is not None
    assert found.base is not None
    truth = changed(COMPRESSION, compressed_size, place, change.before, change.after)
    assert (found.estimate, found.base.mean) == pytest.approx(truth)


def test_options_that_nothing_ties_are_not_listed() -> None:
    found = ValidPopulation.of(NESTED, 1)
    assert found.levels[:, :2].tolist() == [[0, INACTIVE], [1, 0], [1, 1]]
    assert (found.levels[:, 2:] == INACTIVE).all()
    assert ValidPopulation.of(Space(NESTED.options[2:]), 1).levels.tolist() == [[INACTIVE, INACTIVE]]


@pytest.mark.acceptance
def test_95_percent_intervals_cover_means_and_changes() -> None:
    """Of 400 studies of 24 runs, of which two thirds have the option that others depend on."""
    every, parts = rows_of(NESTED), [np.array(part) for part in PARTS]
    truth = additive(every, parts)
    covered: dict[str, list[bool]] = {"means": [], "changes": []}
    for seed in range(400):
        rng = np.random.default_rng(seed)
        runs = np.concatenate([np.arange(len(every)), rng.integers(0, len(every), 24 - len(every))])
        values = truth[runs] + rng.normal(0.0, 10.0, len(runs))
        fit, readable = fitted(NESTED, every[runs], values), Readable(values, EffectScale.RAW, float(values.mean()))
        for option, part in enumerate(parts):
            means = [float(truth[every[:, option] == place].mean()) for place in range(len(part))]
            found = [each.interval for each in fit.means(option).values()]
            covered["means"] += [inside(interval, mean) for interval, mean in zip(found, means, strict=True)]
            if len(part) == 2:
                interval = readable.change(fit.effect((option,))).interval
                covered["changes"].append(inside(interval, (part[1] - part[0]) / means[0]))
    rates = {name: float(np.mean(each)) for name, each in covered.items()}
    assert all(0.93 <= rate <= 0.97 for rate in rates.values()), rates


def inside(interval: tuple[float, float] | None, truth: float) -> bool:
    assert interval is not None
    return interval[0] <= truth <= interval[1]


@settings(max_examples=20, deadline=None)
@given(tied_spaces(), st.data())
def test_means_are_over_the_valid_configurations_however_often_they_are_asked_for(
    space: Space, data: st.DataObject
) -> None:
    rows, population = rows_of(space), ValidPopulation.of(space, 1)
    model = Model.of_order([len(option.settings) for option in space.options], 2)
    cells = [
        {option: int(rows[place, option]) for option in chosen if rows[place, option] != INACTIVE}
        for place, chosen in data.draw(
            st.lists(st.tuples(st.integers(0, len(rows) - 1), st.sets(st.integers(0, 3), max_size=2)), min_size=1)
        )
    ]
    terms = data.draw(st.lists(st.sampled_from(model.terms), unique=True, min_size=1))
    for cell in (*cells, *reversed(cells)):
        there = np.all([rows[:, option] == setting for option, setting in cell.items()] or [[True] * len(rows)], axis=0)
        expected, found = model.columns(rows[there]), population.means(terms, cell)
        assert set(found) <= set(terms)
        for term in terms:
            own = expected[term].mean(axis=0)
            assert found.get(term, np.zeros_like(own)) == pytest.approx(own, abs=1e-12)
