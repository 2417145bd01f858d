"""The uncertainty of measured machines in predictions: its size in cases with a known answer, and coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hati.prediction import (
    CONSTANT,
    ClosedWorkload,
    Component,
    Demand,
    LoadField,
    LoadRange,
    MeasuredNumber,
    OpenWorkload,
    PredictedValue,
    ProbedMachine,
    Replications,
    Resource,
    Scheduling,
    ServiceModel,
    ServicePrediction,
    predict,
    predict_over,
    slowdown,
)
from hati.studies.probe.detectors import work_rate

REFERENCE = MeasuredNumber("old", 400.0, 390.0, 410.0)
CORES = MeasuredNumber("new", 2.0, 1.98, 2.02)


def machine(
    rate: MeasuredNumber, reference: MeasuredNumber = REFERENCE, cores: MeasuredNumber = CORES
) -> ProbedMachine:
    return ProbedMachine(rate.machine, cores, rate, reference)


def service(
    *machines: ProbedMachine, load: float = 60.0, policy: Scheduling = Scheduling.PS, closed: bool = False
) -> ServiceModel:
    resources = tuple(Resource(f"cpu{number}", policy).on(each) for number, each in enumerate(machines))
    web = Component("web", tuple(Demand(each.name, 0.02) for each in resources))
    mix = (("web", 1.0),)
    workload = ClosedWorkload("users", 10, 0.05, mix) if closed else OpenWorkload("users", load, mix)
    return ServiceModel(resources, (web,), (workload,), "old")


def response(prediction: ServicePrediction) -> PredictedValue:
    return prediction.requests[0].response


def test_of_one_uncertain_speed_the_response_time_is_predicted_at_both_ends() -> None:
    exact = MeasuredNumber("old", 400.0, 400.0, 400.0)
    found = predict(service(machine(MeasuredNumber("new", 500.0, 450.0, 550.0), exact)))
    expected = [0.02 / speed * slowdown(2, 60.0 * 0.02 / speed) for speed in (1.25, 1.375, 1.125)]
    assert [response(found).value, response(found).low, response(found).high] == pytest.approx(expected)
    busy = found.resources[0].utilisation
    assert [busy.low, busy.high] == pytest.approx([0.6 / 1.375, 0.6 / 1.125])
    assert found.requests[0].throughput == PredictedValue(60.0)
    assert found.confidence == 0.95


def test_a_machine_has_exactly_the_speed_of_itself() -> None:
    same = machine(REFERENCE, REFERENCE)
    assert same.interval == (1.0, 1.0)
    assert response(predict(service(same))) == PredictedValue(pytest.approx(0.02 * slowdown(2, 1.2)))


def test_the_interval_of_a_speed_adds_those_of_both_rates() -> None:
    low, high = machine(
        MeasuredNumber("new", 400.0, 400.0 / 1.03, 400.0 * 1.03),
        MeasuredNumber("old", 400.0, 400.0 / 1.04, 400.0 * 1.04),
    ).interval
    assert math.log(high) == pytest.approx(math.hypot(math.log(1.03), math.log(1.04)))
    assert low == pytest.approx(1.0 / high)


def test_a_reference_that_machines_share_shifts_all_of_them() -> None:
    """Both resources become slower together: their response times add, and do not average out."""
    exact = [MeasuredNumber(name, 400.0, 400.0, 400.0) for name in ("new", "other")]
    both = response(predict(service(*(machine(each) for each in exact))))
    one = response(predict(service(machine(exact[0]))))
    assert one.high is not None
    assert both.high is not None
    assert both.high - both.value == pytest.approx(2.0 * (one.high - one.value))


def test_an_end_that_overloads_has_no_upper_limit() -> None:
    near = machine(MeasuredNumber("new", 400.0, 320.0, 480.0))
    found = predict(service(near, load=90.0))
    assert response(found).high == math.inf
    assert found.resources[0].utilisation.high == 1.0
    assert found.requests[0].throughput.high is None


def test_utilisations_are_at_most_1() -> None:
    """Both machines' rates may make it 1: the deviations together must not exceed it, except of a delay."""
    near = machine(MeasuredNumber("new", 400.0, 320.0, 480.0), MeasuredNumber("old", 400.0, 330.0, 480.0))
    busy = predict(service(near, load=90.0)).resources[0].utilisation
    assert busy.value == pytest.approx(0.9)
    assert busy.high == 1.0
    waiting = predict(service(near, load=90.0, policy=Scheduling.DELAY)).resources[0].utilisation
    assert waiting.high is not None
    assert waiting.high > 1.8


