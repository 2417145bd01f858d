"""Intervals of one window in time: they cover where neighbours are alike, as a first-order autoregression is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from simulated_gaps import raw_of

from hati.stats import proportion
from hati.studies.probe import ProbeVerdict, Property
from hati.studies.probe.intervals import (
    Total,
    effective_number,
    median_property,
    median_ratio_property,
    number_of_events,
    rate_property,
    series_quantile_interval,
    total_of_events,
)
from hati.studies.probe.noise import interruptions, repeatability

TRIALS = 2000
LONG = pytest.mark.acceptance


def autoregression(rng: np.random.Generator, phi: float, size: int) -> np.ndarray:
    """Series of a standard normal first-order autoregression, shape (2000, size)."""
    noise = rng.normal(size=(size, TRIALS))
    values = np.empty_like(noise)
    values[0] = noise[0]
    for place in range(1, size):
        values[place] = phi * values[place - 1] + np.sqrt(1.0 - phi**2) * noise[place]
    return values.T


def assert_covers(covered: Callable[[int], bool]) -> None:
    """Check that the upper limit of the coverage in 2,000 trials is at least 95 %."""
    count = sum(covered(trial) for trial in range(TRIALS))
    assert proportion(count, TRIALS).interval[1] >= 0.95, count / TRIALS


def within(interval: tuple[float, float] | None, truth: float) -> bool:
    assert interval is not None
    return interval[0] <= truth <= interval[1]


@pytest.mark.parametrize(("phi", "size"), [(0.0, 10), (0.5, 20), (0.9, 50), pytest.param(0.9, 200, marks=LONG)])
def test_medians_of_a_series_are_covered(phi: float, size: int) -> None:
    series = np.exp(0.3 * autoregression(np.random.default_rng(1), phi, size))
    assert_covers(lambda trial: within(median_property("a", series[trial], "us").interval, 1.0))


@pytest.mark.parametrize("phi", [pytest.param(0.0, marks=LONG), 0.5])
def test_the_99th_percentile_of_a_series_is_covered(phi: float) -> None:
    series = autoregression(np.random.default_rng(2), phi, 500)
    assert_covers(lambda trial: within(series_quantile_interval(series[trial], 0.99), 2.3263479))


@pytest.mark.parametrize(("phi", "size"), [(0.0, 10), (0.5, 32), pytest.param(0.9, 200, marks=LONG)])
def test_rates_of_a_series_are_covered(phi: float, size: int) -> None:
    times = 1e5 * np.exp(0.3 * autoregression(np.random.default_rng(3), phi, size) - 0.045)
    assert_covers(lambda trial: within(rate_property("a", np.ones(size), times[trial], "1/s").interval, 1e4))


@pytest.mark.parametrize(("phi", "size"), [pytest.param(0.5, 20, marks=LONG), (0.9, 50)])
def test_ratios_of_medians_are_covered(phi: float, size: int) -> None:
    rng = np.random.default_rng(4)
    values = 30.0 * np.exp(0.3 * autoregression(rng, phi, size))
    reference = np.exp(0.1 * autoregression(rng, phi, size))
    assert_covers(lambda trial: within(median_ratio_property("a", values[trial], reference[trial]).interval, 30.0))


def test_a_series_is_worth_as_many_values_as_its_dependence_leaves() -> None:
    rng = np.random.default_rng(5)
    assert effective_number(np.ones(50)) == 50.0
    assert effective_number(rng.normal(size=2)) == 2.0
    for phi, least, most in ((0.0, 300.0, 1000.0), (0.5, 150.0, 400.0), (0.9, 20.0, 80.0)):
        found = [effective_number(series) for series in autoregression(rng, phi, 1000)[:200]]
        assert least < np.median(found) < most
    slow = np.repeat(rng.normal(size=8), 100) + 3.0 * rng.normal(size=800)  # hardly correlated with its neighbour
    assert effective_number(slow) < 200.0


def test_an_interval_of_a_logarithm_stays_finite() -> None:
    times = np.linspace(1e6, 3e6, 200_000)
    times[100] = 1e13
    for found in (rate_property("a", np.ones(times.size), times, "1/s"), work(times)["noise.cpu_time_cv"]):
        assert found.interval == pytest.approx((found.value / 100.0, found.value * 100.0))


def events(rng: np.random.Generator, kind: str, expected: float) -> np.ndarray:
    """The starts of events in 2 s, in ms."""
    if kind == "clusters":
        sizes = rng.poisson(5, size=rng.poisson(expected / 5))
        starts = np.repeat(rng.uniform(0, 2000, sizes.size), sizes) + rng.exponential(5.0, sizes.sum())
    elif kind == "wandering":
        counts = rng.poisson(expected / 20 * rng.lognormal(-0.125, 0.5, 20))
        starts = np.repeat(np.arange(20) * 100.0, counts) + rng.uniform(0, 100, counts.sum())
    else:
        starts = rng.uniform(0, 2000, rng.poisson(expected))
    return np.sort(starts[starts < 2000])


def interrupted(rng: np.random.Generator, kind: str, expected: float) -> dict[str, Property]:
    """The properties of interruptions of .02 to .18 ms on two CPUs, and of the second one's .3 as many."""
    raw = {}
    for number, own in enumerate((expected, 0.3 * expected)):
        starts = events(rng, kind, own)
        raw |= raw_of(starts, rng.uniform(0.02, 0.18, starts.size), 2000.0, number=number)
    return {each.name: each for each in interruptions(raw)}


