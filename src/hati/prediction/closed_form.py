"""Open and closed queueing networks in closed form: predictions of models, and why others have no closed form."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.prediction.model import (
    ClosedWorkload,
    Component,
    Demand,
    FloatArray,
    Flows,
    LawKind,
    OpenWorkload,
    Resource,
    Scheduling,
    ServiceModel,
)
from hati.prediction.prediction import (
    QUANTILES,
    ComponentPrediction,
    PredictedValue,
    PredictionMethod,
    RequestPrediction,
    ResourcePrediction,
    ServicePrediction,
)
from hati.stats.distributions import halved

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
        return f"M/G/{resource.capacity:.3g}-PS"
    if resource.usable is not None:
        return f"M/M/{resource.capacity:.3g}"
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
            PredictedValue(float(busy[position] / (1 if resource.policy is Scheduling.DELAY else resource.capacity))),
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
    known = resource.policy is Scheduling.FCFS and resource.usable is None
    if not known or not is_exponential(flows.stays(column)):
        return ()
    mean = resource.service(component.demands[0].mean)
    return tuple((p, PredictedValue(response_quantile(p, resource.cores, load, mean))) for p in QUANTILES)


def erlang_c(cores: int, load: float) -> float:
    """The probability that all cores are busy, in M/M/c: Erlang's second formula.

    ``load`` is the mean number of busy cores, below ``cores``. By the recurrence of Erlang's first formula, which
    stays between 0 and 1: B(k) = load B(k-1) / (k + load B(k-1)).

    >>> erlang_c(1, 0.7)
    0.7
    """
    blocked = _erlang_b(cores, load)
    return blocked / (1.0 - load / cores * (1.0 - blocked))


def _erlang_b(cores: int, load: float) -> float:
    blocked = 1.0
    for k in range(1, cores + 1):
        blocked = load * blocked / (k + load * blocked)
    return blocked


def slowdown(cores: float, load: float) -> float:
    """The mean response time divided by the mean service time, in M/M/c and in M/G/c with processor sharing.

    The same formula serves both: a processor-sharing station is insensitive to the law of its service times (Baskett,
    Chandy, Muntz and Palacios 1975; Kelly 1979, section 3.3). A delay, with infinitely many cores, has 1. With a
    fraction of a core, n requests together are served at the rate min(n, cores): beyond the whole cores the number of
    requests is geometric.
    """
    if math.isinf(cores):
        return 1.0
    whole, busy = int(cores), load / cores
    if whole == cores:
        return 1.0 + erlang_c(whole, load) / (cores - load)
    blocked, idle = _erlang_b(whole, load), 1.0 - busy
    beyond = blocked * (whole / idle + 1.0 / idle**2) / cores
    return (1.0 - blocked + beyond) / (1.0 + blocked * busy / idle)


def waiting_time(rate: float, mean: float, second_moment: float) -> float:
    """The mean waiting time in M/G/1 with first come, first served, by Pollaczek and Khinchine.

    ``rate`` is that of all arrivals; the moments are those of service times over all of them.
    """
    return rate * second_moment / (2.0 * (1.0 - rate * mean))


def response_quantile(probability: float, cores: int, load: float, mean: float) -> float:
    """A quantile of the response time in M/M/c with first come, first served; ``mean`` is that of the service time.

    Waiting is 0 with probability 1 - C, else exponential with the rate (c - load) / mean (Gross and Harris 1998,
    section 2.3); service is exponential and independent of it.
    """
    waits, spare = erlang_c(cores, load), cores - load

    def survival(time: float) -> float:
        """P(response > time), ``time`` in means of the service time."""
        alone = math.exp(-time)
        if abs(spare - 1.0) < 1e-9:
            return alone * (1.0 + waits * time)
        return alone + waits * (alone - math.exp(-spare * time)) / (spare - 1.0)

    longest = -math.log1p(-probability) * 2.0 * (1.0 + 1.0 / spare) + 1.0
    while survival(longest) > 1.0 - probability:
        longest *= 2.0
    low, high = halved(0.0, longest, lambda time: survival(time) <= 1.0 - probability)
    return mean * (low + high) / 2.0


MOST_STATES = 4_096
"""The largest product of (population + 1) over the workloads that is solved exactly."""


def states(flows: Flows) -> int:
    """The number of ways in which users of each workload can be absent."""
    found = [each.population + 1 for each in flows.model.workloads if isinstance(each, ClosedWorkload)]
    return int(np.prod([float(each) for each in found]))


def closed_solution(flows: Flows) -> Solution:
    """The solution of a model without obstacles and with closed workloads only.

    Sums over states have positive terms only, and are added as logarithms: nothing cancels, as it would in mean value
    analysis with several cores.
    """
    workloads = [each for each in flows.model.workloads if isinstance(each, ClosedWorkload)]
    owner = [workloads.index(each.workload) for each in flows.types if isinstance(each.workload, ClosedWorkload)]
    parts = np.array([each.part for each in flows.types])
    demands = np.zeros((len(workloads), len(flows.model.resources)))
    np.add.at(demands, owner, parts[:, None] * flows.demands)
    counts = np.indices([each.population + 1 for each in workloads])
    think = _station(counts, np.array([each.think for each in workloads]), np.inf)
    stations = [_station(counts, demands[:, n], cores) for n, cores in enumerate(flows.cores)]
    whole = reduce(_convolved, stations, think)
    last = whole.flat[-1]
    before = [tuple(np.array(whole.shape) - 1 - np.eye(len(workloads), dtype=int)[r]) for r in range(len(workloads))]
    rates = np.array([np.exp(whole[place] - last) for place in before])
    stretch = np.ones_like(flows.demands)
    for n, station in enumerate(stations):
        others = reduce(_convolved, [each for m, each in enumerate(stations) if m != n], think)
        weights = np.exp(station + np.flip(others) - last)
        for t, r in enumerate(owner):
            if demands[r, n] > 0.0:
                stretch[t, n] = (counts[r] * weights).sum() / (rates[r] * demands[r, n])
    formulas = tuple(f"{formula_of(each)}, closed" for each in flows.model.resources)
    return Solution(rates[owner] * parts, stretch, np.zeros(len(stations)), formulas)


def _station(counts: NDArray[np.int_], demands: FloatArray, cores: float) -> FloatArray:
    """The logarithm of the weight of each state of a station; -inf for impossible states."""
    largest = int(counts.sum(axis=0).max())
    numbers = np.arange(1.0, largest + 1.0)
    factorials = np.concatenate(([0.0], np.cumsum(np.log(numbers))))
    speeds = np.concatenate(([0.0], np.cumsum(np.log(np.minimum(numbers, cores)))))
    total = counts.sum(axis=0)
    weights = factorials[total] - speeds[total]
    for count, demand in zip(counts, demands, strict=True):
        power = count * np.log(demand) if demand > 0.0 else np.where(count > 0, -np.inf, 0.0)
        weights = weights - factorials[count] + power
    return np.asarray(weights)


def _convolved(first: FloatArray, second: FloatArray) -> FloatArray:
    found = np.full(first.shape, -np.inf)
    for place in np.ndindex(first.shape):
        if first[place] > -np.inf:
            into = tuple(slice(at, None) for at in place)
            rest = tuple(slice(None, size - at) for at, size in zip(place, first.shape, strict=True))
            found[into] = np.logaddexp(found[into], first[place] + second[rest])
    return found
