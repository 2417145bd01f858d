"""What a history concludes of steps, drifts, machines and many series."""

from __future__ import annotations

import numpy as np
import pytest

from hati.core import Better, FloatArray, InputError, Metric, replace
from hati.studies.regression import Direction, Series, histories, history
from hati.studies.regression.document import history_facts

TIMES = np.arange(200)


def series(values: FloatArray, name: str = "", better: Better = Better.LOWER) -> Series:
    size = len(values)
    positions = tuple(f"r{place}" for place in range(size))
    zeros, ones = np.zeros(size, dtype=np.intp), np.ones(size, dtype=np.intp)
    return Series(name, Metric("latency", "ms", better), positions, values, zeros, ones)


def noise(seed: int, size: int = 200) -> FloatArray:
    return np.asarray(100.0 + 2.0 * np.random.default_rng(seed).normal(size=size))


def test_a_step_has_a_place_a_size_and_a_verdict() -> None:
    found = history(series(noise(1) + 5.0 * (TIMES >= 100)))
    (change,) = found.change_points
    assert change.indexes[0] <= 100 <= change.indexes[1]
    assert change.position == f"r{change.index}"
    assert change.previous == f"r{change.index - 1}"
    assert change.interval[0] < 5.0 < change.interval[1]
    assert change.relative == pytest.approx(change.change / change.before)
    assert change.direction is Direction.SLOWER
    assert change.p_value < 1e-6
    assert found.trend is not None
    assert found.trend.direction is Direction.NOT_SHOWN
    assert found.warnings == ()


@pytest.mark.parametrize(("size", "number"), [(0.0004, 0), (0.0006, 1)])
def test_a_step_of_no_percent_in_tables_is_named_but_not_a_change(size: float, number: int) -> None:
    found = history(series((100.0 + 1e-4 * (noise(1) - 100.0)) * (1.0 + size * (TIMES >= 100))))
    assert len(found.change_points) == number
    small = [text for text in found.warnings if "too small to matter" in text]
    assert small == ([] if number else ["a step is too small to matter (at most 0.04 %): at r100"])


def test_a_drift_of_no_percent_in_tables_is_not_shown() -> None:
    found = history(series(100.0 + 1e-4 * (noise(3) - 100.0) + 0.0002 * TIMES))
    assert found.trend is not None
    assert (found.trend.p_value < 1e-6, found.trend.direction) == (True, Direction.NOT_SHOWN)


@pytest.mark.parametrize("value", [0.0, 5.0])
@pytest.mark.parametrize("size", [3, 40])
def test_a_series_of_equal_values_is_named_so(value: float, size: int) -> None:
    values, ones = np.full(size, value), np.ones(size, dtype=np.intp)
    positions = tuple(f"r{place}" for place in range(size))
    metric, errors = Metric("warnings", "1"), np.zeros(size)
    found = history(Series("", metric, positions, values, 0 * ones, 3 * ones, errors=errors, freedom=2.0 * size))
    assert dict(history_facts(found))["detectable"] == "all values are equal"
    assert found.warnings == ()


def test_more_is_faster_where_higher_is_better() -> None:
    found = history(series(noise(1) + 5.0 * (TIMES >= 100), better=Better.HIGHER))
    assert found.change_points[0].direction is Direction.FASTER


def test_what_was_not_found_is_said_with_what_could_have_been() -> None:
    found = history(series(noise(2)))
    assert found.change_points == ()
    assert found.detectable is not None
    assert 1.6 < found.detectable.step < 2.4  # more than a known kind of noise would need
    assert found.detectable.relative == pytest.approx(found.detectable.step / 100.0, rel=0.02)


def test_a_drift_is_a_trend_and_not_many_steps() -> None:
    found = history(series(noise(3) + 0.05 * TIMES))
    assert found.change_points == ()
    assert found.trend is not None
    assert found.trend.direction is Direction.SLOWER
    assert found.trend.change_interval[0] < 0.05 * 199 < found.trend.change_interval[1]
    assert found.trend.level == pytest.approx(100.0, abs=1.0)
    assert "drifts more than it steps" in found.warnings[0]


