"""What experiments find of a machine: properties, conclusions, differences between machines, and recovered truths."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError
from hati.stats import t_margin

CONFIDENCE = 0.95
_MOST_OTHERS = 0.1
"""The fraction of the time of CPUs that others may use."""
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


def undisturbed(raw: Raw, *found: Property) -> tuple[Property, ...]:
    """The properties, contaminated where ``others``, the fraction of the CPUs' time that others used, is too large."""
    others = float(raw["others"][0])
    if others <= _MOST_OTHERS:
        return found
    reason = f"others used {100 * others:.0f} % of the CPUs meanwhile; repeat it when the machine is quiet"
    return tuple(contaminated(one, reason) for one in found)


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


def medians(raw: Raw, name: str) -> FloatArray:
    """The median of the observations of that name in each burst."""
    return np.array([np.median(times) for times in each(raw, name)])


def median_interval(values: FloatArray) -> tuple[float, float]:
    """As ``quantile_interval``; six values are enough."""
    return quantile_interval(values, 0.5)


def quantile_interval(values: FloatArray, probability: float) -> tuple[float, float]:
    """The order statistics that cover a quantile of independent values with at least 95 % confidence.

    With too few values, no two of them do: an end is then the smallest or the largest.
    """
    from scipy import stats

    ordered, tail = np.sort(values), (1.0 - CONFIDENCE) / 2.0
    low, high = (int(stats.binom.ppf(each_, ordered.size, probability)) for each_ in (tail, 1.0 - tail))
    return float(ordered[max(0, low - 1)]), float(ordered[min(high, ordered.size - 1)])


def mean_property(name: str, values: FloatArray, unit: str) -> Property:
    """The mean of values, shape (n,), n >= 2, with Student's interval."""
    mean, error = float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(values.size)
    margin = t_margin(CONFIDENCE, values.size - 1) * error
    return Property(name, mean, unit, (mean - margin, mean + margin))


def ratio_property(name: str, logs: FloatArray) -> Property:
    """The mean of ratios by their logarithms, shape (n,), n >= 2, with Student's interval."""
    found = mean_property(name, logs, "1")
    low, high = found.interval or (0.0, 0.0)
    return Property(name, math.exp(found.value or 0.0), "1", (math.exp(low), math.exp(high)))


class Probed(Struct, frozen=True):
    """An experiment with the properties that it detects.

    ``at`` is the time of the measurement, in UTC; ``reused`` is true for an earlier one. ``refused`` is the reason why
    there are no properties: the machine does not permit it, or an input could not be detected.
    """

    experiment: str
    title: str
    method: str
    at: datetime | None = None
    reused: bool = False
    properties: tuple[Property, ...] = ()
    neighbours: tuple[Neighbour, ...] = ()
    refused: str = ""

    def __post_init__(self) -> None:
        if bool(self.refused) == bool(self.properties):
            raise InputError(f"{self.experiment} has either properties or a reason why it has none")

    @property
    def contaminated(self) -> bool:
        """Whether something else disturbed the measurement of a property."""
        return any(one.verdict is ProbeVerdict.CONTAMINATED for one in self.properties)


class ProbeConclusion(Struct, frozen=True):
    """All experiments of a machine, in the order in which they were measured; ``machine`` is its name."""

    machine: str
    fingerprint: str
    probed: tuple[Probed, ...]

    @property
    def properties(self) -> Mapping[str, Property]:
        """All properties by their names."""
        return {each.name: each for probed in self.probed for each in probed.properties}

    def has_results_of(self, other: ProbeConclusion) -> bool:
        """Whether the experiments that both have are the same measurements, and there is one."""
        theirs = {each.experiment: each for each in other.probed}
        shared = [(each, theirs[each.experiment]) for each in self.probed if each.experiment in theirs]
        return bool(shared) and all((a.at, a.properties) == (b.at, b.properties) for a, b in shared)


class RecoveryOutcome(StrEnum):
    """The outcome for an injected truth."""

    RECOVERED = "recovered"
    DISTURBED = "disturbed"
    MISSED = "missed"
    REFUSED = "refused"


class Recovery(Struct, frozen=True):
    """An injected ``truth`` and what was detected, in one unit; ``tolerance`` is a factor less one.

    A ``truth`` of None is that there is no such property. ``detected`` is None if nothing was; ``reason`` says why, or
    why the machine refused the injection.
    """

    name: str
    truth: float | None
    unit: str
    tolerance: float
    outcome: RecoveryOutcome
    detected: float | None = None
    reason: str = ""


