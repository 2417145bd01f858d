"""How the two runs of a pair are made."""

from __future__ import annotations

from enum import StrEnum


class Pairing(StrEnum):
    """One after the other, or both at once, each on a core of its own."""

    INTERLEAVED = "interleaved"
    DUET = "duet"
