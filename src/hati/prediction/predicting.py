"""The choice of a method for a model, and its prediction."""

from __future__ import annotations

import copy
import math

import numpy as np

from hati.core import InputError, replace
from hati.prediction.closed_form import MOST_STATES, closed_solution, from_solution, obstacles, open_solution, states
from hati.prediction.flows import Flows
from hati.prediction.model import ClosedWorkload, ServiceModel
from hati.prediction.prediction import (
    ComponentPrediction,
    Overload,
    PredictedValue,
    PredictionMethod,
    RequestPrediction,
    ResourcePrediction,
    ServicePrediction,
)
from hati.prediction.simulation import CONFIDENCE, Replications, simulate
from hati.prediction.uncertainty import ends_of, propagated


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
        Overload(resource.name, float(busy), resource.cores)
        for resource, busy, cores in zip(flows.model.resources, flows.open_loads, flows.cores, strict=True)
        if busy >= cores
    )
