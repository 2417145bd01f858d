from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hati.core import FloatArray, InputError
from hati.harness import State, Steadiness, steadiness

PLACES = np.arange(1_000)


def noisy(level: FloatArray, deviation: float = 0.02, seed: int = 1) -> FloatArray:
    return np.asarray(level * (1.0 + deviation * np.random.default_rng(seed).normal(size=len(level))))


def test_a_flat_run_is_steady_from_the_first() -> None:
    found = steadiness(noisy(np.ones(1_000)))
    assert (found.state, found.start, found.disturbed, found.reason) == (State.STEADY, 0, 0.0, "")
    assert found.level == pytest.approx(1.0, abs=0.005)
    assert found.error == pytest.approx(0.02 / 1_000**0.5, rel=0.5)


def test_a_late_step_is_found_to_the_observation() -> None:
    found = steadiness(noisy(1.0 + 0.5 * (PLACES < 405)))
    assert found.start is not None
    assert abs(found.start - 405) <= 1
    assert found.level == pytest.approx(1.0, abs=0.005)


@pytest.mark.parametrize(
    "level",
    [1.0 + PLACES / 500.0, 1.0 + 0.1 * (PLACES < 930), 1.0 + 0.3 * (PLACES // 100 % 2)],
    ids=["a ramp", "a step at the end", "two levels by turns"],
)
def test_what_does_not_settle_is_never_steady(level: FloatArray) -> None:
    found = steadiness(noisy(level))
    assert (found.state, found.start, found.level, found.error, found.disturbed) == (
        State.NEVER,
        None,
        None,
        None,
        None,
    )
    assert found.reason


def test_disturbances_that_pass_are_no_warmup() -> None:
    values = noisy(1.0 + 0.5 * ((PLACES >= 500) & (PLACES < 515)))
    values[::70] *= 20.0
    assert steadiness(values).start == 0


def test_levels_within_the_tolerance_are_one() -> None:
    values = noisy(1.0 + 0.04 * (PLACES < 500), 0.005)
    assert steadiness(values).start == 0
    assert steadiness(values, tolerance=0.02).start == 500


@pytest.mark.parametrize("size", [1, 2, 8, 29])
def test_of_a_few_observations_nothing_is_told(size: int) -> None:
    found = steadiness(np.ones(size))
    assert found.state is State.SHORT
    assert found.reason.startswith(f"{size} observation")


def test_few_observations_with_a_warmup() -> None:
    assert steadiness(noisy(1.0 + (np.arange(30) < 5))).start == 5


@pytest.mark.statistical
@pytest.mark.parametrize("size", [30, 60, 100, 300, 1_000])
@pytest.mark.parametrize(("part", "factor"), [(1 / 6, 3.0), (1 / 3, 1.5), (1 / 10, 3.0), (1 / 2, 1.2)])
def test_a_run_of_independent_observations_of_two_kinds_is_steady(size: int, part: float, factor: float) -> None:
    """Of 200 runs a tenth at most is never steady; of these were up to nine tenths."""
    rng = np.random.default_rng([size, 19])
    never = 0
    for _ in range(200):
        kinds = np.where(rng.random(size) < part, factor, 1.0)
        never += steadiness(kinds * np.exp(0.02 * rng.standard_normal(size))).state is State.NEVER
    assert never <= 20


@pytest.mark.parametrize("size", [60, 100, 300])
def test_levels_that_last_are_no_mixture(size: int) -> None:
    stays = np.arange(size) // max(5, size // 10) % 2
    assert steadiness(noisy(1.0 + 0.3 * stays)).state is State.NEVER


@pytest.mark.parametrize("tolerance", [0.0, 1.0, float("nan")])
def test_a_tolerance_is_a_share(tolerance: float) -> None:
    with pytest.raises(InputError, match="tolerance"):
        steadiness(np.ones(50), tolerance)


@pytest.mark.parametrize("level", [0.0, 1e-300, 1e99, -3.0])
def test_a_constant_is_steady(level: float) -> None:
    found = steadiness(np.full(64, level))
    assert (found.state, found.start, found.level) == (State.STEADY, 0, pytest.approx(level, rel=1e-12))


@settings(max_examples=40, deadline=None)
@given(arrays(np.float64, st.integers(1, 120), elements=st.floats(-1e100, 1e100)))
def test_whatever_is_measured_something_finite_is_said(values: FloatArray) -> None:
    found = steadiness(values)
    assert (found.state is State.STEADY) == (found.start is not None)
    assert found.start is None or 0 <= found.start <= len(values) * 5 / 6 + 1
    assert all(number is None or np.isfinite(number) for number in (found.level, found.error, found.disturbed))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1_000), st.integers(-40, 40))
