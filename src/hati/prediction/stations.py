"""Stations of a simulation: visits of resources, as processes of SimPy."""

from __future__ import annotations

from collections.abc import Generator
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

from hati.prediction.model import Resource, Scheduling

if TYPE_CHECKING:
    from simpy import Environment, Event

    Process = Generator[Event, Any, None]


class Station(Protocol):
    """Serves visits."""

    def visit(self, time: float) -> Process:
        """Stay for a service time, and for the waiting that others cause."""


def station_of(resource: Resource, environment: Environment) -> Station:
    """The station of a resource."""
    if resource.policy is Scheduling.FCFS:
        return _Queue(environment, resource.cores)
    if resource.policy is Scheduling.PS:
        return _SharedProcessor(environment, resource.cores)
    return _Delay(environment)


class _Delay:
    """No visit waits for another."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def visit(self, time: float) -> Process:
        yield self._environment.timeout(time)


class _Queue:
    """First come, first served, by several cores."""

    def __init__(self, environment: Environment, cores: int) -> None:
        from simpy import Resource as Cores

        self._environment, self._cores = environment, Cores(environment, cores)

    def visit(self, time: float) -> Process:
        with self._cores.request() as core:
            yield core
            yield self._environment.timeout(time)


class _SharedProcessor:
    """Processor sharing: all visits at once, each with a core or an equal part of all cores.

    ``attained`` is the service that a visit would have had, had it been there from the beginning. A visit ends once it
    has grown by the visit's service time, so that visits end in the order of these sums.
    """

    def __init__(self, environment: Environment, cores: int) -> None:
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
