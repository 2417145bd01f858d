"""Where a run happened."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hati.core.study import digest


@dataclass(frozen=True)
class Machine:
    """A machine by what was read from it: pairs of a property's name and value, sorted by name."""

    properties: tuple[tuple[str, str], ...]

    @cached_property
    def fingerprint(self) -> str:
        """Equal for machines that look the same."""
        return digest(self.properties, length=12)