@pytest.mark.acceptance
@pytest.mark.parametrize(("kind", "expected"), [("clusters", 100), ("wandering", 60)])
def test_rates_and_fractions_of_interruptions_are_covered(kind: str, expected: float) -> None:
    rng = np.random.default_rng(6)
    found = [interrupted(rng, kind, expected) for _ in range(TRIALS)]
    rate, length = 1.3 * expected / 4.0, 1e-4
    truths = {
        "noise.rate_10us": 0.5 * rate,
        "noise.rate_100us": 0.5 * rate,
        "noise.interrupted": rate * length,
        "noise.taken": expected / 2.0 * length,
    }
    for name, truth in truths.items():
        assert_covers(lambda trial, name=name, truth=truth: within(found[trial][name].interval, truth))  # type: ignore[misc]  # a lambda's defaults


WEIGHTS = {
    "equal": lambda rng, count: np.ones(count),
    "uniform": lambda rng, count: rng.uniform(0.2, 1.8, count),
    "exponential": lambda rng, count: rng.exponential(1.0, count),
    "lognormal": lambda rng, count: rng.lognormal(-0.5, 1.0, count),
    "heavy": lambda rng, count: rng.lognormal(-2.0, 2.0, count),
}


def total_of(rng: np.random.Generator, weights: np.ndarray) -> Total:
    parts = np.bincount(rng.integers(0, 20, weights.size), weights, minlength=20).astype(float)[None, :]
    return total_of_events(parts, weights, 1.0)


def coverage_of_enough(weights: Callable[[np.random.Generator, int], np.ndarray], expected: float) -> float:
    """The coverage of the totals of 2,000 windows that have enough events, of a mean weight of 1."""
    rng = np.random.default_rng(5)
    found = [total_of(rng, weights(rng, int(rng.poisson(expected)))) for _ in range(TRIALS)]
    enough = [each for each in found if each.events and not each.has_too_few]
    assert len(enough) > TRIALS / 2
    return sum(within(each.interval(), expected) for each in enough) / len(enough)


@pytest.mark.acceptance
@pytest.mark.parametrize("expected", [5.0, 8.0, 12.0, 20.0, 50.0])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_totals_of_enough_events_are_covered(weights: str, expected: float) -> None:
    assert coverage_of_enough(WEIGHTS[weights], expected) >= 0.95


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("expected", "least"), [(5.0, 0.95), (8.0, 0.95), (12.0, 0.95), (20.0, 0.92), (30.0, 0.86), (50.0, 0.91)]
)
def test_totals_with_rare_heavy_events_are_covered_as_stated(expected: float, least: float) -> None:
    """5 % of the events weigh 19 times as much as the others: many windows of 20 to 50 show none of them."""

    def weights(rng: np.random.Generator, count: int) -> np.ndarray:
        return np.where(rng.random(count) < 0.05, 10.0, 10.0 / 19.0)

    assert coverage_of_enough(weights, expected) >= least


@pytest.mark.acceptance
@pytest.mark.parametrize("expected", [0.5, 1.0, 2.0, 3.0, 5.0])
def test_counts_of_events_are_covered_however_few(expected: float) -> None:
    """Garwood's interval; it is wider where the events of one window are closer to each other than Poisson's."""
    rng, covered = np.random.default_rng(5), 0
    for _ in range(TRIALS):
        count = int(rng.poisson(expected))
        parts = np.bincount(rng.integers(0, 20, count), minlength=20).astype(float)[None, :]
        covered += within(number_of_events(parts).interval(), expected)
    assert covered >= 0.95 * TRIALS


