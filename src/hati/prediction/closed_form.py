"""Models with a closed form and their predictions, and the reasons why others have none."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from hati.prediction.flows import FloatArray, Flows
from hati.prediction.model import (
    ClosedWorkload,
    Component,
    Demand,
    LawKind,
    OpenWorkload,
    Resource,
    Scheduling,
    ServiceModel,
)
from hati.prediction.open_networks import response_quantile, slowdown, waiting_time
from hati.prediction.prediction import (
    ComponentPrediction,
    PredictedValue,
    PredictionMethod,
    RequestPrediction,
    ResourcePrediction,
    ServicePrediction,
)

QUANTILES = (0.5, 0.9, 0.95, 0.99)
_ALIKE = 1e-9


class Solution(Struct, frozen=True):
    """Mean values from which all others follow.

    A request of type t stays at resource r for ``stretch[t, r]`` times its demand, plus ``waits[r]`` in each visit.
    ``throughputs`` are those of the types, in 1/s; ``formulas`` has the name of each resource's formula.
    """

    throughputs: FloatArray
    stretch: FloatArray
    waits: FloatArray
    formulas: tuple[str, ...]


def obstacles(model: ServiceModel) -> list[str]:
    """The reasons why a model has no exact closed form, a sentence each; empty if it has one."""
    found = [
        f"the arrivals of workload {workload.name!r} are not Poisson"
        for workload in model.workloads
        if isinstance(workload, OpenWorkload) and workload.arrivals.kind is not LawKind.EXPONENTIAL
    ]
    flows = Flows(model)
    for position, resource in enumerate(model.resources):
        stays = flows.stays(position)
        if (
            resource.policy is Scheduling.FCFS
            and not is_exponential(stays)
            and not _is_only_queue(model, flows, resource)
        ):
            found.append(
                f"resource {resource.name!r} serves first come, first served, and its demands are not exponential "
                "with one mean"
            )
    return found


def is_exponential(stays: list[Demand]) -> bool:
    """Whether all demands are exponential with one mean: what product form needs under first come, first served."""
    means = [demand.mean for demand in stays]
    alike = not means or max(means) - min(means) <= _ALIKE * max(means)
    return alike and all(demand.law.kind is LawKind.EXPONENTIAL for demand in stays)


def _is_only_queue(model: ServiceModel, flows: Flows, resource: Resource) -> bool:
    """Whether requests come to this single core directly from outside, and queue nowhere after it: M/G/1."""
    if resource.cores > 1 or any(isinstance(workload, ClosedWorkload) for workload in model.workloads):
        return False
    visited = flows.visits.sum(axis=0) > 0.0
    used = [each for each, seen in zip(model.components, visited, strict=True) if seen]
    targets = {name for each in used for name, part in each.following if part > 0.0}
    delays = {each.name for each in model.resources if each.policy is Scheduling.DELAY}
    queueing = {each.name for each in used if any(demand.resource not in delays for demand in each.demands)}
    for component in used:
        places = [demand.resource for demand in component.demands]
        if resource.name in places and (
            component.name in targets
            or places[0] != resource.name
            or not delays.issuperset(places[1:])
            or _reachable(used, component) & queueing
        ):
            return False
    return True


def _reachable(components: list[Component], start: Component) -> set[str]:
    found = {name for name, part in start.following if part > 0.0}
    size = -1
    while len(found) != size:
        size = len(found)
        found |= {n for each in components if each.name in found for n, part in each.following if part > 0.0}
    return found


def open_solution(flows: Flows) -> Solution:
    """The solution of a stable model without obstacles and with open workloads only."""
    loads = flows.open_loads
    stretch = np.ones_like(flows.demands)
    waits = np.zeros(len(flows.model.resources))
    formulas = []
    for position, resource in enumerate(flows.model.resources):
        stays = flows.stays(position)
        if resource.policy is Scheduling.FCFS and not is_exponential(stays):
            waits[position] = _wait(flows, position)
            formulas.append("M/G/1, Pollaczek-Khinchine")
        else:
            stretch[:, position] = slowdown(flows.cores[position], loads[position])
            formulas.append(formula_of(resource))
    return Solution(flows.open_rates, stretch, waits, tuple(formulas))


def formula_of(resource: Resource) -> str:
    """The name of a resource's queue."""
    if resource.policy is Scheduling.DELAY:
        return "M/G/∞"
    if resource.policy is Scheduling.PS:
        return f"M/G/{resource.cores}-PS"
    return f"M/M/{resource.cores}, Erlang C" if resource.cores > 1 else "M/M/1"


