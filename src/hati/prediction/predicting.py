"""The choice of a method for a model; its predictions, also over a range of a workload's rate or population."""

from __future__ import annotations

import copy
import math
from enum import StrEnum

import msgspec
import numpy as np
from msgspec import Struct

from hati.core import InputError, replace
from hati.prediction.closed_form import MOST_STATES, closed_solution, from_solution, obstacles, open_solution, states
from hati.prediction.model import ClosedWorkload, Flows, OpenWorkload, ServiceModel, Workload
from hati.prediction.prediction import (
    ComponentPrediction,
    Overload,
    PredictedValue,
    PredictionMethod,
    RequestPrediction,
    ResourcePrediction,
    ServicePrediction,
    ends_of,
    propagated,
)
from hati.prediction.simulation import CONFIDENCE, Replications, simulate


def predict(
    model: ServiceModel, generator: np.random.Generator | None = None, replications: Replications | None = None
) -> ServicePrediction:
    """The prediction of a model: by an exact closed form if there is one, else by simulation.

    An overloaded model has no predicted values. Without a ``generator`` nothing is simulated. Intervals contain the
    uncertainty of measured cores and speeds.

    Raises:
        InputError: if no method is available.
    """
    at_ends = copy.deepcopy(generator)  # the same random numbers, so that differences are those of the machines
    found = _predicted(model, generator, replications)
    if found.overloads:
        enough = any(not overloaded(Flows(each)) for pair in ends_of(model) for each in pair)
        return (
            replace(found, reason=f"{found.reason}, unless a machine is as fast as its interval allows")
            if enough
            else found
        )

    def answer(shifted: ServiceModel) -> _Values:
        other = _predicted(shifted, copy.deepcopy(at_ends), replications)
        return _values(_unlimited(shifted, found) if other.overloads else other)

    requests, components, resources = propagated(model, _values(found), answer)
    resources = tuple(
        replace(each, utilisation=_at_most_all(each.utilisation)) if math.isfinite(cores) else each
        for each, cores in zip(resources, Flows(model).cores, strict=True)
    )
    confidence = CONFIDENCE if any(each.response.high is not None for each in requests) else None
    return replace(found, requests=requests, components=components, resources=resources, confidence=confidence)


def _at_most_all(busy: PredictedValue) -> PredictedValue:
    """A utilisation whose interval does not exceed 1."""
    return busy if busy.high is None else replace(busy, high=max(busy.value, min(1.0, busy.high)))


_Values = tuple[tuple[RequestPrediction, ...], tuple[ComponentPrediction, ...], tuple[ResourcePrediction, ...]]


def _values(found: ServicePrediction) -> _Values:
    return found.requests, found.components, found.resources


def _unlimited(model: ServiceModel, found: ServicePrediction) -> ServicePrediction:
    """An overloaded model's prediction: response times and numbers without limit, throughputs as ``found``."""
    flows, without_limit = Flows(model), PredictedValue(math.inf)
    busy = np.minimum(flows.open_loads / np.where(np.isinf(flows.cores), 1.0, flows.cores), 1.0)
    return replace(
        found,
        requests=tuple(
            replace(each, response=without_limit, quantiles=tuple((p, without_limit) for p, _ in each.quantiles))
            for each in found.requests
        ),
        components=tuple(replace(each, response=without_limit) for each in found.components),
        resources=tuple(
            each if math.isinf(cores) else replace(each, utilisation=PredictedValue(float(part)), number=without_limit)
            for each, part, cores in zip(found.resources, busy, flows.cores, strict=True)
        ),
    )


def _predicted(
    model: ServiceModel, generator: np.random.Generator | None, replications: Replications | None
) -> ServicePrediction:
    flows = Flows(model)
    overloads = overloaded(flows)
    if overloads:
        reason = "open workloads ask for more than resources have: response times grow without limit"
        return ServicePrediction(model, PredictionMethod.NONE, reason, overloads=overloads)
    hindering = obstacles(model)
    closed = [isinstance(workload, ClosedWorkload) for workload in model.workloads]
    if any(closed) and not all(closed):
        hindering.append("it has closed workloads together with open ones")
    if states(flows) > MOST_STATES:
        hindering.append(f"its closed workloads have more than {MOST_STATES:,} states")
    if hindering and generator is not None:
        return simulate(model, generator, replications or Replications(), f"no exact closed form: {hindering[0]}")
    if hindering:
        raise InputError(
            f"the model cannot be answered exactly: {hindering[0]}",
            fix="use Poisson arrivals, processor sharing, or exponential demands of one mean",
        )
    if all(closed):
        return from_solution(flows, closed_solution(flows), "the model is a closed network of product form")
    return from_solution(flows, open_solution(flows), "the model is an open network of product form")


