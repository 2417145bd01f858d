"""When a campaign that compares has enough runs."""

from __future__ import annotations

from enum import StrEnum


class Stopping(StrEnum):
    """Whether the number of runs is given beforehand, or follows from what was measured."""

    FIXED = "fixed"
    ANYTIME = "anytime"
