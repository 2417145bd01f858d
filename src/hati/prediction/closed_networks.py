"""Closed queueing networks of product form, exactly, by convolution (Buzen 1973; Reiser and Kobayashi 1975)."""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.typing import NDArray

from hati.prediction.closed_form import Solution, formula_of
from hati.prediction.flows import FloatArray, Flows
from hati.prediction.model import ClosedWorkload

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
