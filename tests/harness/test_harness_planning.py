from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from hati.core import InputError, Metric, Observations, Sample, SampledRun, Usage
from hati.harness import Aim, Costs, QuantilePrecision, best_observations, costs_of, run_plan, runs_for, sufficiency
from hati.stats import NestedVariance, effective_size, nested_variance

RNG = np.random.default_rng(8)


def sample(runs: list[list[float]], *, unit: str = "s", warmup: int = 0, wall: float | None = None) -> Sample:
    made = (SampledRun(Observations("m", unit, np.array(r), warmup), usage=Usage(wall_time=wall)) for r in runs)
    return Sample("b", Metric("m", unit), tuple(made))


@pytest.mark.parametrize(
    ("wanted", "observations"),
    [
        (QuantilePrecision(), 38_416),  # the Kalibera paper, section 3.2
        (QuantilePrecision(0.5, 0.005, 0.99), 66_564),  # 2.58^2 .25 / .005^2
        (QuantilePrecision(0.99, 0.001, 0.95), 38_032),  # 1.96^2 .99 .01 / .001^2 = 38,031.84
    ],
)
def test_observations_for_a_quantile(wanted: QuantilePrecision, observations: int) -> None:
    assert wanted.observations == observations
    exact = stats.norm.ppf(0.5 + wanted.confidence / 2) ** 2 * wanted.quantile * (1 - wanted.quantile)
    assert observations >= exact / wanted.precision**2
    assert wanted.reached(observations) <= wanted.precision


@pytest.mark.parametrize("values", [(0.0, 0.1, 0.9), (0.5, 1.0, 0.9), (0.5, 0.1, math.nan)])
def test_probabilities_are_between(values: tuple[float, float, float]) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        QuantilePrecision(*values)


def test_correlated_observations_are_worth_less() -> None:
    free = RNG.normal(size=20_000)
    tied = free.copy()
    for place in range(1, len(tied)):
        tied[place] += 0.8 * tied[place - 1]
    assert effective_size(free) == pytest.approx(20_000, rel=0.1)
    assert effective_size(tied) == pytest.approx(20_000 * (1 - 0.8) / (1 + 0.8), rel=0.15)
    assert effective_size(np.ones(50)) == 50.0
    assert effective_size(np.array([1.0, 2.0])) == 2.0
    wanted = QuantilePrecision(precision=0.05)
    assert sufficiency(free, wanted).enough
    told = sufficiency(tied[:400], wanted)
    assert not told.enough
    assert told.needed > wanted.observations


def test_quantiles_are_as_precise_as_is_said() -> None:
    wanted = QuantilePrecision(0.5, 0.05, 0.95)
    draws = np.random.default_rng(2).random((2_000, wanted.observations))
    inside = np.abs(np.median(draws, axis=1) - 0.5) <= 0.05  # of uniform variables the quantile is its probability
    assert np.mean(inside) >= 0.94


def test_nested_variances_by_analysis_of_variance() -> None:
    runs = 5.0 + RNG.normal(size=(8, 1)) + 2.0 * RNG.normal(size=(8, 12))
    found = nested_variance(list(runs))
    mean_square = 12 * np.var(runs.mean(axis=1), ddof=1)
    assert found.within == pytest.approx(np.mean(np.var(runs, axis=1, ddof=1)), rel=1e-12)
    worth = np.mean([effective_size(row) / 12 for row in runs])
    contributed = np.mean([found.within / (12 * worth) for _ in runs])
    assert found.between == pytest.approx(mean_square / 12 - contributed, rel=1e-12)
    assert (found.mean, found.runs, found.observations) == (pytest.approx(runs.mean()), 8, pytest.approx(12.0))


def test_the_between_run_variance_is_unbiased() -> None:
    rng = np.random.default_rng(3)
    runs = rng.normal(size=(400, 6, 1)) + 3.0 * rng.normal(size=(400, 6, 100))
    assert np.mean([nested_variance(list(one)).between for one in runs]) == pytest.approx(1.0, abs=0.15)