def _wait(flows: Flows, position: int) -> float:
    rates = flows.open_rates @ flows.visits
    resource = flows.model.resources[position]
    moments = np.zeros(3)
    for rate, component in zip(rates, flows.model.components, strict=True):
        for demand in component.demands:
            if demand.resource == resource.name:
                mean = resource.service(demand.mean)
                moments += rate * np.array([1.0, mean, mean**2 * (1.0 + demand.law.cv**2)])
    return waiting_time(moments[0], moments[1] / moments[0], moments[2] / moments[0]) if moments[0] else 0.0


def from_solution(flows: Flows, solution: Solution, reason: str) -> ServicePrediction:
    """The prediction that follows from a solution: response times and, by Little's law, numbers of requests."""
    model = flows.model
    stays = flows.visits @ flows.component_stays
    at_resources = flows.demands * solution.stretch + stays * solution.waits
    rates = solution.throughputs
    busy = rates @ flows.demands
    requests = tuple(
        RequestPrediction(
            each.workload.name,
            each.component,
            PredictedValue(float(rate)),
            PredictedValue(float(there.sum())),
            _quantiles(flows, position),
        )
        for position, (each, rate, there) in enumerate(zip(flows.types, rates, at_resources, strict=True))
    )
    resources = tuple(
        ResourcePrediction(
            resource.name,
            PredictedValue(float(rates @ stays[:, position])),
            PredictedValue(float(busy[position] / (1 if resource.policy is Scheduling.DELAY else resource.cores))),
            PredictedValue(float(rates @ at_resources[:, position])),
            solution.formulas[position],
        )
        for position, resource in enumerate(model.resources)
    )
    return ServicePrediction(
        model, PredictionMethod.CLOSED_FORM, reason, requests, _components(flows, solution), resources
    )


def _components(flows: Flows, solution: Solution) -> tuple[ComponentPrediction, ...]:
    found = []
    for position, component in enumerate(flows.model.components):
        visits = solution.throughputs * flows.visits[:, position]
        times = solution.stretch @ flows.component_demands[position]
        times = times + flows.component_stays[position] @ solution.waits
        total = float(visits.sum())
        mean = float(visits @ times) / total if total else 0.0
        found.append(ComponentPrediction(component.name, PredictedValue(total), PredictedValue(mean)))
    return tuple(found)


def _quantiles(flows: Flows, position: int) -> tuple[tuple[float, PredictedValue], ...]:
    """The quantiles for a request that visits one queue once, M/M/c with first come, first served; else empty."""
    model, entry = flows.model, flows.types[position].component
    component = next(each for each in model.components if each.name == entry)
    only_open = all(isinstance(workload, OpenWorkload) for workload in model.workloads)
    if not only_open or len(component.demands) != 1 or any(part for _, part in component.following):
        return ()
    column = next(n for n, each in enumerate(model.resources) if each.name == component.demands[0].resource)
    resource, load = model.resources[column], float(flows.open_loads[column])
    if resource.policy is not Scheduling.FCFS or not is_exponential(flows.stays(column)):
        return ()
    mean = resource.service(component.demands[0].mean)
    return tuple((p, PredictedValue(response_quantile(p, resource.cores, load, mean))) for p in QUANTILES)
