"""The simulation against closed forms. Seeds are fixed; the stated tolerances are those of the seeds' intervals."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from hati.core import InputError
from hati.prediction import (
    EXPONENTIAL,
    ClosedWorkload,
    Component,
    Demand,
    Law,
    LawKind,
    OpenWorkload,
    PredictedValue,
    Replications,
    Resource,
    Scheduling,
    ServiceModel,
    predict,
    simulate,
    simulation,
)

FCFS, PS = Scheduling.FCFS, Scheduling.PS
LOGNORMAL = Law(LawKind.LOGNORMAL, 1.5)


def queue(
    policy: Scheduling, cores: int, law: Law = EXPONENTIAL, load: float = 0.5, usable: float | None = None
) -> ServiceModel:
    """A queue of which that part is busy."""
    return ServiceModel(
        (Resource("cpu", policy, cores, usable=usable),),
        (Component("job", (Demand("cpu", 1.0, law),)),),
        (OpenWorkload("w", load * (usable or cores), (("job", 1.0),)),),
    )


def routed() -> ServiceModel:
    """Two processors with feedback, and a delay."""
    return ServiceModel(
        (Resource("a", FCFS), Resource("b", PS, 2), Resource("net", Scheduling.DELAY)),
        (
            Component("first", (Demand("a", 0.2), Demand("net", 0.5)), (("second", 0.8),)),
            Component("second", (Demand("b", 0.4),), (("first", 0.5),)),
        ),
        (OpenWorkload("w", 1.0, (("first", 0.7), ("second", 0.3))),),
    )


def closed(usable: float | None = None) -> ServiceModel:
    return ServiceModel(
        (Resource("a", FCFS), Resource("b", PS, 2, usable=usable)),
        (Component("job", (Demand("a", 0.3), Demand("b", 0.7))),),
        (ClosedWorkload("w", 8, 1.5, (("job", 1.0),)),),
    )


MODELS = {
    "M/M/1": queue(FCFS, 1),
    "M/M/3": queue(FCFS, 3),
    "M/G/1": queue(FCFS, 1, LOGNORMAL),
    "M/G/2-PS": queue(PS, 2, LOGNORMAL),
    "M/D/1-PS": queue(PS, 1, Law(LawKind.CONSTANT, 0.0)),
    "open network": routed(),
    "closed network": closed(),
    "M/G/1.5-PS": queue(PS, 2, LOGNORMAL, usable=1.5),
    "M/M/1.5": queue(FCFS, 2, usable=1.5),
    "closed network with a quota": closed(1.5),
}


def pairs(model: ServiceModel, seed: int, replications: Replications) -> list[tuple[float, PredictedValue]]:
    """Exact values and those of a simulation."""
    exact, found = predict(model), simulate(model, np.random.default_rng(seed), replications, "a test")
    values = [(x.response, y.response) for x, y in zip(exact.requests, found.requests, strict=True)]
    values += [(x.throughput, y.throughput) for x, y in zip(exact.requests, found.requests, strict=True)]
    values += [(x.utilisation, y.utilisation) for x, y in zip(exact.resources, found.resources, strict=True)]
    values += [(x.number, y.number) for x, y in zip(exact.resources, found.resources, strict=True)]
    values += [(x.response, y.response) for x, y in zip(exact.components, found.components, strict=True)]
    return [(x.value, y) for x, y in values]


@pytest.mark.parametrize("name", MODELS)
def test_values_are_within_25_percent_and_twice_their_interval(name: str) -> None:
    """Twice the half-width is 4.5 standard errors of ten replications: 1 in 700 for each value by Student's t."""
    for exact, found in pairs(MODELS[name], 7, Replications(10, 300)):
        assert found.low is not None
        assert abs(found.value - exact) <= 2.0 * (found.value - found.low)
        assert found.value == pytest.approx(exact, rel=0.25)


@pytest.mark.acceptance
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "requests"), [("M/M/1", 400), ("M/G/2-PS", 400), ("closed network", 400), ("M/M/1, 90 % busy", 1_400)]
)
def test_intervals_cover_the_exact_response(name: str, requests: int) -> None:
    """95 % intervals of 40 seeds: 33 or fewer would be covered with a probability below .005."""
    covered = 0
    model = MODELS.get(name, queue(FCFS, 1, load=0.9))
    for seed in range(40):
        exact, found = pairs(model, seed, Replications(5, requests))[0]
        covered += (found.low or 0.0) <= exact <= (found.high or 0.0)
    assert covered >= 34


@pytest.mark.parametrize(
    ("cores", "load", "needed"), [(1, 0.5, ""), (1, 0.9, ""), (2, 0.95, "6000"), (1, 0.97, "17000")]
)
def test_near_saturation_the_requests_that_are_needed_are_named(cores: int, load: float, needed: str) -> None:
    """The default is 2,000: a warm-up of 500. M/M/1 needs 341 at a load of .9, and 1,481 at .95."""
    reason = simulate(queue(FCFS, cores, load=load), np.random.default_rng(1), Replications(2), "a test").reason
    assert reason.partition("--requests ")[2] == needed
    assert ("'cpu' is" in reason) == bool(needed)


def test_quantiles_are_those_of_the_closed_form() -> None:
    exact = dict(predict(queue(FCFS, 3)).requests[0].quantiles)
    found = simulate(queue(FCFS, 3), np.random.default_rng(3), Replications(10, 500), "a test").requests[0].quantiles
    for probability, value in found:
        assert value.value == pytest.approx(exact[probability].value, rel=0.1)


def test_a_seed_gives_the_same_values() -> None:
    first, again = (pairs(routed(), 11, Replications(2, 50)) for _ in range(2))
    assert first == again


def test_the_type_with_too_few_requests_is_named_with_a_number_that_is_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first type has 8 in one replication and 60 in the others, the second 15 in each: the rarest on average."""
    model = ServiceModel(
        (Resource("cpu", FCFS),),
        tuple(Component(name, (Demand("cpu", 0.1),)) for name in ("uneven", "even")),
        (OpenWorkload("w", 1.0, (("uneven", 0.5), ("even", 0.5))),),
    )
    uneven = iter([8, *[60] * 9])
    monkeypatch.setattr(
        simulation._Replication,
        "counted",
        lambda *_: SimpleNamespace(responses=(np.ones(next(uneven)), np.ones(15))),
    )
    with pytest.raises(InputError, match="'uneven'") as caught:
        simulate(model, np.random.default_rng(1), Replications(10, 2_000), "a test")
    assert caught.value.fix == "simulate more than 2,000 requests, such as by --requests 4000"
