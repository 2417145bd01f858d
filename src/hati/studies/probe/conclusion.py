"""The conclusion on a machine: properties of each experiment, with their age, and experiments that failed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from hati.core import InputError
from hati.studies.probe.finding import Neighbour, Property


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


class ProbeConclusion(Struct, frozen=True):
    """All experiments of a machine, in the order in which they were measured; ``machine`` is its name."""

    machine: str
    fingerprint: str
    probed: tuple[Probed, ...]

    @property
    def properties(self) -> Mapping[str, Property]:
        """All properties by their names."""
        return {each.name: each for probed in self.probed for each in probed.properties}
