"""What studies are and plan: their identity, tasks, plans, budgets, and the rules that a campaign follows."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.core.errors import InputError
from hati.core.metric import parse_duration
from hati.core.replacing import replace
from hati.core.values import Configuration, Workload, canonical_json

if TYPE_CHECKING:
    from hati.core.ports import Evidence


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


_TYPICAL = 3


class Budget(Struct, frozen=True):
    """What a campaign may cost: a number of runs, a time in seconds, or (both infinite) anything."""

    runs: float = math.inf
    seconds: float = math.inf

    def __post_init__(self) -> None:
        if math.isnan(self.runs) or math.isnan(self.seconds):
            raise InputError("a budget is a number of runs or a time")

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Read ``96`` as runs and ``2m`` as time.

        Raises:
            InputError: where it is neither.
        """
        text = text.strip()
        if re.fullmatch(r"[0-9]{1,9}", text):
            if int(text) == 0:
                raise InputError("a budget of 0 runs measures nothing", fix="give at least 1")
            return cls(runs=int(text))
        try:
            return cls(seconds=parse_duration(text))
        except InputError as error:
            raise InputError(
                f"{text!r} is not a valid budget", fix="give a number of runs such as 96 or a time such as 2m"
            ) from error

    def left(self, evidence: Evidence) -> Budget:
        """What remains after the evidence was paid for."""
        return self.after([run.seconds for run in evidence.runs])

    def after(self, spent: Sequence[float]) -> Budget:
        """What remains after runs that took these times, in seconds.

        A time in which less than half a run fits is spent: another run would exceed the budget by more than it misses.
        The median of the last runs says how long one takes, as the first may include a build.
        """
        left = self.seconds - sum(spent)
        half = 0.5 * median(spent[-_TYPICAL:]) if len(spent) >= _TYPICAL else 0.0
        return Budget(max(0.0, self.runs - len(spent)), left if left > half else 0.0)

    @property
    def spent(self) -> bool:
        """Whether nothing remains."""
        return self.runs <= 0 or self.seconds <= 0


@dataclass(frozen=True)
class Plan:
    """Tasks in the order in which they are to be run; empty when a study has enough.

    ``foreseen`` is the number of tasks that the study will want from here, these included, as far as it knows.
    """

    tasks: tuple[Task, ...] = ()
    foreseen: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "foreseen", max(self.foreseen, len(self.tasks)))

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks)

    def __len__(self) -> int:
        return len(self.tasks)

    def within(self, budget: Budget) -> Plan:
        """As many of the first tasks as the budget has runs for; none where it is spent."""
        if budget.spent:
            return Plan()
        if math.isinf(budget.runs):
            return self
        return Plan(self.tasks[: int(budget.runs)], min(self.foreseen, int(budget.runs)))

    def at_most(self, number: int) -> Plan:
        """The first tasks, so many, of all that are foreseen."""
        return Plan(self.tasks[:number], self.foreseen)


class Pairing(StrEnum):
    """One after the other, or both at once, each on a core of its own."""

    INTERLEAVED = "interleaved"
    DUET = "duet"


class Stopping(StrEnum):
    """Whether the number of runs is given beforehand, or follows from what was measured."""

    FIXED = "fixed"
    ANYTIME = "anytime"