def recovered(name: str, truth: float | None, tolerance: float, found: Property | None) -> Recovery:
    """Compare: recovered within the tolerance; else disturbed if the detector reports it, and missed if not."""
    if found is None:
        return Recovery(name, truth, "", tolerance, RecoveryOutcome.MISSED, None, "the experiment has no such property")
    value = found.value
    if truth is None or value is None:
        right = truth is value and found.verdict is ProbeVerdict.MEASURED
    else:
        right = truth / (1.0 + tolerance) <= value <= truth * (1.0 + tolerance)
    return _compared_with(truth, tolerance, found, name, right=right)


def recovered_ratio(name: str, truth: float, found: Property) -> Recovery:
    """Compare: recovered if the interval has the truth, and has not 1; its half-width is the tolerance."""
    low, high = found.interval or (0.0, 0.0)
    right = low <= truth <= high and not low <= 1.0 <= high
    return _compared_with(truth, math.sqrt(high / low) - 1.0 if low else 0.0, found, name, right=right)


def _compared_with(truth: float | None, tolerance: float, found: Property, name: str, *, right: bool) -> Recovery:
    if right:
        return Recovery(name, truth, found.unit, tolerance, RecoveryOutcome.RECOVERED, found.value)
    doubted = found.verdict is not ProbeVerdict.MEASURED
    outcome = RecoveryOutcome.DISTURBED if doubted else RecoveryOutcome.MISSED
    return Recovery(name, truth, found.unit, tolerance, outcome, found.value, found.reason)


def not_injected(name: str, truth: float | None, unit: str, tolerance: float, reason: str) -> Recovery:
    """The outcome for a truth that the machine does not permit to inject."""
    return Recovery(name, truth, unit, tolerance, RecoveryOutcome.REFUSED, None, reason)


_LEAST = 0.05
_LEAST_WITHOUT = 0.2
_LARGEST = frozenset({"noise.longest"})
_MOST_ALIKE = 0.3
"""The difference that intervals of alike properties exclude; that of a cache's size is a factor of 1.26 wide."""


class PropertyChange(StrEnum):
    """Whether a property differs."""

    DIFFERS = "differs"
    ALIKE = "alike"
    UNDECIDED = "undecided"


class PropertyDifference(Struct, frozen=True):
    """A property before and after; ``ratio`` is after over before, None if one has no value."""

    name: str
    before: Property
    after: Property
    change: PropertyChange
    ratio: float | None
    reason: str = ""


def differences(before: Mapping[str, Property], after: Mapping[str, Property]) -> tuple[PropertyDifference, ...]:
    """The properties that both have, those that differ first.

    A property differs if the intervals do not overlap and the values differ by more than 5 % (20 % without intervals),
    or if only one has a value, such as a quota. It is undecided if it is contaminated or inconclusive on one side, if
    the intervals do not exclude a difference of 30 %, or if it is a largest value.
    """
    order = list(PropertyChange)
    found = list(_compared(before, after))
    return tuple(sorted(found, key=lambda one: order.index(one.change)))


def _compared(before: Mapping[str, Property], after: Mapping[str, Property]) -> Iterator[PropertyDifference]:
    for name, first in before.items():
        second = after.get(name)
        if second is not None:
            yield _difference(name, first, second)


def _difference(name: str, first: Property, second: Property) -> PropertyDifference:
    doubtful = [one for one in (first, second) if one.verdict is not ProbeVerdict.MEASURED]
    ratio = second.value / first.value if first.value and second.value is not None else None
    if doubtful:
        return PropertyDifference(name, first, second, PropertyChange.UNDECIDED, ratio, doubtful[0].reason)
    if name in _LARGEST:
        reason = "a largest value has no interval: the next window is as likely to have a larger one"
        return PropertyDifference(name, first, second, PropertyChange.UNDECIDED, ratio, reason)
    change = _change(first, second)
    reason = f"the intervals do not exclude a difference of {100 * _MOST_ALIKE:.0f} %"
    return PropertyDifference(name, first, second, change, ratio, reason if change is PropertyChange.UNDECIDED else "")


def _change(first: Property, second: Property) -> PropertyChange:
    """The change between two measured properties."""
    if first.value is None or second.value is None:
        return PropertyChange.ALIKE if first.value is second.value else PropertyChange.DIFFERS
    size, difference = max(abs(first.value), abs(second.value)), abs(second.value - first.value)
    if not (first.interval and second.interval):
        return PropertyChange.DIFFERS if difference > _LEAST_WITHOUT * size else PropertyChange.ALIKE
    (first_low, first_high), (second_low, second_high) = first.interval, second.interval
    if (first_high < second_low or second_high < first_low) and difference > _LEAST * size:
        return PropertyChange.DIFFERS
    largest = max(second_high - first_low, first_high - second_low)
    return PropertyChange.ALIKE if largest <= _MOST_ALIKE * size else PropertyChange.UNDECIDED
