"""The result of an experiment: a property of a machine with its interval, and whether it is reliable."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError
from hati.stats import t_margin

CONFIDENCE = 0.95
Raw = Mapping[str, FloatArray]
"""Raw observations of an experiment by their names; those of several processes are ``NAME/0``, ``NAME/1`` ..."""


class ProbeVerdict(StrEnum):
    """The reliability of a detected property."""

    MEASURED = "measured"
    INCONCLUSIVE = "inconclusive"
    CONTAMINATED = "contaminated"


class Property(Struct, frozen=True):
    """A property of a machine, such as ``sched.slice``, as an experiment detects it.

    ``value`` is in ``unit``, None if there is none (no quota) or nothing is detected; ``interval`` is a 95 %
    confidence interval in the same unit. ``reason`` says why it is not measured, or what an empty value means.

    Raises:
        InputError: if a verdict other than measured, or an empty value, has no reason, or a number is not finite.
    """

    name: str
    value: float | None
    unit: str
    interval: tuple[float, float] | None = None
    verdict: ProbeVerdict = ProbeVerdict.MEASURED
    reason: str = ""

    def __post_init__(self) -> None:
        if not self.reason and (self.verdict is not ProbeVerdict.MEASURED or self.value is None):
            raise InputError(f"{self.name} is {self.verdict} without a reason")
        if not all(map(math.isfinite, (self.value or 0.0, *(self.interval or ())))):
            raise InputError(f"{self.name} is not a finite number")


class Neighbour(Struct, frozen=True):
    """Another process on a CPU that was measured, with the ``share`` of the CPU's time that it had."""

    name: str
    pid: int
    cpu: int
    share: float


def inconclusive(name: str, unit: str, reason: str, value: float | None = None) -> Property:
    """A property that the raw data do not show; ``value`` is what they suggest."""
    return Property(name, value, unit, None, ProbeVerdict.INCONCLUSIVE, reason)


def contaminated(found: Property, reason: str) -> Property:
    """The same property, measured while something else disturbed it."""
    return Property(found.name, found.value, found.unit, found.interval, ProbeVerdict.CONTAMINATED, reason)


def pooled(raw: Raw, name: str) -> FloatArray:
    """The observations of that name of all processes, one process after the other; empty if there are none."""
    parts = each(raw, name)
    return np.concatenate(parts) if parts else np.empty(0)


def each(raw: Raw, name: str) -> tuple[FloatArray, ...]:
    """The observations of that name of each process, in their order."""
    if name in raw:
        return (raw[name],)
    count = sum(key.startswith(f"{name}/") for key in raw)
    return tuple(raw[f"{name}/{number}"] for number in range(count))


def median_interval(values: FloatArray) -> tuple[float, float]:
    """The order statistics that cover the median of independent values with at least 95 % confidence.

    With fewer than six values, no two of them do: the smallest and the largest are returned.
    """
    from scipy import stats

    ordered = np.sort(values)
    below = int(stats.binom.ppf((1.0 - CONFIDENCE) / 2.0, ordered.size, 0.5))
    below = max(0, below - 1) if stats.binom.cdf(below, ordered.size, 0.5) > (1.0 - CONFIDENCE) / 2.0 else below
    return float(ordered[below]), float(ordered[ordered.size - 1 - below])


def median_property(name: str, values: FloatArray, unit: str) -> Property:
    """The median of values, shape (n,), n >= 1."""
    return Property(name, float(np.median(values)), unit, median_interval(values))


def mean_property(name: str, values: FloatArray, unit: str) -> Property:
    """The mean of values, shape (n,), n >= 2, with Student's interval."""
    mean, error = float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(values.size)
    margin = t_margin(CONFIDENCE, values.size - 1) * error
    return Property(name, mean, unit, (mean - margin, mean + margin))
