"""Predictions for requests, components and resources, and the intervals that measured machines give them.


Each measured number is set to both ends of its interval, and the deviations of a prediction are squared and added,
with those of a simulation. For a single number the interval is exact where the prediction is monotone in it, however
close to saturation; for several it is the method of variance estimates recovery (Zou and Donner 2008, Statistics in
Medicine 27, 1693-1702).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from hati.prediction.model import MeasuredNumber, Resource, ServiceModel

QUANTILES = (0.5, 0.9, 0.95, 0.99)
"""The predicted quantiles of response times."""


class PredictionMethod(StrEnum):
    """The method of a prediction."""

    CLOSED_FORM = "closed form"
    SIMULATION = "simulation"
    NONE = "none: overloaded"


class PredictedValue(Struct, frozen=True):
    """A predicted value; ``low`` and ``high`` are the ends of its interval, None if it is exact.

    ``high`` is infinite where an end of a measured speed's interval overloads a resource.
    """

    value: float
    low: float | None = None
    high: float | None = None


class RequestPrediction(Struct, frozen=True):
    """Requests of a workload that enter at a component: throughput in 1/s, response time in s.

    ``quantiles`` has response times by their probabilities, if the method gives them.
    """

    workload: str
    component: str
    throughput: PredictedValue
    response: PredictedValue
    quantiles: tuple[tuple[float, PredictedValue], ...] = ()


class ComponentPrediction(Struct, frozen=True):
    """A component: its visits in 1/s, and the time of a visit in s, without the components that follow."""

    name: str
    throughput: PredictedValue
    response: PredictedValue


class ResourcePrediction(Struct, frozen=True):
    """A resource: visits in 1/s, the busy fraction of its cores, and the mean number of requests there.

    For a delay ``utilisation`` and ``number`` are both the mean number of requests there. ``formula`` names the formula
    of these values.
    """

    name: str
    throughput: PredictedValue
    utilisation: PredictedValue
    number: PredictedValue
    formula: str


class Overload(Struct, frozen=True):
    """A resource with too few ``cores``: open workloads would keep ``busy`` of them busy."""

    resource: str
    busy: float
    cores: float


class ServicePrediction(Struct, frozen=True):
    """The prediction of a model; without values if resources are overloaded.

    ``reason`` says why the method was chosen; ``replications`` and ``confidence`` are those of a simulation.
    """

    model: ServiceModel
    method: PredictionMethod
    reason: str
    requests: tuple[RequestPrediction, ...] = ()
    components: tuple[ComponentPrediction, ...] = ()
    resources: tuple[ResourcePrediction, ...] = ()
    overloads: tuple[Overload, ...] = ()
    replications: int | None = None
    confidence: float | None = None


Found = TypeVar("Found")


def propagated(model: ServiceModel, found: Found, answer: Callable[[ServiceModel], Found]) -> Found:
    """What was found for a model, with the intervals that the model's measured machines give to its values.

    ``answer`` finds the same for the model with a measured number at an end of its interval: values of the same
    structure, infinite where they have no limit.
    """
    ends = [tuple(map(answer, pair)) for pair in ends_of(model)]
    combined: Found = _combined(found, ends) if ends else found
    return combined


def ends_of(model: ServiceModel) -> list[tuple[ServiceModel, ServiceModel]]:
    """The model at both ends of each measured number that matters."""
    machines = [each.measured for each in model.resources if each.measured is not None]
    numbers = dict.fromkeys(number for each in machines for number in (each.cores, each.rate, each.reference))
    pairs = ((_at(model, number, number.low), _at(model, number, number.high)) for number in numbers)
    return [pair for pair in pairs if any(_rates(each) != _rates(model) for each in pair)]


def _at(model: ServiceModel, number: MeasuredNumber, value: float) -> ServiceModel:
    return msgspec.structs.replace(model, resources=tuple(each.given(number, value) for each in model.resources))


def _rates(model: ServiceModel) -> list[tuple[float, float]]:
    return [(each.speed, each.capacity) for each in model.resources]


def _combined(found: Any, ends: Sequence[tuple[Any, ...]]) -> Any:
    """The structure with an interval in each predicted value."""
    if isinstance(found, PredictedValue):
        return _with_interval(found, ends)
    if isinstance(found, tuple):
        parts = zip(*(zip(*pair, strict=True) for pair in ends), strict=True)
        return tuple(_combined(each, part) for each, part in zip(found, parts, strict=True))
    if isinstance(found, Struct) and not isinstance(found, ServiceModel | Resource):
        own = {
            name: _combined(getattr(found, name), [tuple(getattr(each, name) for each in pair) for pair in ends])
            for name in found.__struct_fields__
        }
        return msgspec.structs.replace(found, **own)
    return found


def _with_interval(found: PredictedValue, ends: Sequence[tuple[PredictedValue, ...]]) -> PredictedValue:
    changes = [[each.value - found.value for each in pair] for pair in ends]
    down = math.hypot(
        *(min(0.0, *pair) for pair in changes), found.value - (found.value if found.low is None else found.low)
    )
    up = math.hypot(
        *(max(0.0, *pair) for pair in changes), (found.value if found.high is None else found.high) - found.value
    )
    if down == up == 0.0:
        return found
    return PredictedValue(found.value, max(0.0, found.value - down), found.value + up)
