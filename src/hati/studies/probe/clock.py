"""The clock: the cost of a reading, and the smallest difference that it shows."""

from __future__ import annotations

import numpy as np

from hati.studies.probe.finding import Property, Raw, contaminated, inconclusive, median_property

METHOD = "back-to-back-1"
_SPREAD = 0.25


def clock(raw: Raw) -> tuple[Property, ...]:
    """Cost of reading the monotonic clock and the CPU-time clock of a thread, and the smallest step, in ns.

    ``cost_ps`` and ``thread_cost_ps`` are means of batches in ps, shape (b,); ``step_ns`` are steps between readings
    that differ, in ns. The smallest step is the resolution if it is at least twice the cost of a reading; else the
    resolution is at most that step.
    """
    costs = [
        median_property(name, raw[data] / 1000.0, "ns")
        for name, data in (("clock.cost", "cost_ps"), ("clock.thread_cost", "thread_cost_ps"))
    ]
    step = float(np.min(raw["step_ns"]))
    resolution = Property("clock.resolution", step, "ns", (0.0 if step < 2.0 * _value(costs[0]) else step, step))
    low, high = np.quantile(raw["cost_ps"], [0.25, 0.75])
    if high > (1.0 + _SPREAD) * low:
        reason = f"the middle half of readings spreads by {high / low - 1.0:.0%}; repeat it when the machine is quiet"
        return (contaminated(costs[0], reason), costs[1], resolution)
    if step <= 0.0:
        return (*costs, inconclusive("clock.resolution", "ns", "the clock went backwards"))
    return (*costs, resolution)


def _value(of: Property) -> float:
    return of.value or 0.0