def overloaded(flows: Flows) -> tuple[Overload, ...]:
    """The resources of which open workloads need all cores or more."""
    return tuple(
        Overload(resource.name, float(busy), resource.capacity)
        for resource, busy, cores in zip(flows.model.resources, flows.open_loads, flows.cores, strict=True)
        if busy >= cores
    )


class LoadField(StrEnum):
    """The field of a workload that is its load."""

    RATE = "rate"
    POPULATION = "population"


class LoadRange(Struct, frozen=True):
    """Loads of a workload, both ends included: rates in 1/s, or populations.

    ``unit`` is the unit that people write, such as ``1/min``, and ``per_unit`` is its size in the unit of loads.
    """

    workload: str
    field: LoadField
    low: float
    high: float
    unit: str
    per_unit: float = 1.0

    def loads(self, points: int) -> tuple[float, ...]:
        """Loads at equal distances; populations are rounded, each once."""
        found = np.linspace(self.low, self.high, points)
        if self.field is LoadField.POPULATION:
            found = np.unique(np.round(found))
        return tuple(found.tolist())


class LoadPoint(Struct, frozen=True):
    """The prediction at a load."""

    load: float
    prediction: ServicePrediction


class Saturation(Struct, frozen=True):
    """The resource that saturates first, and the load at which it does; 0 if other workloads saturate it."""

    resource: str
    load: PredictedValue


class LoadCurve(Struct, frozen=True):
    """The predictions over a range of loads; ``saturation`` is None if no rate saturates a resource."""

    over: LoadRange
    points: tuple[LoadPoint, ...]
    saturation: Saturation | None


def predict_over(
    model: ServiceModel,
    over: LoadRange,
    points: int,
    generator: np.random.Generator | None = None,
    replications: Replications | None = None,
) -> LoadCurve:
    """The predictions of ``predict`` at ``points`` loads.

    Raises:
        InputError: for a workload or field that the model does not have, and if no method is available.
    """
    return LoadCurve(
        over,
        tuple(
            LoadPoint(load, predict(with_load(model, over, load), generator, replications))
            for load in over.loads(points)
        ),
        saturation(model, over),
    )


def with_load(model: ServiceModel, over: LoadRange, load: float) -> ServiceModel:
    """The model with another load of the range's workload.

    Raises:
        InputError: for a workload or field that the model does not have, and a load out of range.
    """
    if not any(each.name == over.workload and _has(each, over.field) for each in model.workloads):
        raise InputError(f"the model has no workload {over.workload!r} with a {over.field.value}")
    loaded = (_loaded(each, load) if each.name == over.workload else each for each in model.workloads)
    return msgspec.structs.replace(model, workloads=tuple(loaded))


def _has(workload: Workload, field: LoadField) -> bool:
    return isinstance(workload, OpenWorkload) == (field is LoadField.RATE)


def _loaded(workload: Workload, load: float) -> Workload:
    if isinstance(workload, ClosedWorkload):
        return msgspec.structs.replace(workload, population=round(load))
    return msgspec.structs.replace(workload, rate=load)


def saturation(model: ServiceModel, over: LoadRange) -> Saturation | None:
    """The resource that saturates first as the rate grows, by the utilisation law: rate = free cores / demand."""
    if over.field is LoadField.POPULATION:
        return None
    found = _first_saturated(model, over)
    if found is None:
        return None
    load = propagated(model, found.load, lambda each: (_first_saturated(each, over) or found).load)
    return Saturation(found.resource, load)


def _first_saturated(model: ServiceModel, over: LoadRange) -> Saturation | None:
    flows = Flows(with_load(model, over, 1.0))
    own = np.array([each.workload.name == over.workload for each in flows.types])
    asked = (flows.open_rates * own) @ flows.demands
    free = np.maximum(flows.cores - (flows.open_rates * ~own) @ flows.demands, 0.0)
    found = [
        Saturation(resource.name, PredictedValue(float(cores / busy)))
        for resource, cores, busy in zip(model.resources, free, asked, strict=True)
        if busy > 0.0 and np.isfinite(cores)
    ]
    return min(found, key=lambda each: each.load.value, default=None)
