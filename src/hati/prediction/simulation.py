"""Discrete-event simulation, in SimPy, of models without a closed form: replications, with intervals over them."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from msgspec import Struct

from hati.core import InputError, NotInstalledError
from hati.prediction.model import (
    ClosedWorkload,
    Component,
    FloatArray,
    Flows,
    Law,
    LawKind,
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
from hati.stats import t_margin

if TYPE_CHECKING:
    from simpy import Environment, Event

    Process = Generator[Event, Any, None]


CONFIDENCE = 0.95
_WARM_UP = 0.25
"""The warm-up, while the network fills, as a fraction of the requests that are counted."""
_DRAWN = 512
_FEWEST = 10
"""The fewest requests of a type in each replication."""
_ENOUGH = 25.0
"""The mean number of requests of which ten replications hardly ever have one with fewer than ten."""


class Replications(Struct, frozen=True):
    """How a model is simulated: ``number`` times, each from an empty network for ``requests`` counted requests.

    Raises:
        InputError: for fewer than two replications or ten requests.
    """

    number: int = 10
    requests: int = 2_000

    def __post_init__(self) -> None:
        if self.number < 2:
            raise InputError("an interval needs two replications", fix="ask for more")
        if self.requests < _FEWEST:
            raise InputError(f"{self.requests} requests are too few", fix=f"ask for {_FEWEST} or more")


def simulate(
    model: ServiceModel, generator: np.random.Generator, replications: Replications, reason: str
) -> ServicePrediction:
    """The prediction of a stable model by replications, each value with its 95 % interval by Student's t.

    Means are ratios of counts in a replication, and their intervals are those of independent replications (Law 2015,
    Simulation Modeling and Analysis, section 9.5).

    Raises:
        NotInstalledError: without the extra ``simulation``.
        InputError: if too few requests of a type occur.
    """
    try:
        import simpy
    except ImportError as error:
        raise NotInstalledError(
            f"{reason}, which needs a simulation", fix="install SimPy: pip install 'hati[simulation]'"
        ) from error
    flows = Flows(model)
    found = [
        _Replication(flows, simpy.Environment(), own).counted(replications.requests)
        for own in generator.spawn(replications.number)
    ]
    counts = np.array([[len(times) for times in one.responses] for one in found])
    if counts.min() < _FEWEST:
        number = int(counts.min(axis=0).argmin())
        rarest, seen = flows.types[number], max(1.0, float(counts[:, number].mean()))
        enough = replications.requests * max(2.0, _ENOUGH / seen)
        raise InputError(
            f"a replication has fewer than {_FEWEST} requests to {rarest.component!r} of {rarest.workload.name!r}",
            fix=f"simulate more than {replications.requests:,} requests, such as by "
            f"--requests {math.ceil(enough / 1000.0) * 1000}",
        )
    return _prediction(flows, found, reason + _shortness(flows, replications.requests))


def _shortness(flows: Flows, requests: int) -> str:
    """That the warm-up is too short for the slowest resource, and how many requests do; empty if it is long enough.

    M/M/1 forgets its beginning in 1 / (mu (1 - sqrt(rho))^2) (Abate and Whitt 1987, Queueing Systems 2, 41-65), in
    which rho / (1 - sqrt(rho))^2 visits begin; several cores do about as soon. Closed workloads are left out.
    """
    rates, loads = flows.open_rates, flows.open_loads / flows.cores
    visits = rates @ flows.visits @ flows.component_stays
    needed = loads / (1.0 - np.sqrt(loads)) ** 2 * rates.sum() / np.where(visits > 0.0, visits, np.inf)
    slowest = int(np.argmax(needed))
    if needed[slowest] <= _WARM_UP * requests:
        return ""
    name, enough = flows.model.resources[slowest].name, math.ceil(needed[slowest] / _WARM_UP / 1000.0) * 1000
    return (
        f"; resource {name!r} is {loads[slowest]:.1%} busy, for which {requests:,} requests are too few: "
        f"use --requests {enough}"
    )


class _Counts(Struct, frozen=True, eq=False):
    """Counts in a window: response times of each type; visits and times of components and resources.

    ``served`` is the service time given at each resource.
    """

    window: float
    responses: tuple[FloatArray, ...]
    component_visits: FloatArray
    component_times: FloatArray
    visits: FloatArray
    times: FloatArray
    served: FloatArray


def _prediction(flows: Flows, found: Sequence[_Counts], reason: str) -> ServicePrediction:
    model = flows.model
    cores = np.where(np.isinf(flows.cores), 1.0, flows.cores)
    requests = tuple(
        RequestPrediction(
            each.workload.name,
            each.component,
            _over([len(one.responses[position]) / one.window for one in found]),
            _over([float(one.responses[position].mean()) for one in found]),
            tuple((p, _over([float(np.quantile(one.responses[position], p)) for one in found])) for p in QUANTILES),
        )
        for position, each in enumerate(flows.types)
    )
    components = tuple(
        ComponentPrediction(
            each.name,
            _over([one.component_visits[position] / one.window for one in found]),
            _over([one.component_times[position] / max(1.0, one.component_visits[position]) for one in found]),
        )
        for position, each in enumerate(model.components)
    )
    resources = tuple(
        ResourcePrediction(
            each.name,
            _over([one.visits[position] / one.window for one in found]),
            _over([one.served[position] / one.window / cores[position] for one in found]),
            _over([one.times[position] / one.window for one in found]),
            f"simulation, {each.policy.value}",
        )
        for position, each in enumerate(model.resources)
    )
    return ServicePrediction(
        model,
        PredictionMethod.SIMULATION,
        reason,
        requests,
        components,
        resources,
        replications=len(found),
        confidence=CONFIDENCE,
    )


def _over(values: Sequence[float]) -> PredictedValue:
    """The mean of independent replications, with Student's interval, cut off at 0."""
    mean = float(np.mean(values))
    margin = t_margin(CONFIDENCE, len(values) - 1) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return PredictedValue(mean, max(0.0, mean - margin), mean + margin)