def test_an_overload_that_is_not_certain_is_said_to_be_uncertain() -> None:
    uncertain = machine(MeasuredNumber("new", 400.0, 320.0, 480.0))
    assert "unless a machine is as fast as its interval allows" in predict(service(uncertain, load=110.0)).reason
    assert "unless" not in predict(service(uncertain, load=130.0)).reason


def test_a_quota_of_uncertain_size_widens_the_interval() -> None:
    quota = MeasuredNumber("new", 1.5, 1.4, 1.6)
    exact = MeasuredNumber("old", 400.0, 400.0, 400.0)
    busy = predict(service(machine(exact, exact, quota))).resources[0].utilisation
    assert [busy.low, busy.high] == pytest.approx([1.2 / 1.6, 1.2 / 1.4])


EXACT = MeasuredNumber("old", 400.0, 400.0, 400.0)


def test_at_the_ends_of_measured_cores_their_number_is_the_same() -> None:
    """More capacity than that of two cores is that of two faster ones, never of three; less is that of a quota."""
    cores = MeasuredNumber("new", 2.0, 1.8, 2.2)
    found = response(predict(service(machine(EXACT, EXACT, cores))))
    expected = [0.02 / speed * slowdown(cores, 1.2 / speed) for cores, speed in ((2, 1.0), (2, 1.1), (1.8, 1.0))]
    assert [found.value, found.low, found.high] == pytest.approx(expected)


def test_a_quota_does_not_slow_a_request_that_is_alone() -> None:
    quota = MeasuredNumber("new", 1.5, 1.4, 1.6)
    light = predict(service(machine(EXACT, EXACT, quota), load=0.01))
    assert response(light).value == pytest.approx(0.02, rel=1e-3)
    assert light.resources[0].formula == "M/G/1.5-PS"
    heavy = predict(service(machine(EXACT, EXACT, quota), load=80.0))
    assert [each.cores for each in heavy.overloads] == [1.5]
    half = MeasuredNumber("new", 0.5, 0.49, 0.51)
    assert response(predict(service(machine(EXACT, EXACT, half), load=0.01))).value == pytest.approx(0.04, rel=1e-3)


def test_ends_of_measured_cores_that_count_as_whole_change_nothing() -> None:
    cores = MeasuredNumber("new", 2.0, 1.92, 2.08)
    assert response(predict(service(machine(EXACT, EXACT, cores)))).high is None


@pytest.mark.parametrize("seed", [None, 1])
def test_one_core_that_may_have_more_capacity_is_predicted_as_one_core(seed: int | None) -> None:
    """First come, first served has a closed form on one core only."""
    (cpu,) = service(machine(EXACT, EXACT, MeasuredNumber("new", 1.0, 0.99, 1.2)), policy=Scheduling.FCFS).resources
    web = Component("web", (Demand("cpu0", 0.02, CONSTANT),))
    model = ServiceModel((cpu,), (web,), (OpenWorkload("users", 20.0, (("web", 1.0),)),), "old")
    found = response(predict(model, None if seed is None else np.random.default_rng(seed)))

    def pollaczek_khinchine(speed: float) -> float:
        demand = 0.02 / speed
        return demand + 20.0 * demand**2 / (2.0 * (1.0 - 20.0 * demand))

    assert found.value == found.high == pytest.approx(pollaczek_khinchine(1.0))
    assert found.low == pytest.approx(pollaczek_khinchine(1.2))