@pytest.mark.parametrize(
    ("count", "verdict"), [(0, "measured"), (1, "inconclusive"), (4, "inconclusive"), (5, "measured")]
)
def test_fractions_of_time_of_few_interruptions_are_inconclusive(count: int, verdict: str) -> None:
    starts = np.arange(count) * 100.0 + 10.0
    found = {each.name: each for each in interruptions(raw_of(starts, 2.0 + np.arange(count), 2000.0))}
    assert {found[f"noise.{name}"].verdict for name in ("interrupted", "taken")} == {ProbeVerdict(verdict)}
    assert found["noise.rate_1ms"].verdict is ProbeVerdict.MEASURED
    if verdict == "inconclusive":
        assert "too few to know how long others are" in found["noise.taken"].reason
        assert found["noise.taken"].reason.endswith(
            "; measure without `--quick`, or again while the machine is used as usual"
        )
        assert found["noise.taken"].value == pytest.approx(sum(2.0 + np.arange(count)) / 2000.0)


@pytest.mark.parametrize("gaps", [0, 1, 20])
@pytest.mark.parametrize(
    ("ticks", "verdict"), [(0, "measured"), (1, "inconclusive"), (4, "inconclusive"), (5, "measured")]
)
def test_stolen_time_is_judged_by_its_ticks_whatever_the_gaps(gaps: int, ticks: int, verdict: str) -> None:
    raw = raw_of(np.arange(gaps) * 50.0 + 10.0, np.full(gaps, 10.0), 2000.0) | {"stolen": np.array([ticks * 0.005])}
    found = {each.name: each for each in interruptions(raw)}["noise.stolen"]
    assert (found.value, found.verdict) == (ticks * 0.005, ProbeVerdict(verdict))
    if verdict == "inconclusive":
        assert found.reason.startswith(f"{ticks} stolen tick")
        assert "--quick" in found.reason


def test_what_did_not_occur_has_an_upper_limit() -> None:
    found = {each.name: each for each in interruptions(raw_of([], [], 2000.0))}
    rate = found["noise.rate_1ms"]
    assert (rate.value, rate.interval) == (0.0, pytest.approx((0.0, 3.689 / 2.0), rel=1e-3))  # Garwood's
    stolen = found["noise.stolen"]
    assert stolen.interval is not None
    assert stolen.interval[0] == 0.0 < 0.01 < stolen.interval[1] < 0.03  # the kernel counts it in units of 10 ms
    assert found["noise.longest"].interval is None


@pytest.mark.acceptance
@pytest.mark.parametrize("carried", [False, True])
def test_the_period_and_the_fraction_of_bursts_are_covered(carried: bool) -> None:
    def found(trial: int) -> dict[str, Property]:
        rng = np.random.default_rng(trial)
        late = rng.normal(0.0, 0.3, 20)
        starts = rng.uniform(10.0, 90.0) + 100.0 * np.arange(20) + (np.cumsum(late) if carried else late)
        lengths, inside = np.abs(rng.normal(4.0, 1.0, 20)), (starts > 0.0) & (starts < 1990.0)
        return {each.name: each for each in interruptions(raw_of(starts[inside], lengths[inside], 2000.0))}

    trials = [found(trial) for trial in range(400)]
    period, burst = (
        sum(within(one[name].interval, truth) for one in trials)
        for name, truth in (("noise.burst_period", 100.0), ("noise.burst", 0.04))
    )
    assert min(period, burst) >= 372


def work(times: np.ndarray) -> dict[str, Property]:
    raw = {"work_wall_ns": times, "work_cpu_ns": times, "others": np.array([0.02])}
    return {each.name: each for each in repeatability(raw)}


@pytest.mark.acceptance
def test_drift_is_covered() -> None:
    rng = np.random.default_rng(7)
    shared = 0.02 * autoregression(rng, 0.5, 40)
    blocks = np.exp(np.repeat(shared, 2, axis=1) + 0.02 * rng.normal(size=(TRIALS, 80)))
    assert_covers(lambda trial: within(work(50e6 * blocks[trial])["noise.drift"].interval, 0.02))


@pytest.mark.acceptance
def test_the_coefficient_of_variation_is_covered() -> None:
    times = 20e6 * (1.0 + 0.05 * autoregression(np.random.default_rng(8), 0.5, 500))
    assert_covers(lambda trial: within(work(times[trial])["noise.cpu_time_cv"].interval, 0.05))


def test_a_rate_at_which_nothing_is_moved_is_not_measured() -> None:
    assert rate_property("net.bandwidth", np.zeros(8), np.full(8, 1e6), "B/s").verdict is ProbeVerdict.INCONCLUSIVE