class _Draws:
    """Random times of a law and uniform numbers, drawn in blocks; each use has its own block."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self._blocks: dict[object, Iterator[float]] = {}

    def time(self, use: object, law: Law, mean: float) -> float:
        """A time of a law with that mean."""
        return mean * self._next(use, law)

    def uniform(self, use: object) -> float:
        """A number from 0 to 1."""
        return self._next(use, None)

    def _next(self, use: object, law: Law | None) -> float:
        while True:
            for value in self._blocks.get(use, iter(())):
                return value
            self._blocks[use] = iter(_block(self._generator, law).tolist())


def _block(generator: np.random.Generator, law: Law | None) -> FloatArray:
    if law is None:
        return generator.random(_DRAWN)
    if law.kind is LawKind.CONSTANT:
        return np.ones(_DRAWN)
    if law.kind is LawKind.GAMMA:
        shape = law.cv**-2
        return generator.gamma(shape, 1.0 / shape, _DRAWN)
    if law.kind is LawKind.LOGNORMAL:
        variance = math.log1p(law.cv**2)
        return generator.lognormal(-variance / 2.0, math.sqrt(variance), _DRAWN)
    return generator.exponential(1.0, _DRAWN)


class _Replication:
    """A run of a model from an empty network; everything is counted after the warm-up."""

    def __init__(self, flows: Flows, environment: Environment, generator: np.random.Generator) -> None:
        model = flows.model
        self._flows, self._environment, self._draws = flows, environment, _Draws(generator)
        self._components = {each.name: (position, each) for position, each in enumerate(model.components)}
        self._stations: list[Station] = [station_of(each, environment) for each in model.resources]
        self._columns = {each.name: position for position, each in enumerate(model.resources)}
        self._responses: list[list[float]] = [[] for _ in flows.types]
        self._of_components = np.zeros((2, len(model.components)))
        self._of_resources = np.zeros((3, len(model.resources)))
        self._left, self._reached = 0, environment.event()

    def counted(self, requests: int) -> _Counts:
        """The counts over that many requests, after a warm-up of a quarter as many."""
        self._start()
        self._until(max(_FEWEST, round(_WARM_UP * requests)))
        for counts in (self._of_components, self._of_resources):
            counts[:] = 0.0
        self._responses = [[] for _ in self._flows.types]
        start = self._environment.now
        self._until(requests)
        return _Counts(
            self._environment.now - start,
            tuple(np.array(each) for each in self._responses),
            *self._of_components,
            *self._of_resources,
        )

    def _until(self, requests: int) -> None:
        self._left, self._reached = requests, self._environment.event()
        self._environment.run(self._reached)

    def _start(self) -> None:
        for workload in self._flows.model.workloads:
            own = [n for n, each in enumerate(self._flows.types) if each.workload is workload]
            if isinstance(workload, ClosedWorkload):
                for _ in range(workload.population):
                    self._environment.process(self._user(workload, own))
            else:
                self._environment.process(self._arrivals(workload, own))

    def _arrivals(self, workload: Any, types: Sequence[int]) -> Process:
        while True:
            yield self._environment.timeout(self._draws.time(workload.name, workload.arrivals, 1.0 / workload.rate))
            self._environment.process(self._request(self._type(workload.name, types)))

    def _user(self, workload: ClosedWorkload, types: Sequence[int]) -> Process:
        while True:
            if workload.think:
                yield self._environment.timeout(self._draws.time(workload.name, Law(), workload.think))
            yield from self._request(self._type(workload.name, types))

    def _type(self, workload: str, types: Sequence[int]) -> int:
        """The type of the next request of a workload, by its mix."""
        left = self._draws.uniform(("mix", workload))
        for each in types:
            left -= self._flows.types[each].part
            if left < 0.0:
                return each
        return types[-1]

    def _request(self, number: int) -> Process:
        begun = self._environment.now
        name: str | None = self._flows.types[number].component
        while name is not None:
            position, component = self._components[name]
            entered = self._environment.now
            for place, demand in enumerate(component.demands):
                column = self._columns[demand.resource]
                resource = self._flows.model.resources[column]
                time = self._draws.time((name, place), demand.law, resource.service(demand.mean))
                came = self._environment.now
                yield from self._stations[column].visit(time)
                self._of_resources[:, column] += (1.0, self._environment.now - came, time)
            self._of_components[:, position] += (1.0, self._environment.now - entered)
            name = self._following(component)
        self._responses[number].append(self._environment.now - begun)
        self._left -= 1
        if self._left == 0:
            self._reached.succeed()

    def _following(self, component: Component) -> str | None:
        if not component.following:
            return None
        left = self._draws.uniform(("next", component.name))
        for name, part in component.following:
            left -= part
            if left < 0.0:
                return name
        return None


class Station(Protocol):
    """Serves visits."""

    def visit(self, time: float) -> Process:
        """Stay for a service time, and for the waiting that others cause."""


def station_of(resource: Resource, environment: Environment) -> Station:
    """The station of a resource."""
    if resource.policy is Scheduling.FCFS:
        if resource.usable is None:
            return _Queue(environment, resource.cores, _Delay(environment))
        return _Queue(environment, resource.cores, _SharedProcessor(environment, resource.usable))
    if resource.policy is Scheduling.PS:
        return _SharedProcessor(environment, resource.capacity)
    return _Delay(environment)


class _Delay:
    """No visit waits for another."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def visit(self, time: float) -> Process:
        yield self._environment.timeout(time)


