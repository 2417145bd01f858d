"""Findings: their events, and the state that follows from these."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from msgspec import Struct, field
from msgspec.structs import astuple

from hati.core.errors import InputError
from hati.core.study import digest


class FindingState(StrEnum):
    """Where a finding is in its life."""

    NEW = "new"
    CONFIRMED = "confirmed"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    REOPENED = "reopened"


class EventKind(StrEnum):
    """The kinds of events of a finding: a measurement, a person's decision, or a notification."""

    SEEN = "seen"
    GROWN = "grown"
    GONE = "gone"
    ACKNOWLEDGED = "acknowledged"
    REPORTED = "told"


class SeriesKey(Struct, frozen=True, order=True):
    """The series that shows a change: a benchmark's metric over all configurations, or in a stratum, on a machine."""

    benchmark: str
    metric: str
    stratum: str
    workload: str
    machine: str


class Size(Struct, frozen=True):
    """The size of a change in one series: the ratio of the metric after it to that before, with its interval.

    ``most_where`` has the settings where the change was found to be largest, in words; empty if it depends on none.

    Raises:
        InputError: for a ratio outside of its interval.
    """

    ratio: float
    low: float
    high: float
    most_where: str = ""

    def __post_init__(self) -> None:
        if not self.low <= self.ratio <= self.high or math.isnan(self.ratio):
            raise InputError(f"a ratio of {self.ratio:g} is not within {self.low:g} to {self.high:g}")

    @property
    def values(self) -> tuple[float | str, ...]:
        """Its fields, in order, as events are stored and identified: without settings if there are none."""
        return astuple(self) if self.most_where else (self.ratio, self.low, self.high)


class Event(Struct, frozen=True, dict=True):
    """Something that happened to a finding, kept for good.

    ``study`` is where it was measured; ``reference`` and ``revision`` are the range that it covers; ``sizes`` are the
    changes seen there; ``author`` and ``reason`` belong to a person's decision.
    """

    finding: str
    what: EventKind
    at: datetime
    study: str = ""
    reference: str = ""
    revision: str = ""
    sizes: Mapping[SeriesKey, Size] = field(default_factory=dict)
    author: str = ""
    reason: str = ""

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise InputError("an event needs a time zone")
        if self.what is EventKind.ACKNOWLEDGED and not (self.author.strip() and self.reason.strip()):
            raise InputError("who acknowledges a finding says who they are, and why", fix="give --author and --reason")

    @cached_property
    def id(self) -> str:
        """A hash of all fields: the same event in two stores has one id."""
        sizes = [[*astuple(spot), *size.values] for spot, size in sorted(self.sizes.items())]
        return digest(
            [
                self.finding,
                self.what.value,
                self.at.isoformat(),
                self.study,
                self.reference,
                self.revision,
                sizes,
                self.author,
                self.reason,
            ],
            length=24,
        )


class Finding(Struct, frozen=True):
    """The state of a finding after its events; ``worse`` is true for a regression.

    ``reference`` and ``revision`` are the range over which it was first seen, ``sizes`` the latest ones by series.
    ``unreported`` is the newest event that was not yet reported, None where all were.
    """

    id: str
    worse: bool
    state: FindingState
    reference: str
    revision: str
    sizes: Mapping[SeriesKey, Size]
    since: datetime
    author: str = ""
    reason: str = ""
    unreported: EventKind | None = None
    events: tuple[Event, ...] = ()