def test_the_best_number_of_observations() -> None:
    variance = NestedVariance(10.0, within=4.0, between=0.25, runs=5, observations=30.0, worth=1.0)
    assert best_observations(variance, Costs(0.5, 18.0, "given")) == 24  # sqrt(18 / .5 x 4 / .25) = sqrt(576)
    assert best_observations(variance, Costs(0.5, 18.1, "given")) == 25
    assert best_observations(variance, Costs(0.5, 0.0, "given")) == 1
    same = NestedVariance(10.0, 4.0, -0.1, 5, 30.0, 1.0)
    assert best_observations(same, Costs(0.5, 18.0, "given")) is None


def test_no_other_number_costs_less() -> None:
    variance = NestedVariance(10.0, within=4.0, between=0.25, runs=5, observations=30.0, worth=1.0)
    costs = Costs(0.5, 18.0, "given")
    spent = {n: ((variance.of_run_means(n) or 0.0) * costs.of(1, n)) for n in range(1, 200)}
    assert min(spent, key=spent.__getitem__) == 24


@pytest.mark.parametrize(("change", "alpha"), [(0.05, 0.01), (0.1, 0.05)])
def test_runs_by_the_noncentral_t(change: float, alpha: float) -> None:
    variance = NestedVariance(10.0, within=4.0, between=0.25, runs=5, observations=30.0, worth=1.0)
    found = runs_for(variance.relative(24) or 0.0, Aim(change, 0.8, alpha))
    assert found is not None
    deviation = math.sqrt(0.25 + 4.0 / 24) / 10.0

    def power(runs: int) -> float:
        df, shift = 2 * runs - 2, math.log1p(change) / (deviation * math.sqrt(2 / runs))
        return float(stats.nct.sf(stats.t.ppf(1 - alpha / 2, df), df, shift))

    assert power(found) >= 0.8 - 1e-9
    assert power(found - 1) < 0.8


def test_costs_are_told_from_what_is_recorded() -> None:
    known = costs_of(sample([[5.0, 2.0, 2.0]] * 2, unit="ms", warmup=1, wall=0.504))
    assert known is not None
    assert (known.observation, known.run) == (pytest.approx(0.002), pytest.approx(0.5))
    unrecorded = costs_of(sample([[5.0, 2.0, 2.0]] * 2, warmup=1))
    assert unrecorded is not None
    assert (unrecorded.run, "start is not recorded" in unrecorded.basis) == (2.0, True)
    rate = costs_of(sample([[5.0, 2.0, 2.0]], unit="1/s", warmup=1, wall=3.0))
    assert rate is not None
    assert (rate.observation, rate.run) == (1.0, 1.0)
    assert costs_of(sample([[5.0, 2.0]], unit="1/s")) is None
    given = costs_of(sample([[5.0, 2.0]], unit="1/s"), 0.25, 4.0)
    assert given == Costs(0.25, 4.0, "given")


def test_what_is_not_known_is_said() -> None:
    alone = run_plan(sample([[1.0, 1.1, 0.9]]), Aim())
    assert (alone.best, alone.now.runs) == (None, None)
    assert "there is one run" in alone.unknown[0]
    single = run_plan(sample([[1.0], [1.1]]), Aim())
    assert single.variance is None
    assert single.now.runs is not None
    assert "more than one observation" in single.unknown[0]
    rate = run_plan(sample([[1.0, 1.2], [1.1, 1.3]], unit="1/s"), Aim())
    assert "what an observation costs" in rate.unknown[0]


def test_runs_of_now_are_planned_by_how_run_means_vary() -> None:
    """Runs that make the same unequal calls differ by far less than the calls do."""
    calls = np.concatenate([np.full(46, 0.0002), np.full(109, 0.08)])
    alike = [list(calls * (1 + 0.001 * RNG.normal())) for _ in range(12)]
    aim = Aim(change=0.05)
    found = run_plan(sample(alike), aim).now.runs
    assert found == run_plan(sample([[float(np.mean(run))] for run in alike]), aim).now.runs == 2


def test_observations_that_overlap_cost_their_part_of_the_wall_time() -> None:
    clients = costs_of(sample([[0.08] * 160] * 3, wall=2.0))
    assert clients is not None
    assert (clients.observation, clients.run) == (pytest.approx(2.0 / 160), pytest.approx(0.0, abs=1e-12))
    assert "wall time" in clients.basis
