"""Differences between the properties of two machines, or of one machine at two times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

from msgspec import Struct

from hati.studies.probe.finding import ProbeVerdict, Property

_LEAST = 0.05
_LEAST_WITHOUT = 0.2


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
    or if only one has a value, such as a quota. It is undecided if it is contaminated or inconclusive on one side.
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
    if first.value is None or second.value is None:
        differs = (first.value is None) != (second.value is None)
    elif first.interval and second.interval:
        apart = first.interval[1] < second.interval[0] or second.interval[1] < first.interval[0]
        differs = apart and abs(second.value - first.value) > _LEAST * max(abs(first.value), abs(second.value))
    else:
        differs = abs(second.value - first.value) > _LEAST_WITHOUT * max(abs(first.value), abs(second.value))
    return PropertyDifference(name, first, second, PropertyChange.DIFFERS if differs else PropertyChange.ALIKE, ratio)