class _Queue:
    """First come, first served, by several cores; those that are served stay at a station of their own."""

    def __init__(self, environment: Environment, cores: int, served: Station) -> None:
        from simpy import Resource as Cores

        self._cores, self._served = Cores(environment, cores), served

    def visit(self, time: float) -> Process:
        with self._cores.request() as core:
            yield core
            yield from self._served.visit(time)


class _SharedProcessor:
    """Processor sharing: all visits at once, each with a core or an equal part of all cores.

    ``attained`` is the service that a visit would have had, had it been there from the beginning. A visit ends once it
    has grown by the visit's service time, so that visits end in the order of these sums.
    """

    def __init__(self, environment: Environment, cores: float) -> None:
        self._environment, self._cores = environment, cores
        self._attained, self._at, self._planned = 0.0, 0.0, 0
        self._visits: list[tuple[float, int, Event]] = []
        self._numbers = count()

    def visit(self, time: float) -> Process:
        self._advance()
        ended = self._environment.event()
        heappush(self._visits, (self._attained + time, next(self._numbers), ended))
        self._plan()
        yield ended

    @property
    def _rate(self) -> float:
        return min(1.0, self._cores / len(self._visits)) if self._visits else 0.0

    def _advance(self) -> None:
        now = self._environment.now
        self._attained += (now - self._at) * self._rate
        self._at = now

    def _plan(self) -> None:
        """Wake up when the next visit ends, unless others come or go before."""
        self._planned += 1
        if self._visits:
            left = max(0.0, self._visits[0][0] - self._attained)
            callbacks = self._environment.timeout(left / self._rate, self._planned).callbacks
            if callbacks is not None:
                callbacks.append(self._end)

    def _end(self, event: Event) -> None:
        if event.value != self._planned:
            return
        self._advance()
        self._attained, _, ended = heappop(self._visits)
        ended.succeed()
        self._plan()
