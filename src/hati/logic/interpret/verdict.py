"""The three truth values."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """What measurements say of a formula, in Kleene's strong logic; INCONCLUSIVE where they say neither."""

    HOLDS = "HOLDS"
    VIOLATED = "VIOLATED"
    INCONCLUSIVE = "INCONCLUSIVE"
