"""Models of resources, components with demands, and workloads, valid when constructed; and the demands that follow.

Times are in s.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import InputError
from hati.core.wording import suggestion

_ROUNDING = 1e-6
_WHOLE = 0.05
"""The relative tolerance within which a measured number of cores counts as a whole one."""
MOST_CORES = 100_000
MOST_USERS = 1_000_000
_LARGEST = 1e12


class ModelError(InputError):
    """An invalid model; ``path`` has the keys that lead to the wrong part, from the root of the model's document."""

    def __init__(self, message: str, *path: str, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.path = path


class Scheduling(StrEnum):
    """How a resource serves the requests at it."""

    PS = "ps"
    FCFS = "fcfs"
    DELAY = "delay"


class LawKind(StrEnum):
    """The distribution of a time."""

    EXPONENTIAL = "exponential"
    CONSTANT = "constant"
    GAMMA = "gamma"
    LOGNORMAL = "lognormal"


class Law(Struct, frozen=True):
    """The shape of a distribution without its mean: kind and coefficient of variation."""

    kind: LawKind = LawKind.EXPONENTIAL
    cv: float = 1.0


EXPONENTIAL = Law()
CONSTANT = Law(LawKind.CONSTANT, 0.0)


class MeasuredNumber(Struct, frozen=True):
    """A property of a machine, with the ends of its 95 % interval.

    Raises:
        ModelError: unless 0 < low <= value <= high.
    """

    machine: str
    value: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0.0 < self.low <= self.value <= self.high < math.inf:
            interval = f"{self.value:g} ({self.low:g} to {self.high:g})"
            raise ModelError(f"a property of machine {self.machine!r} is {interval}", fix="probe it again")

    def exactly(self, value: float) -> MeasuredNumber:
        """The property, were it known to be ``value``."""
        return MeasuredNumber(self.machine, value, value, value)


class ProbedMachine(Struct, frozen=True):
    """A measured machine: its usable cores, and its rate of work.

    ``reference`` is the rate of the machine on which demands were measured; if it is the same measurement, the speed is
    exactly 1.
    """

    name: str
    cores: MeasuredNumber
    rate: MeasuredNumber
    reference: MeasuredNumber

    @property
    def speed(self) -> float:
        """The speed relative to the machine on which demands were measured."""
        return self.rate.value / self.reference.value

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the speed: the ends of both rates' intervals, squared and added as logarithms.

        The method of variance estimates recovery (Zou and Donner 2008, Statistics in Medicine 27, 1693-1702).
        """
        own, other = self.rate, self.reference
        if own == other:
            return 1.0, 1.0
        down = math.hypot(math.log(own.value / own.low), math.log(other.high / other.value))
        up = math.hypot(math.log(own.high / own.value), math.log(other.value / other.low))
        return self.speed * math.exp(-down), self.speed * math.exp(up)

    def given(self, number: MeasuredNumber, value: float) -> ProbedMachine:
        """The machine, were one of its measured numbers known to be ``value``."""
        parts = (number.exactly(value) if each == number else each for each in (self.cores, self.rate, self.reference))
        return ProbedMachine(self.name, *parts)


class Resource(Struct, frozen=True):
    """A resource with its cores and their ``speed``, relative to the core for which demands are stated.

    ``overhead`` is the fraction by which virtualisation lengthens each demand. A delay has no limit of cores.
    ``measured`` is the machine on which cores and speed were measured, None if the model states them. ``usable`` is the
    number of cores that a quota permits to be busy on average (None: all).

    Raises:
        ModelError: for numbers out of range.
    """

    name: str
    policy: Scheduling = Scheduling.PS
    cores: int = 1
    speed: float = 1.0
    overhead: float = 0.0
    measured: ProbedMachine | None = None
    usable: float | None = None

    def __post_init__(self) -> None:
        at = ("resources", self.name)
        if not 1 <= self.cores <= MOST_CORES:
            raise ModelError(
                f"resource {self.name!r} has {self.cores} cores", *at, "cores", fix=f"give 1 to {MOST_CORES:,}"
            )
        _positive(self.speed, f"the speed of resource {self.name!r}", *at, "speed")
        _not_negative(self.overhead, f"the overhead of resource {self.name!r}", *at, "overhead")

    @property
    def capacity(self) -> float:
        """The number of cores that it may keep busy on average."""
        return self.cores if self.usable is None else self.usable

    def on(self, machine: ProbedMachine) -> Resource:
        """The resource on a measured machine, whose speed includes the cost of virtualisation.

        A quota may leave a fraction of a core: of more than one core, it limits only requests that are there together,
        and less than one core is a slower one.
        """
        usable = machine.cores.value
        nearest = max(1, round(usable))
        return self._on(machine, nearest if _is_whole(usable / nearest) else math.ceil(usable))

    def given(self, number: MeasuredNumber, value: float) -> Resource:
        """The resource, were one of its machine's measured numbers known to be ``value``; its cores are as many."""
        return self if self.measured is None else self._on(self.measured.given(number, value), self.cores)

    def _on(self, machine: ProbedMachine, cores: int) -> Resource:
        part = machine.cores.value / cores
        if _is_whole(part):
            return Resource(self.name, self.policy, cores, machine.speed, measured=machine)
        if cores == 1 or part > 1.0:
            return Resource(self.name, self.policy, cores, machine.speed * part, measured=machine)
        return Resource(self.name, self.policy, cores, machine.speed, measured=machine, usable=machine.cores.value)

    def service(self, demand: float) -> float:
        """The time that a demand takes here without other requests."""
        return demand * (1.0 + self.overhead) / self.speed


class Demand(Struct, frozen=True):
    """The mean time that one visit of a component needs at a resource, and its law."""

    resource: str
    mean: float
    law: Law = EXPONENTIAL


class Component(Struct, frozen=True):
    """A component: its demands, in order, and the probabilities of the next components; other requests leave.

    Raises:
        ModelError: without demands, for negative ones, and for invalid probabilities.
    """

    name: str
    demands: tuple[Demand, ...]
    following: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        at = ("components", self.name)
        if not self.demands:
            raise ModelError(
                f"component {self.name!r} has no demands", *at, fix='give some, as in demands = { cpu = "20ms" }'
            )
        for demand in self.demands:
            where = (*at, "demands", demand.resource)
            what = f"the demand of component {self.name!r} at {demand.resource!r}"
            _not_negative(demand.mean, what, *where)
            _not_negative(demand.law.cv, f"the coefficient of variation of {what}", *where)
        _check_fractions(self.following, *at, "next")
        if sum(part for _, part in self.following) > 1.0 + _ROUNDING:
            raise ModelError(
                f"the probabilities of what follows component {self.name!r} add up to more than 1", *at, "next"
            )


class OpenWorkload(Struct, frozen=True):
    """Requests from outside at a rate in 1/s, independent of response times; ``mix`` has fractions by component.

    Raises:
        ModelError: for a rate that is not positive, and a mix that does not add up to 1.
    """

    name: str
    rate: float
    mix: tuple[tuple[str, float], ...]
    arrivals: Law = EXPONENTIAL

    def __post_init__(self) -> None:
        _positive(self.rate, f"the rate of workload {self.name!r}", "workloads", self.name, "rate")
        _check_mix(self.name, self.mix)


class ClosedWorkload(Struct, frozen=True):
    """A number of users who each think, send a request and wait for the response; ``think`` is the mean time in s.

    Raises:
        ModelError: for a population or think time out of range, and a mix that does not add up to 1.
    """

    name: str
    population: int
    think: float
    mix: tuple[tuple[str, float], ...]

    def __post_init__(self) -> None:
        at = ("workloads", self.name)
        if not 1 <= self.population <= MOST_USERS:
            raise ModelError(
                f"workload {self.name!r} has {self.population} users",
                *at,
                "population",
                fix=f"give 1 to {MOST_USERS:,}",
            )
        _not_negative(self.think, f"the think time of workload {self.name!r}", *at, "think")
        _check_mix(self.name, self.mix)


Workload = OpenWorkload | ClosedWorkload


class ServiceModel(Struct, frozen=True):
    """A service with its workloads and resources; ``measured_on`` is the machine on which demands were measured.

    Raises:
        ModelError: for unknown references, names given twice, requests that never end, and users without any wait.
    """

    resources: tuple[Resource, ...]
    components: tuple[Component, ...]
    workloads: tuple[Workload, ...]
    measured_on: str = ""

    def __post_init__(self) -> None:
        resources = _names("resources", self.resources)
        components = _names("components", self.components)
        _names("workloads", self.workloads)
        for component in self.components:
            at = ("components", component.name)
            for demand in component.demands:
                _check_known(demand.resource, resources, "resource", *at, "demands", demand.resource)
            for name, _ in component.following:
                _check_known(name, components, "component", *at, "next", name)
        for workload in self.workloads:
            for name, _ in workload.mix:
                _check_known(name, components, "component", "workloads", workload.name, "mix", name)
        self._check_endings()
        self._check_work()

    @property
    def measured(self) -> tuple[Resource, ...]:
        """The resources that have the cores and the speed of a measured machine."""
        return tuple(each for each in self.resources if each.measured is not None)

    def resource(self, name: str) -> Resource:
        """The resource of a name that the model has."""
        return next(each for each in self.resources if each.name == name)

    def _check_endings(self) -> None:
        """Refuse a component from which requests never leave."""
        ending = {each.name for each in self.components if sum(part for _, part in each.following) < 1.0 - _ROUNDING}
        reached = -1
        while len(ending) != reached:
            reached = len(ending)
            ending |= {c.name for c in self.components if any(part > 0 and n in ending for n, part in c.following)}
        for component in self.components:
            if component.name not in ending:
                raise ModelError(
                    f"a request that comes to component {component.name!r} never ends",
                    "components",
                    component.name,
                    "next",
                    fix="have the probabilities add up to less than 1 somewhere",
                )

    def _check_work(self) -> None:
        """Refuse users who neither think nor wait: they would send requests without end."""
        parts = {component.name: sum(demand.mean for demand in component.demands) for component in self.components}
        for workload in self.workloads:
            work = sum(parts[name] * part for name, part in workload.mix)
            if isinstance(workload, ClosedWorkload) and workload.think == 0.0 and work == 0.0:
                raise ModelError(
                    f"users of workload {workload.name!r} neither think nor wait",
                    "workloads",
                    workload.name,
                    fix="give a think time or demands",
                )


def _is_whole(part: float) -> bool:
    """Whether the usable part of a number of cores counts as all of them."""
    return abs(part - 1.0) <= _WHOLE


def _names(table: str, parts: Sequence[Resource] | Sequence[Component] | Sequence[Workload]) -> Mapping[str, None]:
    if not parts:
        raise ModelError(f"the model has no {table}", fix=f"add a table [{table}.NAME]")
    names = dict.fromkeys(part.name for part in parts)
    for name in names:
        if sum(part.name == name for part in parts) > 1:
            raise ModelError(f"{name!r} is there twice", table, name)
    return names


def _check_known(name: str, known: Collection[str], kind: str, *path: str) -> None:
    if name not in known:
        raise ModelError(f"there is no {kind} {name!r}", *path, fix=suggestion(name, list(known)))


def _check_mix(workload: str, mix: Sequence[tuple[str, float]]) -> None:
    at = ("workloads", workload, "mix")
    _check_fractions(mix, *at)
    whole = sum(part for _, part in mix)
    if abs(whole - 1.0) > _ROUNDING:
        raise ModelError(f"the mix of workload {workload!r} adds up to {whole:.6g}", *at, fix="have it add up to 1")


def _check_fractions(parts: Sequence[tuple[str, float]], *path: str) -> None:
    for name, part in parts:
        if not 0.0 <= part <= 1.0:
            raise ModelError(f"{part:g} is not a fraction", *path, name, fix="give a number from 0 to 1")


def _positive(value: float, what: str, *path: str) -> None:
    if not value > 0.0:
        raise ModelError(f"{what} is {value:g}", *path, fix="give a number above 0")
    if not 1.0 / _LARGEST <= value <= _LARGEST:
        raise ModelError(f"{what} is {value:g}", *path, fix=f"give {1.0 / _LARGEST:g} to {_LARGEST:g}")


def _not_negative(value: float, what: str, *path: str) -> None:
    if not value >= 0.0:
        raise ModelError(f"{what} is {value:g}", *path, fix="give a number from 0 on")
    if value > _LARGEST:
        raise ModelError(f"{what} is {value:g}", *path, fix=f"give at most {_LARGEST:g}")


FloatArray = NDArray[np.float64]


class RequestType(Struct, frozen=True):
    """Requests of a workload that enter at a component; ``part`` is their fraction of the workload's requests."""

    workload: Workload
    component: str
    part: float


class Flows(Struct, frozen=True, dict=True):
    """Visits and demands of a model, as arrays over request types, components and resources in the model's order.

    A request that enters at component e visits component j V[e, j] times on average, V = (I - P)^-1 with the
    probabilities P of the next component (Jackson 1957).
    """

    model: ServiceModel

    @cached_property
    def types(self) -> tuple[RequestType, ...]:
        """The types of requests: one for each workload and component of its mix."""
        return tuple(
            RequestType(workload, name, part)
            for workload in self.model.workloads
            for name, part in workload.mix
            if part > 0.0
        )

    @cached_property
    def visits(self) -> FloatArray:
        """Mean visits of components by a request, types x components."""
        names = [component.name for component in self.model.components]
        routing = np.zeros((len(names), len(names)))
        for row, component in enumerate(self.model.components):
            for name, part in component.following:
                routing[row, names.index(name)] += part
        of_entries = np.linalg.inv(np.eye(len(names)) - routing)
        return np.array([of_entries[names.index(each.component)] for each in self.types])

    @cached_property
    def component_demands(self) -> FloatArray:
        """Mean service time of a visit of a component, components x resources, in s."""
        found = np.zeros((len(self.model.components), len(self.model.resources)))
        for row, column, demand in self._demands():
            found[row, column] += self.model.resources[column].service(demand.mean)
        return found

    @cached_property
    def component_stays(self) -> FloatArray:
        """The number of stays at a resource in a visit of a component, components x resources."""
        found = np.zeros((len(self.model.components), len(self.model.resources)))
        for row, column, _ in self._demands():
            found[row, column] += 1.0
        return found

    @cached_property
    def demands(self) -> FloatArray:
        """Mean service time of a request, types x resources, in s."""
        return self.visits @ self.component_demands

    @cached_property
    def open_rates(self) -> FloatArray:
        """Arrivals of each type from outside, in 1/s; 0 for those of closed workloads."""
        return np.array(
            [each.workload.rate * each.part if isinstance(each.workload, OpenWorkload) else 0.0 for each in self.types]
        )

    @cached_property
    def cores(self) -> FloatArray:
        """The cores that each resource may keep busy; infinite for a delay."""
        return np.array([np.inf if r.policy is Scheduling.DELAY else float(r.capacity) for r in self.model.resources])

    @cached_property
    def open_loads(self) -> FloatArray:
        """The cores of each resource that open workloads keep busy on average: the utilisation law."""
        return self.open_rates @ self.demands

    def stays(self, resource: int) -> list[Demand]:
        """The demands at a resource of all components that are visited."""
        visited = self.visits.sum(axis=0) > 0.0
        return [demand for row, column, demand in self._demands() if column == resource and visited[row]]

    def _demands(self) -> list[tuple[int, int, Demand]]:
        columns = {resource.name: position for position, resource in enumerate(self.model.resources)}
        return [
            (row, columns[demand.resource], demand)
            for row, component in enumerate(self.model.components)
            for demand in component.demands
        ]
