"""Where a run happened."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from hati.core.study import digest


class Machine(Struct, frozen=True, dict=True):
    """A machine by what was read from it: pairs of a property's name and value, sorted by name."""

    properties: tuple[tuple[str, str], ...]

    @cached_property
    def fingerprint(self) -> str:
        """Equal for machines that look the same."""
        return digest(self.properties, length=12)
