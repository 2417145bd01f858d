"""Flows: the demand of each type of request at each resource, by the traffic equations."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.prediction.model import Demand, OpenWorkload, Scheduling, ServiceModel, Workload

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
        """The cores of each resource; infinite for a delay."""
        return np.array([np.inf if r.policy is Scheduling.DELAY else float(r.cores) for r in self.model.resources])

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
