"""Effect drift: which options' effects changed, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from scipy import optimize, stats

from hati.campaign import campaign
from hati.core import (
    Benchmark,
    Budget,
    Configuration,
    FloatArray,
    InputError,
    MeasurementError,
    Metric,
    Reader,
    ReaderKind,
    Revision,
    RevisionKind,
    Task,
)
from hati.studies.comparison import Question
from hati.studies.effect_drift import EffectDrift, EffectDriftStudy, MainEffectsModel, drifts, effect_drift_id, fieller
from hati.testing import FakeEngine, MemoryStore

TIME = Metric("time", "s")
MAIN = Benchmark("main", ("true",), Reader(ReaderKind.HATI), (TIME,))
OLD, NEW = (Revision(name, RevisionKind.DIRECTORY) for name in ("old", "new"))
CELLS = tuple(Configuration({"a": a, "b": b, "c": c}) for a, b, c in product((False, True), (False, True), "xyz"))
Cost = Callable[[Configuration, bool], float]


def study(rounds: int = 4, seed: int = 1) -> EffectDriftStudy:
    known = effect_drift_id(MAIN, CELLS, OLD, NEW, rounds, seed, "m")
    return EffectDriftStudy(known, MAIN, TIME, CELLS, OLD, NEW, rounds, Question())


def made(cost: Cost, deviation: float = 0.02, seed: int = 1, budget: int = 10_000) -> EffectDrift:
    def measured(task: Task) -> dict[str, list[float]]:
        noise = np.random.default_rng([seed, int(task.id[:12], 16)]).normal(0.0, deviation)
        return {"time": [cost(task.configuration, task.revision == "new") * float(np.exp(noise))]}

    return campaign(study(seed=seed), FakeEngine(measured), MemoryStore(), Budget(runs=budget))


def test_the_option_whose_effect_changed_is_named_with_its_ratio() -> None:
    def cost(own: Configuration, new: bool) -> float:
        return float(np.exp(0.1 * own["b"] + (0.5 if new else 0.2) * own["a"] + 0.05 * (own["c"] == "z")))

    found = made(cost)
    first, *others = found.options
    assert (first.option, first.settings, first.changed) == ("a", (False, True), True)
    assert first.ratio == pytest.approx(2.5, abs=0.3)
    assert first.interval is not None
    assert first.interval[0] < 2.5 < first.interval[1]
    assert first.before == pytest.approx(np.expm1(0.2), abs=0.03)
    assert first.after == pytest.approx(np.expm1(0.5), abs=0.03)
    assert first.difference == pytest.approx(0.3, abs=0.03)
    assert not any(one.changed for one in others)


def test_an_effect_that_was_none_has_no_ratio() -> None:
    found = made(lambda own, new: 1.3 if new and own["a"] else 1.0)
    [changed] = [one for one in found.options if one.changed]
    assert (changed.option, changed.ratio, changed.interval) == ("a", None, None)
    low, high = changed.difference_interval
    assert low < np.log(1.3) < high


def test_two_rounds_are_needed() -> None:
    with pytest.raises(MeasurementError):
        made(lambda own, new: 1.0, budget=30)
    assert made(lambda own, new: 1.0, budget=60).rounds == 2
    with pytest.raises(InputError, match="give no estimate of the noise"):
        study(rounds=1)


def test_configurations_that_fail_at_one_revision_are_left_out() -> None:
    def measured(task: Task) -> dict[str, list[float]] | str:
        if task.revision == "new" and task.configuration == CELLS[3]:
            return "no"
        noise = np.random.default_rng(int(task.id[:12], 16)).normal(0.0, 0.01)
        return {"time": [float(np.exp(noise))]}

    found = campaign(study(), FakeEngine(measured), MemoryStore(), Budget())
    assert found.configurations == len(CELLS) - 1
    assert found.failures == ("no (4 runs)",)


def test_p_values_are_those_of_a_linear_model() -> None:
    """Beside an F test by nested sums of squares of the cells' means."""
    rng = np.random.default_rng(5)
    changes = rng.normal(0.0, 1.0, (4, len(CELLS))) + np.array([0.5 * cell["a"] for cell in CELLS])
    model = MainEffectsModel.of(CELLS)
    means = changes.mean(axis=0)
    rest = changes - changes.mean(axis=1, keepdims=True) - means + means.mean()
    df = 3 * (len(CELLS) - 1)
    error = float((rest**2).sum()) / df / 4
    expected = []
    for coding in model.codings:
        kept = np.delete(model.matrix, coding.columns, axis=1)
        left = [means - m @ np.linalg.lstsq(m, means, rcond=None)[0] for m in (kept, model.matrix)]
        own = coding.columns.stop - coding.columns.start
        explained = float((left[0] ** 2).sum() - (left[1] ** 2).sum()) / own
        expected.append(stats.f.sf(explained / error, own, df))
    assert model.p_values(changes) == pytest.approx(expected, rel=1e-9)


