"""The choice of a method for a model, and its prediction."""

from __future__ import annotations

import numpy as np

from hati.core import InputError
from hati.prediction.closed_form import MOST_STATES, closed_solution, from_solution, obstacles, open_solution, states
from hati.prediction.flows import Flows
from hati.prediction.model import ClosedWorkload, ServiceModel
from hati.prediction.prediction import Overload, PredictionMethod, ServicePrediction
from hati.prediction.simulation import Replications, simulate


def predict(
    model: ServiceModel, generator: np.random.Generator | None = None, replications: Replications | None = None
) -> ServicePrediction:
    """The prediction of a model: by an exact closed form if there is one, else by simulation.

    An overloaded model has no predicted values. Without a ``generator`` nothing is simulated.

    Raises:
        InputError: if no method is available.
    """
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
