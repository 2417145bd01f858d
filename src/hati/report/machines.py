"""The machines that a study was measured on, as JSON has them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Struct, UnsetType

from hati.report.publishing import Of


class MachineStateJson(Struct, frozen=True):
    """What a machine was like from its ``first`` run under this fingerprint, and how many runs it made."""

    fingerprint: str
    runs: int
    first: datetime
    properties: dict[str, str]


class StudyMachineJson(Struct, frozen=True):
    """A machine with the states in which it was measured on."""

    id: str
    name: str
    states: list[MachineStateJson]


class StudyJson(Struct, frozen=True, kw_only=True):
    """The published fields of every study; ``measured_on`` where its runs carry more than one fingerprint."""

    measured_on: Annotated[list[StudyMachineJson] | UnsetType, Of(lambda _: UNSET)] = UNSET
