"""The identity of studies, and the tasks that they plan."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct

from hati.core.replacing import replace
from hati.core.values import Configuration, Workload, canonical_json


def digest(value: object, length: int = 16) -> str:
    """The first ``length`` hexadecimal digits of the SHA-256 of a value's canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:length]


class StudyId(Struct, frozen=True, dict=True):
    """What tells one study from another.

    ``parameters`` is canonical JSON of all that decides which tasks are planned; ``campaign`` counts
    the times that the same study was made afresh. ``token`` is drawn when a campaign is begun, and tells it from
    one of the same number that was begun elsewhere; which tasks are planned does not depend on it.
    """

    kind: str
    parameters: str
    seed: int
    machine: str
    campaign: int = 1
    token: str = ""

    @classmethod
    def of(cls, kind: str, parameters: Mapping[str, object], seed: int, machine: str) -> StudyId:
        """The first campaign of the study of that kind with those parameters."""
        return cls(kind, canonical_json(parameters), seed, machine)

    @cached_property
    def family(self) -> str:
        """Equal for all campaigns of the same study."""
        return digest([self.kind, self.parameters, self.seed, self.machine])

    @cached_property
    def key(self) -> str:
        """The name of this campaign of this study, unique."""
        words = [self.kind, self.family[:8], str(self.campaign), self.token]
        return "-".join(word for word in words if word)

    def numbered(self, campaign: int, token: str = "") -> StudyId:
        """The same study's campaign of that number, begun with that token."""
        return replace(self, campaign=campaign, token=token)


class Task(Struct, frozen=True, dict=True):
    """One run to be made.

    ``study`` is a study's key; ``stage`` says what for within the study (``pilot``, ``design``);
    ``benchmark`` is a benchmark's name, whose definition is among the study's parameters.
    """

    study: str
    stage: str
    benchmark: str
    configuration: Configuration
    revision: str
    workload: Workload
    repetition: int

    @cached_property
    def id(self) -> str:
        """A hash of all that determines the task: it can be handed out twice and is recorded once."""
        return digest(
            [
                self.study,
                self.stage,
                self.benchmark,
                dict(self.configuration),
                self.revision,
                dict(self.workload),
                self.repetition,
            ],
            length=24,
        )
