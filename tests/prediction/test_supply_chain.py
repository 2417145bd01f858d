"""The case study of the Ginpex paper, section 4.2, from the models in examples."""

from pathlib import Path

import numpy as np
import pytest

from hati.prediction import Replications, predict, simulate
from hati.project import read_model
from hati.stats import t_margin

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "scm"


def predicted(name: str) -> tuple[list[float], list[float]]:
    found = predict(read_model(EXAMPLES / f"{name}.toml"))
    times = [1000.0 * each.response.value for each in found.requests]
    return times, [100.0 * each.utilisation.value for each in found.resources]


def test_table_2_is_within_1_5_percent() -> None:
    times, busy = predicted("one-server")
    assert times == pytest.approx([20.0, 251.0, 2013.0], rel=0.015)
    assert busy == pytest.approx([29.7], rel=0.015)


def test_table_3_without_overheads_is_that_of_two_cores_by_hand() -> None:
    times, busy = predicted("without-overheads")
    load = 25 / 60 * 2.0
    assert times == pytest.approx([20.0, 252.7, 2000.0 / (1.0 - (load / 2.0) ** 2)], rel=1e-3)
    assert times[2] == pytest.approx(2420.2, abs=0.05)
    assert busy == pytest.approx([3.542, 10.417, 41.667], abs=1e-3)


@pytest.mark.acceptance
def test_one_simulation_of_ten_minutes_scatters_by_more_than_the_papers_difference() -> None:
    runs = 40
    model = read_model(EXAMPLES / "without-overheads.toml")
    found = simulate(model, np.random.default_rng(1), Replications(runs, 5000), "the test asks for it").requests[2]
    assert found.response.low is not None
    assert found.response.high is not None
    deviation = (found.response.high - found.response.low) / 2.0 / t_margin(0.95, runs - 1) * runs**0.5
    assert 0.06 < deviation / 2.4202 < 0.13
    assert deviation > 2.4202 - 2.314


def test_table_3_with_overheads_multiplies_utilisations() -> None:
    times, busy = predicted("with-overheads")
    assert times == pytest.approx([20.0, 256.1, 2659.7], abs=0.05)
    assert busy[1:] == pytest.approx([10.417 * 1.013, 41.667 * 1.067], abs=1e-3)
