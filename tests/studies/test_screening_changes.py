"""Changes on the raw scale: differences as fractions of the mean at the setting compared against."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hati.core import Configuration, FloatArray
from hati.design import Levels, Model
from hati.space import Option, Space
from hati.stats import contrasts, least_squares
from hati.studies.screening.changes import BaseMean, EffectContrast, Readable
from hati.studies.screening.conclusion import EffectScale, FlipVerdict, RelativeTo
from hati.studies.screening.contrasts import analyse, effect_contrasts, judge
from hati.studies.screening.follow_up import Claim, ExpectedFlips, expected_flips, judge_flips
from hati.studies.screening.model import analyse_model, model_terms
from hati.studies.screening.model_fit import ModelFit
from hati.studies.screening.population import ValidPopulation
from hati.studies.screening.reruns import Flip

SIZES = ((2, 2), (3, 2), (2, 2, 2), (4, 3))
MEANS = st.floats(0.5, 100.0)


def raw(values: FloatArray) -> Readable:
    return Readable(values, EffectScale.RAW, float(np.mean(np.abs(values))))


def fitted(sizes: Sequence[int], levels: Levels, values: FloatArray, order: int = 1) -> ModelFit:
    model = Model.of_order(list(sizes), order)
    terms = model_terms(model, levels, np.zeros(len(levels), dtype=np.intp))
    return ModelFit.of(terms, tuple(terms), ValidPopulation.unconstrained(sizes), values)


@st.composite
def unequal_levels(draw: st.DrawFn, sizes: Sequence[int]) -> Levels:
    """Every configuration once, and some of them several times more."""
    cells = np.array([*product(*map(range, sizes))], dtype=np.int16)
    more = draw(st.lists(st.integers(0, len(cells) - 1), max_size=3 * len(cells)))
    return np.vstack([cells, cells[more]])


@pytest.mark.parametrize("sizes", SIZES)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_change_is_that_of_the_means_at_two_settings(sizes: tuple[int, ...], data: st.DataObject) -> None:
    """Of a positive response with exact additive effects, whatever the order and the shares of the settings."""
    parts = [np.array(data.draw(st.lists(MEANS, min_size=size, max_size=size))) for size in sizes]
    levels = data.draw(unequal_levels(sizes))
    values = np.sum([part[column] for part, column in zip(parts, levels.T, strict=True)], axis=0)
    fit = fitted(sizes, levels, values)
    total = sum(float(part.mean()) for part in parts)
    for option, part in enumerate(parts):
        means = total - part.mean() + part
        low, high = (0, 1) if len(part) == 2 else (int(np.argmin(part)), int(np.argmax(part)))
        found = raw(values).change(fit.effect((option,)))
        assert found.relative == pytest.approx((means[high] - means[low]) / means[low], rel=1e-6, abs=1e-6)
        assert found.relative >= -1.0
        at = {place: raw(values).change(each).relative for place, each in fit.settings(option).items()}
        assert at == pytest.approx({place: each / total - 1.0 for place, each in enumerate(means)}, abs=1e-6)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_effects_of_a_fraction_are_from_the_mean_where_their_sign_is_minus(data: st.DataObject) -> None:
    """Complete, or with lost runs: of positive means with an interaction."""
    full = np.array([*product((-1, 1), repeat=3)], dtype=np.int8)
    means = np.array(data.draw(st.lists(MEANS, min_size=4, max_size=4)))
    rows = np.array([*range(8)] * 2)[data.draw(st.integers(0, 3)) :]
    of_row = means[(full[:, 0] > 0) * 2 + (full[:, 1] > 0)]
    values = of_row[rows]
    blocks = np.zeros(len(rows), dtype=np.intp)
    fit = least_squares(contrasts(full), rows, blocks)
    judgement = judge(fit, values, rows, blocks, alpha=0.05, relevant=0.0)
    found = dict(zip(fit.terms, effect_contrasts(fit, values, judgement), strict=True))
    for term in ((0,), (1,), (0, 1)):
        sign = np.prod(full[:, list(term)], axis=1)
        before, after = of_row[sign < 0].mean(), of_row[sign > 0].mean()
        assert raw(values).change(found[term]).relative == pytest.approx((after - before) / before, rel=1e-6, abs=1e-6)


def test_three_to_one_shares_do_not_move_the_base() -> None:
    """A setting with a quarter of the runs: from 85 to 25 it is -70.6 %, not of a mean of 40."""
    levels = np.array([[1]] * 24 + [[0]] * 8, dtype=np.int16)
    values = np.where(levels[:, 0] == 1, 25.0, 85.0) + np.tile([-1.0, 1.0], 16)
    found = raw(values).change(fitted((2,), levels, values).effect((0,)))
    assert found.relative == pytest.approx(-60.0 / 85.0)
    assert found.interval is not None
    assert -1.0 < found.interval[0] < found.relative < found.interval[1] < -0.6


def test_a_base_that_may_be_zero_leaves_the_interval_open() -> None:
    levels = np.array([[0], [1]] * 4, dtype=np.int16)
    values = np.array([0.0, 11.0, 0.0, 13.0, 0.5, 12.0, 0.0, 12.0])
    found = raw(values).change(fitted((2,), levels, values).effect((0,)))
    assert found.interval is not None
    assert found.interval[1] == math.inf
    assert found.interval[0] > 0.0
    assert found.relative == math.inf
    zero = EffectContrast(5.0, None, None, BaseMean(0.0))
    assert raw(values).change(zero).relative == math.inf
    assert raw(values).limit(0.05, zero) == 0.0


@pytest.mark.parametrize("difference", [-1e-16, 0.0])
@pytest.mark.parametrize("error", [None, 0.0, 0.3])
def test_two_means_of_zero_have_no_ratio(difference: float, error: float | None) -> None:
    contrast = EffectContrast(difference, error, error, BaseMean(1e-17, (error or 0.0) ** 2))
    assert raw(np.array([0.0, 5.0])).change(contrast).relative == math.inf


def test_a_change_of_values_below_zero_is_of_their_mean_size() -> None:
    values = np.array([-2.0, 4.0])
    assert raw(values).relative_to is RelativeTo.MEAN_SIZE
    assert raw(-values * 0.0).relative_to is RelativeTo.FIRST_SETTING
    assert Readable(values, EffectScale.LOG, 1.0).relative_to is RelativeTo.FIRST_SETTING
    assert raw(values).change(EffectContrast(6.0, 1.0, 2.0, BaseMean(-2.0))).relative == 2.0


def test_what_matters_is_a_ratio_whichever_setting_is_first() -> None:
    readable = raw(np.array([100.0, 105.0]))
    up, down = EffectContrast(5.0, None, None, BaseMean(100.0)), EffectContrast(-5.0, None, None, BaseMean(105.0))
    assert readable.limit(0.04, up) == readable.limit(0.04, down) == 4.0


@pytest.mark.parametrize(("relevant", "important"), [(0.9, True), (1.6, False)])
def test_an_effect_matters_by_the_ratio_of_its_means(
    monkeypatch: pytest.MonkeyPatch, relevant: float, important: bool
) -> None:
    """From 60 to 25, or back, is a ratio of 2.4; of the mean of all runs it would be 82 %."""
    monkeypatch.setattr("hati.studies.screening.model.choose_scale_of_model", lambda *_: (EffectScale.RAW, "set"))
    monkeypatch.setattr("hati.studies.screening.contrasts.choose_scale", lambda *_: (EffectScale.RAW, "set"))
    cells = np.array([*product(range(2), repeat=3)], dtype=np.int16)
    rows, blocks = np.tile(np.arange(8), 4), np.repeat(np.arange(4), 8)
    for first, second in ((60.0, 25.0), (25.0, 60.0)):
        rng = np.random.default_rng(1)
        values = np.where(cells[rows, 0], second, first) + rng.standard_normal(32)
        by_model = analyse_model(
            Model.of_order([2, 2, 2], 2), cells[rows], values, blocks, rng, alpha=0.05, relevant=relevant
        )
        by_fraction = analyse(
            contrasts(2 * cells.astype(np.int8) - 1), values, rows, blocks, alpha=0.05, relevant=relevant
        )
        assert [(e.term, e.important) for e in (by_model.effects[0], by_fraction.effects[0])] == [((0,), important)] * 2


@given(st.floats(0.1, 100.0), st.floats(0.0, 100.0), st.floats(0.01, 30.0), st.floats(0.01, 30.0))
def test_the_interval_of_a_change_holds_0_where_that_of_the_difference_does(
    first: float, second: float, error: float, other: float
) -> None:
    """And it holds the change, which is never below -100 %."""
    difference, variance = second - first, error**2 + other**2
    base = BaseMean(first, error**2, -(error**2))
    contrast = EffectContrast(difference, math.sqrt(variance), 2.0 * math.sqrt(variance), base)
    found = raw(np.array([first, second])).change(contrast)
    assert found.interval is not None
    low, high = found.interval
    assert -1.0 <= low <= found.relative + 1e-9
    assert found.relative - 1e-9 <= high
    around = abs(difference) / math.sqrt(variance)
    if abs(around - 2.0) > 1e-6:
        assert (low <= 0.0 <= high) is (around < 2.0)


def _flips(before: Sequence[float], after: Sequence[float]) -> tuple[Flip, ...]:
    first, second = Configuration({"a": False}), Configuration({"a": True})
    return tuple(Flip(first, second, pair) for pair in zip(before, after, strict=True))


def test_flips_change_their_own_runs_before() -> None:
    """From 170 or so to 50 or so, where the mean of the design's runs is 55: -70 %, not -218 %."""
    before, after = [160.0, 170.0, 180.0, 165.0, 175.0], [48.0, 50.0, 52.0, 49.0, 51.0]
    claim = Claim("a", (False, True), EffectContrast(-60.0, 1.0, 2.0, BaseMean(85.0)), 0.001)
    readable = raw(np.array([85.0, 25.0]))
    found = judge_flips(
        claim, _flips(before, after), readable, ExpectedFlips(np.full(5, 170.0), np.full(5, -120.0)), 1.0, 0.01
    )
    assert found is not None
    assert found.change == pytest.approx(-120.0 / 170.0)
    assert found.claimed == pytest.approx(-60.0 / 85.0)
    assert found.interval is not None
    assert found.interval == pytest.approx((-0.71, -0.70), abs=0.02)
    assert found.verdict is FlipVerdict.CONFIRMED


