"""Predictions: what a model says of requests, components and resources, and how it was answered."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from hati.prediction.model import ServiceModel


class PredictionMethod(StrEnum):
    """How a model was answered."""

    CLOSED_FORM = "closed form"
    SIMULATION = "simulation"
    NONE = "none: overloaded"


class PredictedValue(Struct, frozen=True):
    """A predicted value; ``low`` and ``high`` are the ends of its interval, None where it is exact."""

    value: float
    low: float | None = None
    high: float | None = None


class RequestPrediction(Struct, frozen=True):
    """Requests of a workload that enter at a component: throughput in 1/s, response time in s.

    ``quantiles`` holds response times by their probabilities where the method has them.
    """

    workload: str
    component: str
    throughput: PredictedValue
    response: PredictedValue
    quantiles: tuple[tuple[float, PredictedValue], ...] = ()


class ComponentPrediction(Struct, frozen=True):
    """A component: its visits, in 1/s, and the time that one takes, in s, without what follows it."""

    name: str
    throughput: PredictedValue
    response: PredictedValue


class ResourcePrediction(Struct, frozen=True):
    """A resource: visits in 1/s, the part of its cores that is busy, the mean number of requests there.

    ``utilisation`` and ``number`` of a delay are both the mean number of requests there. ``formula`` says what gave
    these values.
    """

    name: str
    throughput: PredictedValue
    utilisation: PredictedValue
    number: PredictedValue
    formula: str


class Overload(Struct, frozen=True):
    """A resource that open workloads ask more of than it has: ``busy`` of its ``cores``."""

    resource: str
    busy: float
    cores: int


class ServicePrediction(Struct, frozen=True):
    """What is predicted of a model; without values where resources are overloaded.

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