def test_the_load_that_saturates_has_an_interval() -> None:
    exact = MeasuredNumber("old", 400.0, 400.0, 400.0)
    model = service(machine(MeasuredNumber("new", 500.0, 450.0, 550.0), exact))
    curve = predict_over(model, LoadRange("users", LoadField.RATE, 10.0, 60.0, "1/s"), 2)
    assert curve.saturation is not None
    load = curve.saturation.load
    assert [load.value, load.low, load.high] == pytest.approx([125.0, 112.5, 137.5])
    assert all(response(each.prediction).high is not None for each in curve.points)


def test_a_simulation_adds_the_uncertainty_of_the_machine() -> None:
    pytest.importorskip("simpy")
    uncertain = machine(MeasuredNumber("new", 400.0, 360.0, 440.0))
    model = service(uncertain, policy=Scheduling.FCFS)
    constant = Component("web", (Demand("cpu0", 0.02, CONSTANT),))
    model = ServiceModel(model.resources, (constant,), model.workloads, "old")
    known = machine(MeasuredNumber("new", 400.0, 400.0, 400.0), MeasuredNumber("old", 400.0, 400.0, 400.0))
    exactly = ServiceModel(service(known, policy=Scheduling.FCFS).resources, (constant,), model.workloads, "old")
    runs = Replications(requests=300)
    wide, narrow = (predict(each, np.random.default_rng(3), runs).requests[0].response for each in (model, exactly))
    assert wide.value == narrow.value
    assert wide.high is not None
    assert narrow.high is not None
    assert wide.low is not None
    assert wide.high - wide.value > 2.0 * (narrow.high - narrow.value)
    slowest = 0.02 / (360.0 / 400.0)
    assert wide.high > slowest


@pytest.mark.parametrize(
    ("machines", "load", "closed"),
    [
        pytest.param(1, 60.0, False, id="one"),
        pytest.param(2, 60.0, False, id="two", marks=pytest.mark.acceptance),
        pytest.param(1, 105.0, False, id="near saturation", marks=pytest.mark.acceptance),
        pytest.param(2, 0.0, True, id="closed", marks=pytest.mark.acceptance),
    ],
)
def test_intervals_cover_the_truth(machines: int, load: float, closed: bool) -> None:
    """With 2 % of noise between bursts: 95 % intervals cover in at least 92 % of 400 trials, and not in all."""
    rng = np.random.default_rng(11)
    true = [400.0 * (1.0 + 0.1 * number) for number in range(machines + 1)]
    truth = response(predict(_measured(true, [0.0] * len(true), load, closed))).value
    covered = 0
    for _ in range(400):
        found = response(predict(_probed(true, rng, load, closed)))
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= truth <= found.high
    assert 0.92 <= covered / 400 < 1.0


def _probed(true: list[float], rng: np.random.Generator, load: float, closed: bool) -> ServiceModel:
    """The model with machines whose rates are detected from simulated bursts of work."""
    numbers = []
    for number, rate in enumerate(true):
        bursts = rate * rng.normal(1.0, 0.02, 6)
        raw = {f"work_cpu_ns/{n}": 1e9 / burst * rng.normal(1.0, 0.01, 50) for n, burst in enumerate(bursts)}
        (found,) = work_rate({"units": np.array([1000.0]), "others": np.zeros(1), **raw})
        assert found.value is not None
        assert found.interval is not None
        numbers.append(MeasuredNumber(str(number), found.value, *found.interval))
    return _of(numbers, load, closed)


def _measured(true: list[float], halves: list[float], load: float, closed: bool) -> ServiceModel:
    numbers = [
        MeasuredNumber(str(n), rate, rate - half, rate + half)
        for n, (rate, half) in enumerate(zip(true, halves, strict=True))
    ]
    return _of(numbers, load, closed)


def _of(numbers: list[MeasuredNumber], load: float, closed: bool) -> ServiceModel:
    reference, *others = numbers
    return service(*(machine(each, reference) for each in others), load=load, closed=closed)