@pytest.mark.parametrize("before", [[100.0, 100.0, 100.0, 100.0, 40.0], [10.0, 10.0, 10.0, 10.0, 12.0]])
def test_flips_of_a_factor_that_the_model_knows_change_by_it(before: list[float]) -> None:
    """Every run takes .3 of the time, in configurations that are unlike the design's mean of 55."""
    model = ExpectedFlips(np.array(before), -0.7 * np.array(before))
    claim = Claim("a", (False, True), EffectContrast(-0.7 * 55.0, 0.1, 0.2, BaseMean(55.0)), 0.001)
    after = model.before + model.changes + np.array([0.05, -0.05, 0.0, 0.05, -0.05])
    found = judge_flips(claim, _flips(before, after.tolist()), raw(np.array([100.0, 3.0])), model, 1.0, 0.01)
    assert found is not None
    assert found.interval is not None
    assert found.interval == pytest.approx((-0.7, -0.7), abs=0.02)


def test_a_model_expects_the_values_before_flips_and_their_changes() -> None:
    """Of exact means with an interaction, from runs in which one configuration is more frequent."""
    space = Space(tuple(Option(name, (False, True), False) for name in "ab"))
    levels = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1], [1, 1], [0, 1]], dtype=np.int16)
    means = np.array([[100.0, 10.0], [30.0, 4.0]])
    fit = fitted((2, 2), levels, means[levels[:, 0], levels[:, 1]], order=2)
    flips = [
        Flip(Configuration({"a": False, "b": other}), Configuration({"a": True, "b": other}), (1.0, 1.0))
        for other in (False, True)
    ]
    found = expected_flips(Model.of_order([2, 2], 2), fit, space, flips)
    assert found.before == pytest.approx([100.0, 10.0])
    assert found.changes == pytest.approx([-70.0, -6.0])