def test_the_unit_does_not_matter(seed: int, power: int) -> None:
    values = noisy(1.0 + np.exp(-np.arange(300) / 20.0), seed=seed)
    plain, scaled = steadiness(values), steadiness(values * 2.0**power)
    assert (plain.state, plain.start) == (scaled.state, scaled.start)


def autoregression(size: int, phi: float, deviation: float, rng: np.random.Generator) -> FloatArray:
    values = rng.normal(size=size) * deviation
    values[0] /= (1.0 - phi**2) ** 0.5
    for place in range(1, size):
        values[place] += phi * values[place - 1]
    return values


def rates(levels: FloatArray, noise: str, number: int = 60) -> list[Steadiness]:
    rng = np.random.default_rng(4)
    made = {
        "normal": lambda: 1.0 + 0.02 * rng.normal(size=1_000),
        "t3": lambda: 1.0 + 0.02 * rng.standard_t(3, size=1_000),
        "bimodal": lambda: 1.0 + 0.5 * (rng.random(1_000) < 0.3) + 0.01 * rng.normal(size=1_000),
        "lognormal": lambda: np.exp(0.5 * rng.normal(size=1_000)),
        "AR(1) .6": lambda: 1.0 + autoregression(1_000, 0.6, 0.02, rng),
        "AR(1) .9": lambda: 1.0 + autoregression(1_000, 0.9, 0.01, rng),
    }[noise]
    return [steadiness(levels * made()) for _ in range(number)]


def share(found: list[Steadiness], low: int, high: int) -> float:
    return float(np.mean([one.start is not None and low <= one.start <= high for one in found]))


@pytest.mark.statistical
@pytest.mark.acceptance
@pytest.mark.parametrize("noise", ["normal", "t3", "lognormal", "bimodal", "AR(1) .6", "AR(1) .9"])
def test_flat_noise_is_steady_from_the_first(noise: str) -> None:
    assert share(rates(np.ones(1_000), noise), 0, 0) >= 0.95


@pytest.mark.statistical
@pytest.mark.acceptance
@pytest.mark.parametrize("noise", ["normal", "t3", "AR(1) .6"])
def test_warmups_are_found(noise: str) -> None:
    # exp(-3), what is left of a doubled time after three time constants, is 5 %.
    assert share(rates(1.0 + np.exp(-PLACES / 50.0), noise), 75, 200) >= 0.95
    assert share(rates(1.0 + 0.1 * (PLACES < 400), noise), 390, 410) >= 0.95
    ramps = rates(1.0 + PLACES / 1_000.0, noise)
    assert np.mean([one.state is State.NEVER for one in ramps]) >= (0.95 if noise != "AR(1) .6" else 0.85)
    assert np.mean([one.state is State.NEVER for one in rates(1.0 + 0.1 * (PLACES < 930), noise)]) >= 0.9


@pytest.mark.statistical
@pytest.mark.acceptance
def test_forks_that_others_call_steady(shared_data: Path) -> None:
    """In 90 % of them the start is within a tenth of the run of theirs, or before it with the same mean within 1 %."""
    labels = json.loads((shared_data / "jmh-forks" / "labels.json").read_text())
    agreed = []
    with np.load(shared_data / "jmh-forks" / "forks.npz") as data:
        for name in data.files:
            for values, label in zip(data[name].astype(np.float64), labels[name]["steady_state_starts"], strict=True):
                if label >= 0:
                    start = steadiness(values).start
                    near = start is not None and abs(start - label) <= 0.1 * len(values)
                    alike = start is not None and abs(values[start:].mean() / values[label:].mean() - 1.0) <= 0.01
                    agreed.append(near or (start is not None and start < label and alike))
    assert np.mean(agreed) >= 0.9
