"""Closed networks against formulas and recursions written another way."""

import math

import pytest

from hati.prediction import ClosedWorkload, Component, Demand, Resource, Scheduling, ServiceModel, predict


def closed(cores: int, population: int, think: float, *demands: float) -> ServiceModel:
    resources = tuple(Resource(f"r{n}", Scheduling.FCFS, cores) for n in range(len(demands)))
    visits = tuple(Demand(f"r{n}", demand) for n, demand in enumerate(demands) if demand)
    return ServiceModel(
        resources, (Component("job", visits),), (ClosedWorkload("w", population, think, (("job", 1.0),)),)
    )


@pytest.mark.parametrize("cores", [1, 3])
def test_the_machine_repairman(cores: int) -> None:
    """M/M/c//N by its states."""
    users, think, mean = 12, 4.0, 1.0
    states = [1.0]
    for n in range(1, users + 1):
        states.append(states[-1] * (users - n + 1) / think * mean / min(n, cores))
    throughput = sum(p * min(n, cores) for n, p in enumerate(states)) / sum(states) / mean
    found = predict(closed(cores, users, think, mean)).requests[0]
    assert found.throughput.value == pytest.approx(throughput, rel=1e-10)
    assert found.response.value == pytest.approx(users / throughput - think, rel=1e-9)


def test_mean_value_analysis() -> None:
    """Reiser and Lavenberg 1980, single cores."""
    demands, users, think = (0.5, 0.2, 0.31), 40, 2.0
    queues = [0.0] * 3
    for n in range(1, users + 1):
        times = [d * (1 + q) for d, q in zip(demands, queues, strict=True)]
        rate = n / (think + sum(times))
        queues = [rate * t for t in times]
    found = predict(closed(1, users, think, *demands))
    assert found.requests[0].throughput.value == pytest.approx(rate, rel=1e-10)
    assert [each.number.value for each in found.resources] == pytest.approx(queues, rel=1e-9)
    assert math.isclose(found.resources[0].utilisation.value, rate * 0.5)


def test_two_workloads_of_one_kind_are_one() -> None:
    base = closed(2, 8, 1.0, 0.4, 0.3)
    mix = (("job", 1.0),)
    parts = (ClosedWorkload("a", 3, 1.0, mix), ClosedWorkload("b", 5, 1.0, mix))
    split = predict(ServiceModel(base.resources, base.components, parts))
    whole = predict(base).requests[0]
    assert [each.response.value for each in split.requests] == pytest.approx([whole.response.value] * 2, rel=1e-9)
    assert sum(each.throughput.value for each in split.requests) == pytest.approx(whole.throughput.value)
