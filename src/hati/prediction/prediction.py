"""Predictions for requests, components and resources, and the method that gave them."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from hati.prediction.model import ServiceModel

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
    cores: int


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