def test_a_relevant_size_of_flips_is_a_fraction_of_their_own_runs() -> None:
    """A change of 6 % of runs of 10, where 10 % matter; of the design's mean of 1 it would be 60 %."""
    claim = Claim("a", (False, True), EffectContrast(0.6, 0.01, 0.02, BaseMean(1.0)), 0.05)
    expected = ExpectedFlips(np.ones(5), np.full(5, 0.6))
    flips = _flips([10.0, 10.1, 9.9, 10.0, 10.0], [10.6, 10.7, 10.5, 10.6, 10.6])
    found = judge_flips(claim, flips, raw(np.array([1.0, 1.6])), expected, 0.01, 0.1)
    assert found is not None
    assert found.verdict is not FlipVerdict.CONFIRMED


def test_values_that_are_all_zero_do_not_change() -> None:
    found = raw(np.zeros(4)).change(EffectContrast(0.0, 0.0, 0.0, BaseMean(0.0)))
    assert (found.relative, found.interval) == (0.0, (0.0, 0.0))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("parts", "deviation", "most"),
    [
        pytest.param(((85.0, 25.0), (0.0, 10.0), (0.0, 0.0)), 4.0, 0.965, marks=pytest.mark.acceptance),
        (((2.0, 10.0), (0.0, 1.0), (0.0, 0.0)), 1.5, 0.965),
        pytest.param(((80.0, 50.0, 20.0), (0.0, 6.0)), 4.0, 0.995, marks=pytest.mark.acceptance),
        (((3.0, 6.0, 9.0), (0.0, 1.0)), 1.0, 0.995),
        pytest.param(((5.0, 5.0, 5.0), (0.0, 0.0)), 1.0, 0.995, marks=pytest.mark.acceptance),
    ],
)
def test_intervals_of_changes_hold_those_of_the_true_means(
    parts: Sequence[Sequence[float]], deviation: float, most: float
) -> None:
    """95 % of 2,000 intervals of each option, within 1.5 points; of three settings more (Scheffe)."""
    sizes = [len(part) for part in parts]
    levels = np.tile(np.array([*product(*map(range, sizes))], dtype=np.int16), (3, 1))
    truth = np.sum([np.array(part)[column] for part, column in zip(parts, levels.T, strict=True)], axis=0)
    total = sum(float(np.mean(part)) for part in parts)
    held = np.zeros(len(parts))
    for seed in range(1, 2001):
        values = np.maximum(0.0, truth + deviation * np.random.default_rng(seed).standard_normal(len(truth)))
        fit = fitted(sizes, levels, values, order=2)
        for option, part in enumerate(parts):
            means = total - float(np.mean(part)) + np.array(part)
            at = {place: each.estimate for place, each in fit.settings(option).items()}
            low, high = (0, 1) if len(part) == 2 else (min(at, key=lambda p: at[p]), max(at, key=lambda p: at[p]))
            interval = raw(values).change(fit.effect((option,))).interval
            assert interval is not None
            held[option] += interval[0] <= means[high] / means[low] - 1.0 <= interval[1]
    assert np.all((held >= 0.935 * 2000) & (held <= most * 2000)), held
