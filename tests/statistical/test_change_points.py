"""How often change points are found where there are none, and where there are.

By 400 series of each kind; ``python -m benchmarks.change_points`` has 1,000.
"""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.change_points import KINDS, noise

from hati.core import FloatArray
from hati.stats import change_points, gradual_drift, lag_one, normal_scores
from hati.stats.levels import detectable_step

SERIES = 400
BOUND = 31
"""400 series at 5 %: 99 % of binomial variables are at most this."""

pytestmark = pytest.mark.statistical


def found(values: FloatArray) -> list[list[int]]:
    groups = np.zeros(values.shape[1], dtype=np.intp)
    return [[point.index for point in change_points(series, groups)] for series in values]


def near(places: list[list[int]], wanted: int) -> float:
    return float(np.mean([any(abs(place - wanted) <= 5 for place in series) for series in places]))


@pytest.mark.acceptance
@pytest.mark.parametrize("kind", KINDS)
def test_false_alarms(kind: str) -> None:
    assert sum(map(bool, found(noise(kind, SERIES, 200, np.random.default_rng(21))))) <= BOUND


@pytest.mark.acceptance
@pytest.mark.parametrize("both", [0, 40])
@pytest.mark.parametrize("louder", [1.0, 5.0])
def test_machines_that_follow_each_other_are_no_changes(both: int, louder: float) -> None:
    times = np.arange(200)
    late = np.where(abs(times - 99.5) < both / 2, times % 2, times >= 100).astype(np.intp)
    values = noise("normal", SERIES, 200, np.random.default_rng(27)) * np.where(late, louder, 1.0) + 50.0 * late
    assert sum(bool(change_points(series, late)) for series in values) <= BOUND


def test_false_alarms_of_the_hardest_kind() -> None:
    assert sum(map(bool, found(noise("AR(1) .6", 200, 200, np.random.default_rng(22))))) <= 18  # 99 % of binomial(200)


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("size", "place", "step", "least"), [(200, 100, 5.0, 0.99), (200, 100, 3.0, 0.85), (105, 100, 5.0, 0.8)]
)
def test_steps_are_found(size: int, place: int, step: float, least: float) -> None:
    values = 100.0 + noise("normal", SERIES, size, np.random.default_rng(23))
    values[:, place:] += step
    assert near(found(values), place) >= least


@pytest.mark.acceptance
def test_steps_are_found_where_they_are() -> None:
    values = 100.0 + noise("normal", SERIES, 200, np.random.default_rng(24))
    values[:, 100:] += 5.0
    assert np.mean([100 in series for series in found(values)]) >= 0.7


@pytest.mark.acceptance
@pytest.mark.parametrize(("size", "kind", "phi"), [(60, "normal", 0.0), (200, "normal", 0.0), (200, "AR(1) .3", 0.3)])
def test_what_is_said_to_be_detectable_is_found(size: int, kind: str, phi: float) -> None:
    step = detectable_step(size, phi)
    assert step is not None
    values = noise(kind, SERIES, size, np.random.default_rng(25))
    values[:, size // 2 :] += 2.0 * step
    share = np.mean([bool(series) for series in found(values)])
    assert 0.77 <= share <= 0.93


@pytest.mark.acceptance
@pytest.mark.parametrize("kind", KINDS)
def test_drifts_that_are_none(kind: str) -> None:
    groups = np.zeros(200, dtype=np.intp)
    false = 0
    for series in noise(kind, SERIES, 200, np.random.default_rng(26)):
        line = gradual_drift(series, groups, float(lag_one(normal_scores(series, groups))))
        assert line is not None
        false += line.p_value <= 0.05
    assert false <= 0.08 * SERIES  # how much a drift varies is estimated from few independent values
