"""What is read from a run."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct

from hati.core.errors import InputError

SINGLE_CALLS: Final = "single_calls"
"""The metric that tells whether each observation of a run's times is of one call (1), or the mean of several (0)."""


class Better(StrEnum):
    """Which direction of a metric is the good one."""

    LOWER = "lower"
    HIGHER = "higher"


class Metric(Struct, frozen=True):
    """A metric: its name, unit and good direction."""

    name: str
    unit: str
    better: Better = Better.LOWER

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("a metric has an empty name", fix="name it, for instance 'latency'")