def test_a_step_beside_a_drift_is_found() -> None:
    found = history(series(noise(4) + 0.05 * TIMES + 10.0 * (TIMES >= 150)))
    change = min(found.change_points, key=lambda change: abs(change.index - 150))
    assert change.index == pytest.approx(150, abs=2)
    assert change.interval[0] - 1.0 < 10.0 < change.interval[1] + 1.0
    assert change.before == pytest.approx(100.0 + 0.05 * 150, abs=2.0)
    assert found.trend is not None
    assert found.trend.direction is Direction.SLOWER


def test_the_trend_is_told_from_the_baseline_on() -> None:
    values = noise(5) + 0.2 * np.maximum(TIMES - 100, 0)
    found = history(series(values), baseline="r100").trend
    assert found is not None
    assert (found.baseline, found.baseline_index, found.positions) == ("r100", 100, 99)
    assert found.direction is Direction.SLOWER
    with pytest.raises(InputError, match="no position 'r300'"):
        history(series(values), baseline="r300")
    assert history(series(values), baseline="r195").trend is None


def test_outliers_are_named_and_change_nothing() -> None:
    values = noise(6)
    values[[50, 120]] += [40.0, -30.0]
    found = history(series(values))
    assert found.outliers == ("r50", "r120")
    assert found.change_points == ()


def test_a_change_of_machine_is_said_to_hide_changes() -> None:
    machines = (TIMES >= 100).astype(np.intp)
    found = history(replace(series(noise(7) + 20.0 * machines), machines=machines))
    assert found.change_points == ()
    assert found.machines == 2
    assert "all machines change at r100" in found.warnings[0]


def test_machines_that_take_turns_are_one_history() -> None:
    machines = np.asarray(TIMES % 2, dtype=np.intp)
    found = history(replace(series(noise(8) + 30.0 * machines + 5.0 * (TIMES >= 60)), machines=machines))
    assert [abs(change.index - 60) <= 3 for change in found.change_points] == [True]
    assert found.change_points[0].interval[0] < 5.0 < found.change_points[0].interval[1]
    assert found.warnings == ()


def test_what_weakens_a_history_is_said() -> None:
    few = history(series(noise(9, 12)))
    assert "fewer than 30 positions" in few.assumptions[0]
    assert "with more digits" in " ".join(history(series(np.round(noise(10) / 4.0))).warnings)
    walk = history(series(np.cumsum(noise(11) - 100.0) + 100.0))
    assert "autocorrelated" in " ".join(walk.warnings)
    runs = np.where(TIMES % 2, 1, 9).astype(np.intp)
    assert "from 1 to 9 runs" in " ".join(history(replace(series(noise(12)), runs=runs)).warnings)


def test_series_without_noise_have_an_answer() -> None:
    found = history(series(np.repeat([3.0, 4.0], 20)))
    assert [(change.index, change.before, change.after) for change in found.change_points] == [(20, 3.0, 4.0)]
    assert history(series(np.full(20, 7.0))).change_points == ()
    assert history(series(np.zeros(60))).change_points == ()


def test_many_series_are_corrected_for() -> None:
    quiet = tuple(series(noise(100 + number), f"b{number}") for number in range(20))
    stepped = series(noise(1) + 5.0 * (TIMES >= 100), "stepped")
    found = histories((*quiet, stepped))
    assert [one.name for one in found if one.change_points] == ["stepped"]
    assert {one.alpha for one in found} == {0.05 / 21}
    assert all(one.trend is None or one.trend.p_value >= 0.05 for one in found)


def test_a_series_has_enough_values_of_equal_number() -> None:
    with pytest.raises(InputError, match="has 7 values"):
        series(noise(1, 7))
    with pytest.raises(ValueError, match="differ in length"):
        replace(series(noise(1)), runs=np.ones(3, dtype=np.intp))
