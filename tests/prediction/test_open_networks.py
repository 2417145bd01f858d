"""Open networks against published values and against formulas written another way."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from hati.prediction import (
    EXPONENTIAL,
    Component,
    Demand,
    Law,
    LawKind,
    OpenWorkload,
    PredictedValue,
    PredictionMethod,
    Resource,
    Scheduling,
    ServiceModel,
    ServicePrediction,
    erlang_c,
    predict,
    response_quantile,
    slowdown,
)

rates = st.floats(0.01, 0.95)


def one_queue(resource: Resource, mean: float, rate: float, law: Law = EXPONENTIAL) -> ServiceModel:
    return ServiceModel(
        (resource,),
        (Component("job", (Demand(resource.name, mean, law),)),),
        (OpenWorkload("w", rate, (("job", 1.0),)),),
    )


def response(prediction: ServicePrediction) -> float:
    return prediction.requests[0].response.value


@pytest.mark.parametrize(
    ("cores", "load", "waits"),
    [
        (1, 0.5, 0.5),
        (2, 1.0, 1 / 3),  # 2 a^2 / (a + 2) / 2 at a = 1
        (5, 4.0, 0.5541),  # tables of Erlang C
        (10, 8.0, 0.4092),
        (3, 2.0, 4 / 9),  # Gross and Harris 1998, example 2.4 of the clinic with 3 doctors
    ],
)
def test_erlang_c_is_that_of_published_tables(cores: int, load: float, waits: float) -> None:
    assert erlang_c(cores, load) == pytest.approx(waits, abs=6e-5)


@pytest.mark.parametrize(("cores", "load"), [(1.5, 0.02), (1.5, 0.9), (1.5, 1.4), (2.7, 2.0), (7.25, 6.5)])
def test_a_fraction_of_a_core_slows_requests_that_are_there_together(cores: float, load: float) -> None:
    """The stationary distribution of a birth and death process whose death rate is min(n, cores)."""
    numbers = np.arange(4000)
    logs = np.concatenate(([0.0], np.cumsum(np.log(load / np.minimum(numbers[1:], cores)))))
    weights = np.exp(logs - logs.max())
    assert slowdown(cores, load) == pytest.approx(float(numbers @ weights / weights.sum()) / load, rel=1e-9)


def test_near_a_whole_number_of_cores_a_fraction_changes_little() -> None:
    assert slowdown(2.0 + 1e-9, 1.2) == pytest.approx(slowdown(2.0, 1.2), rel=1e-6)
    assert slowdown(2.0 - 1e-9, 1.2) == pytest.approx(slowdown(2.0, 1.2), rel=1e-6)


def test_erlang_c_is_the_sum_over_the_states() -> None:
    cores, load = 7, 5.5
    states = [load**k / math.factorial(k) for k in range(cores)]
    above = load**cores / math.factorial(cores) * cores / (cores - load)
    assert erlang_c(cores, load) == pytest.approx(above / (sum(states) + above), rel=1e-12)


def test_very_many_cores_neither_overflow_nor_wait() -> None:
    assert erlang_c(10_000, 5_000.0) == pytest.approx(0.0, abs=1e-12)


@given(st.integers(1, 64), rates, st.floats(0.01, 0.04))
def test_more_load_and_fewer_cores_are_slower(cores: int, part: float, more: float) -> None:
    load = part * cores
    assert 1.0 <= slowdown(cores, load) <= slowdown(cores, load + more * cores)
    assert slowdown(cores + 1, load) <= slowdown(cores, load)


def test_quantiles_are_those_of_the_density() -> None:
    cores, load, mean = 3, 2.4, 0.5
    waits, spare = erlang_c(cores, load), cores - load

    def density(time: float) -> float:
        return (1 - waits) * math.exp(-time) + waits * spare / (1 - spare) * (math.exp(-spare * time) - math.exp(-time))

    for probability in (0.5, 0.95, 0.99):
        found = response_quantile(probability, cores, load, mean) / mean
        assert integrate.quad(density, 0, found)[0] == pytest.approx(probability, abs=1e-7)


def test_one_exponential_core_has_exponential_responses() -> None:
    prediction = predict(one_queue(Resource("cpu", Scheduling.FCFS), 0.5, 1.0))
    assert response(prediction) == pytest.approx(1.0)
    quantiles = {p: found.value for p, found in prediction.requests[0].quantiles}
    assert quantiles[0.95] == pytest.approx(-math.log(0.05))
    assert quantiles[0.5] == pytest.approx(math.log(2.0))


def test_quantiles_are_found_where_two_rates_are_equal() -> None:
    near = response_quantile(0.9, 2, 1.0 - 1e-6, 1.0)
    assert response_quantile(0.9, 2, 1.0, 1.0) == pytest.approx(near, rel=1e-5)


def test_processor_sharing_is_insensitive_to_the_law() -> None:
    constant = one_queue(Resource("cpu", cores=2), 1.0, 1.2, Law(LawKind.CONSTANT, 0.0))
    heavy = one_queue(Resource("cpu", cores=2), 1.0, 1.2, Law(LawKind.LOGNORMAL, 3.0))
    assert response(predict(constant)) == response(predict(heavy)) == pytest.approx(1.0 / (1.0 - 0.36))


def test_constant_service_halves_the_wait() -> None:
    """Pollaczek and Khinchine: M/D/1 waits half of M/M/1."""
    exact = predict(one_queue(Resource("cpu", Scheduling.FCFS), 1.0, 0.8, Law(LawKind.CONSTANT, 0.0)))
    assert response(exact) == pytest.approx(1.0 + 0.5 * 0.8 / 0.2)
    assert "Pollaczek" in exact.resources[0].formula


def test_routing_is_that_of_jackson() -> None:
    """Two M/M/1 with feedback of one half from the second to the first; by hand, each has twice the arrivals."""
    model = ServiceModel(
        (Resource("a", Scheduling.FCFS), Resource("b", Scheduling.FCFS)),
        (
            Component("first", (Demand("a", 0.1),), (("second", 1.0),)),
            Component("second", (Demand("b", 0.2),), (("first", 0.5),)),
        ),
        (OpenWorkload("w", 2.0, (("first", 1.0),)),),
    )
    found = predict(model)
    assert response(found) == pytest.approx(2 * (0.1 / (1 - 0.4) + 0.2 / (1 - 0.8)))
    assert [each.throughput.value for each in found.components] == pytest.approx([4.0, 4.0])


def test_a_delay_has_no_queue() -> None:
    found = predict(one_queue(Resource("network", Scheduling.DELAY), 3.0, 10.0))
    assert response(found) == 3.0
    assert found.resources[0].number == PredictedValue(30.0)


def test_speed_and_overhead_scale_demands() -> None:
    found = predict(one_queue(Resource("vm", cores=2, speed=2.0, overhead=0.067), 1.0, 1.0))
    assert found.resources[0].utilisation.value == pytest.approx(1.067 / 2.0 / 2.0)


@pytest.mark.parametrize("rate", [2.0, 2.5])
def test_an_overload_is_stated(rate: float) -> None:
    found = predict(one_queue(Resource("cpu", cores=2), 1.0, rate))
    assert found.method is PredictionMethod.NONE
    assert found.overloads[0].busy == rate
    assert not found.requests


@st.composite
def networks(draw: st.DrawFn) -> ServiceModel:
    """Open networks of processor sharing, fed forward, at a load below 1."""
    cores = draw(st.lists(st.integers(1, 8), min_size=1, max_size=4))
    resources = tuple(Resource(f"r{n}", cores=number) for n, number in enumerate(cores))
    count = draw(st.integers(1, 4))
    components = []
    for n in range(count):
        demands = tuple(Demand(each.name, draw(st.floats(0.001, 1.0))) for each in resources if draw(st.booleans()))
        following = ((f"c{n + 1}", draw(st.floats(0.0, 1.0))),) if n + 1 < count else ()
        components.append(Component(f"c{n}", demands or (Demand("r0", 0.1),), following))
    work = sum(demand.mean for component in components for demand in component.demands)
    return ServiceModel(
        resources, tuple(components), (OpenWorkload("w", draw(st.floats(0.1, 0.9)) / work, (("c0", 1.0),)),)
    )


@given(networks())
def test_little_and_the_utilisation_law_hold(model: ServiceModel) -> None:
    found = predict(model)
    workload = model.workloads[0]
    assert isinstance(workload, OpenWorkload)
    inside = sum(each.number.value for each in found.resources)
    assert inside == pytest.approx(workload.rate * response(found))
    visits = {each.name: each.throughput.value for each in found.components}
    busy = np.zeros(len(model.resources))
    for component in model.components:
        for demand in component.demands:
            busy[[each.name for each in model.resources].index(demand.resource)] += visits[component.name] * demand.mean
    cores = [each.cores for each in model.resources]
    assert [each.utilisation.value for each in found.resources] == pytest.approx(list(busy / cores))


@given(networks(), st.floats(1.0, 1.1))
def test_responses_grow_with_the_rate(model: ServiceModel, factor: float) -> None:
    workload = model.workloads[0]
    assert isinstance(workload, OpenWorkload)
    more = ServiceModel(model.resources, model.components, (OpenWorkload("w", workload.rate * factor, workload.mix),))
    assert response(predict(model)) <= response(predict(more)) * (1 + 1e-12)
