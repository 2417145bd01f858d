"""Changes that validations report where constraints and conditions tie options together.

They are fractions of means over the valid configurations, as a screening's are. Predictions of configurations and gains
at one configuration do not depend on the configurations over which means are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from simulated_subject import BENCHMARK, LATENCY
from test_screening_population import NESTED, PART, additive, changed, inside, lowest_and_highest, rows_of, tied_spaces

from hati.campaign import campaign
from hati.core import Budget, Configuration, FloatArray, Setting, StudyId, Task
from hati.design import Levels, Model, candidates, from_levels, levels
from hati.design.information import Identified, identified
from hati.space import Space
from hati.studies.recommendation import ChangeScale, Findings
from hati.studies.recommendation.better_settings import gains
from hati.studies.screening import EffectScale
from hati.studies.screening.changes import Readable
from hati.studies.screening.population import ValidPopulation
from hati.studies.validation import (
    Augmenting,
    Confirming,
    Mode,
    Screened,
    Validation,
    ValidationConclusion,
    screened_runs,
)
from hati.studies.validation.confirmed_effects import term_tests
from hati.studies.validation.screened import Runs, check_predictions
from hati.testing import FakeEngine, MemoryStore

PARTS = tuple(map(np.array, ((500.0, 140.0), (20.0, -20.0), (0.0, 40.0, 90.0), (0.0, -60.0))))
EVERY = rows_of(NESTED)
TRUTH = additive(EVERY, PARTS)
NAMES = tuple((name,) for name in NESTED.names)


def true_changes(rows: Levels, truth: FloatArray) -> list[float]:
    """From the first setting to the second; with more, from the lowest mean to the highest."""
    found = []
    for option in range(rows.shape[1]):
        there = [truth[rows[:, option] == place] for place in range(rows[:, option].max() + 1)]
        means = [float(each.mean()) for each in there]
        low, high = (0, 1) if len(means) == 2 else (int(np.argmin(means)), int(np.argmax(means)))
        found.append((high, low, means[low]))
    return [(PARTS[option][high] - PARTS[option][low]) / base for option, (high, low, base) in enumerate(found)]


def latency(configuration: Mapping[str, Setting]) -> float:
    return float(additive(levels([configuration], NESTED), PARTS)[0])


def screened() -> Screened:
    """The first two thirds of all configurations, in random order."""
    chosen = from_levels(np.random.default_rng(2).permutation(EVERY)[:12], NESTED)
    noise = np.random.default_rng(3).normal(0.0, 0.01, len(chosen))
    values = np.array([latency(each) for each in chosen]) + noise
    runs = screened_runs(chosen, values, np.zeros(len(chosen), dtype=np.intp), NESTED, EffectScale.RAW)
    return Screened("s", runs, EffectScale.RAW, NAMES, ((),) * 4, 1.0, float(values.mean()), NAMES)


def confirm(start: Screened) -> Confirming:
    study = StudyId.of("validation", {}, 1, "fake")
    return Confirming(study, "s", BENCHMARK, LATENCY, "1", NESTED, start, order=1, budget=6)


def check(start: Screened) -> Augmenting:
    study = StudyId.of("validation", {}, 1, "fake")
    return Augmenting(study, "s", BENCHMARK, LATENCY, "1", NESTED, start, mode=Mode.CHECK, order=2, budget=8)


def discriminate(start: Screened) -> Validation:
    study = StudyId.of("validation", {}, 1, "fake")
    return Validation(study, "s", BENCHMARK, LATENCY, "1", NESTED, start, order=1, budget=4)


AnyValidation = Confirming | Augmenting | Validation


def concluded(study: AnyValidation) -> ValidationConclusion:
    def value(task: Task) -> dict[str, list[float]]:
        return {"latency": [latency(task.configuration)]}

    return campaign(study, FakeEngine(value), MemoryStore(), Budget(runs=study.budget))


@pytest.mark.parametrize("kind", [confirm, check, discriminate])
def test_changes_are_those_of_the_valid_configurations(kind: Callable[[Screened], AnyValidation]) -> None:
    """An option that is active in two thirds of them makes runs three times faster."""
    found = {effect.options: effect.relative for effect in concluded(kind(screened())).effects}
    changes = true_changes(EVERY, TRUTH)
    assert [found[name] for name in NAMES] == pytest.approx(changes, rel=0.01)


def known_effects(space: Space, rows: Levels, order: int) -> Identified:
    sizes = [len(option.settings) for option in space.options]
    return identified(candidates(space, np.random.default_rng(1)), Model.of_order(sizes, order).terms, rows)


def together(rows: Levels, values: FloatArray) -> Runs:
    return Runs.together(rows, values, np.zeros(len(rows), dtype=np.intp))


@given(space=tied_spaces(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_effects_of_pairs_that_the_space_distinguishes_in_part_leave_means_as_they_are(
    space: Space, data: st.DataObject
) -> None:
    """Without noise and interactions, however often configurations were run."""
    rows = rows_of(space)
    parts = [np.array(data.draw(st.lists(PART, min_size=n, max_size=n))) for n in (2, 2, 3, 3)]
    if space.options[1].active_if is not None:
        parts[1] -= parts[1].mean()  # an option's effect is that at the mean of those that depend on it
    truth = 100.0 + additive(rows, parts)
    more = np.array(data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=3, max_size=30)), dtype=np.intp)
    runs = np.concatenate([np.arange(len(rows)), more])
    known = known_effects(space, rows, 2)
    assume(all((option,) in known.terms and (option,) not in known.reduced for option in range(4)))
    tested = term_tests(known, ValidPopulation.of(space, 1), together(rows[runs], truth[runs]))
    readable = Readable(truth, EffectScale.RAW, float(truth.mean()))
    for option, part in enumerate(parts):
        low, high = lowest_and_highest(part)
        expected = changed(space, lambda rows: 100.0 + additive(rows, parts), option, low, high)
        assert expected is not None
        change = readable.change(tested[option,].contrast)
        assert change.relative == pytest.approx((part[high] - part[low]) / expected[1], rel=1e-5, abs=1e-8)


def test_95_percent_intervals_of_changes_cover_them() -> None:
    """Of 400 validations that estimate all main effects from 36 runs."""
    known, population = known_effects(NESTED, EVERY, 1), ValidPopulation.of(NESTED, 1)
    changes = true_changes(EVERY, TRUTH)
    covered = []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        runs = np.concatenate([np.arange(len(EVERY)), rng.integers(0, len(EVERY), 36 - len(EVERY))])
        every = together(EVERY[runs], TRUTH[runs] + rng.normal(0.0, 5.0, len(runs)))
        readable = Readable(every.values, EffectScale.RAW, float(every.values.mean()))
        tested = term_tests(known, population, every)
        intervals = {term[0]: readable.change(test.contrast).interval for term, test in tested.items()}
        covered.append([inside(intervals[option], changes[option]) for option in (0, 1, 3)])
    rates = np.mean(covered, axis=0)
    assert all(0.93 <= rate <= 0.97 for rate in rates), rates


def test_predictions_do_not_depend_on_the_population() -> None:
    """Columns that are zero in the mean of the valid configurations instead of that of all settings change nothing."""
    rng = np.random.default_rng(1)
    model = Model.of_order([len(option.settings) for option in NESTED.options], 1)
    centre = model.matrix(EVERY).mean(axis=0)
    centre[0] = 0.0
    before, after = EVERY[rng.integers(0, len(EVERY), 24)], EVERY[rng.integers(0, len(EVERY), 8)]
    runs, later = (together(rows, additive(rows, PARTS) + rng.normal(0.0, 5.0, len(rows))) for rows in (before, after))
    start = Screened("s", runs, EffectScale.RAW, (), (), 1.0, 300.0)

    def checked(shift: FloatArray) -> tuple[float | None, ...]:
        columns = model.matrix(before) - shift, model.matrix(after) - shift
        found = check_predictions(start, columns, columns, later, lambda _: columns, np.random.default_rng(1))
        return found.p_value, found.median, found.largest, found.ratio

    assert checked(centre) == pytest.approx(checked(np.zeros_like(centre)))


@given(space=tied_spaces(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_gains_are_those_at_the_default_whatever_is_valid(space: Space, data: st.DataObject) -> None:
    rows = rows_of(space)
    parts = [np.array(data.draw(st.lists(PART, min_size=n, max_size=n))) for n in (2, 2, 3, 3)]
    truth, start = 100.0 + additive(rows, parts), space.default
    flips = [(o.name, s) for o in space.options if o.name in start for s in o.settings if s != start[o.name]]
    reached = {flip: space.canonical({**start, flip[0]: flip[1]}) for flip in flips}
    flips = [flip for flip in flips if space.valid(reached[flip])]
    known = from_levels(rows, space)
    found = Findings(LATENCY, ChangeScale.RAW, known, truth, (), (), 0.01)
    at: dict[Configuration, float] = dict(zip(known, truth.tolist(), strict=True))
    expected = [(at[start] - at[reached[flip]]) / found.typical for flip in flips]
    assert gains(space, found, start, flips).estimates == pytest.approx(expected, abs=1e-8)