def test_an_option_that_others_decide_is_left_out() -> None:
    cells = [Configuration({"a": a, "b": b, "same": a}) for a, b in product((0, 1), repeat=2)]
    values = np.zeros((3, 4))
    rng = np.random.default_rng(1)
    _, unestimable = drifts(cells, values, values + rng.normal(0, 1, (3, 4)), 0.01)
    assert unestimable == ("same",)


@pytest.mark.parametrize("seed", range(5))
def test_fiellers_interval_has_the_ratios_that_a_t_test_does_not_reject(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bottom = rng.normal(1.0, 0.1, 8)
    top = 2.5 * bottom + rng.normal(0.0, 0.2, 8)
    critical = float(stats.t.ppf(0.975, 7))
    ratio, interval = fieller(bottom.mean(), top.mean(), np.cov(bottom, top) / 8, critical)
    assert ratio is not None
    assert ratio == pytest.approx(top.mean() / bottom.mean())
    assert interval is not None

    def rejected(r: float) -> float:
        return float(stats.ttest_1samp(top - r * bottom, 0.0).pvalue) - 0.05

    expected = [optimize.brentq(rejected, *ends) for ends in ((ratio - 3.0, ratio), (ratio, ratio + 3.0))]
    assert interval == pytest.approx(expected, rel=1e-6)


def test_a_denominator_that_may_be_zero_has_no_interval() -> None:
    assert fieller(0.1, 1.0, np.eye(2), 4.3) == (None, None)


@pytest.mark.parametrize("seed", range(20))
def test_an_interval_excludes_no_change_where_a_change_is_shown(seed: int) -> None:
    rng = np.random.default_rng(seed)
    effect = 0.02 * seed / 20 * np.array([1.0 if cell["a"] else -1.0 for cell in CELLS])
    before = 0.3 * np.array([1.0 if cell["a"] else -1.0 for cell in CELLS]) + rng.normal(0, 0.02, (2, len(CELLS)))
    after = before.mean(axis=0) + effect + rng.normal(0, 0.02, (2, len(CELLS)))
    found, _ = drifts(CELLS, before, after, 0.05)
    for one in found:
        if len({cell[one.option] for cell in CELLS}) > 2:
            continue
        low, high = one.difference_interval
        assert (low > 0.0 or high < 0.0) == one.changed
        if one.interval is not None and one.before > 0.1:
            assert (one.interval[0] > 1.0 or one.interval[1] < 1.0) == one.changed


EQUAL = np.full(len(CELLS), 0.05)
UNEQUAL = np.array([0.06 if cell["a"] else 0.005 for cell in CELLS])


@pytest.mark.acceptance
@pytest.mark.statistical
@pytest.mark.parametrize("deviations", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
@pytest.mark.parametrize("rounds", [2, 4])
def test_no_more_effects_change_than_the_level_allows(deviations: FloatArray, rounds: int) -> None:
    rng = np.random.default_rng(3)
    alpha, tries = 0.05, 500

    def noise() -> FloatArray:
        return rng.normal(0.0, 1.0, (rounds, len(CELLS))) * deviations

    alarms = sum(any(one.changed for one in drifts(CELLS, noise(), noise(), alpha)[0]) for _ in range(tries))
    assert alarms <= stats.binom.ppf(0.99, tries, alpha)
    assert alarms > 0
