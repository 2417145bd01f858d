"""The identity of studies; their tasks, plans and budgets; and the rules that a campaign follows."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import groupby
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct

from hati.core.errors import InputError
from hati.core.metric import parse_duration
from hati.core.values import Configuration, Workload, canonical_json, generator, replace

if TYPE_CHECKING:
    from numpy.random import Generator

    from hati.core.ports import Evidence


def digest(value: object, length: int = 16) -> str:
    """The first ``length`` hexadecimal digits of the SHA-256 of a value's canonical JSON.

    Paths may have bytes that are not UTF-8, which Python has as surrogates.
    """
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()[:length]


class StudyId(Struct, frozen=True, dict=True):
    """The identity of a study.

    ``parameters`` is canonical JSON of everything that decides which tasks are planned; ``campaign`` counts
    the repetitions of the same study. ``token`` is drawn when a campaign begins. It distinguishes campaigns of the
    same number that began in different stores; planned tasks do not depend on it.
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

    def order(self, *part: str) -> Generator:
        """A random generator for the order of a part of the campaign, such as a round.

        The streams of different studies, and of campaigns of one, are independent also if they have the same seed:
        otherwise noise that depends on the order would give all of them the same errors.
        """
        return generator(self.seed, self.family, str(self.campaign), *part)


class Task(Struct, frozen=True, dict=True):
    """One run to do.

    ``study`` is a study's key; ``stage`` is its purpose within the study (``pilot``, ``design``);
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


PILOT_STAGE = "pilot"
ISOLATION_STAGE = "isolation"


def prepares(task: Task) -> bool:
    """Whether a task is done before its study has a design: a pilot, or one that isolates failures."""
    return task.stage in {PILOT_STAGE, ISOLATION_STAGE}


_TYPICAL = 3


_NO_UNITS: Mapping[str, float] = MappingProxyType({})


class Budget(Struct, frozen=True):
    """The limits of a campaign: runs, machine time and wall time in seconds; infinity means no limit.

    Machine time adds up all runs; wall time is the time in which at least one was in progress.
    """

    runs: float = math.inf
    seconds: float = math.inf
    wall: float = math.inf

    def __post_init__(self) -> None:
        if math.isnan(self.runs + self.seconds + self.wall):
            raise InputError("a budget is a number of runs or a time")

    @classmethod
    def parse(cls, text: str, runs_of: Mapping[str, float] = _NO_UNITS) -> Budget:
        """Read ``96`` as runs, ``2m`` as time, and ``24 rounds`` where ``runs_of`` has the runs of a round.

        Raises:
            InputError: for any other text.
        """
        text = text.strip()
        number, _, unit = text.partition(" ")
        unit = unit if unit in runs_of else f"{unit}s"  # 1 round
        if unit in runs_of and re.fullmatch(r"[1-9][0-9]{0,8}", number):
            return cls(runs=int(number) * runs_of[unit])
        if re.fullmatch(r"[0-9]{1,9}", text):
            if int(text) == 0:
                raise InputError("a budget of 0 runs measures nothing", fix="give at least 1")
            return cls(runs=int(text))
        try:
            return cls(seconds=parse_duration(text))
        except InputError as error:
            others = "".join(f", or a number of {unit}" for unit in runs_of)
            raise InputError(
                f"{text!r} is not a valid budget", fix=f"give a number of runs such as 96 or a time such as 2m{others}"
            ) from error

    def left(self, evidence: Evidence, out: int = 0) -> Budget:
        """What remains after the runs of the evidence, and ``out`` more runs that are in progress.

        A time in which less than half a run fits counts as spent: another run would exceed the budget by more than
        stopping leaves unused. The median of the last runs is the expected time of one, as the first may include a
        build.
        """
        last = [run.seconds for run in evidence.runs[-_TYPICAL:]]
        typical = median(last) if len(last) == _TYPICAL else 0.0
        seconds = self.seconds - evidence.seconds - out * typical if math.isfinite(self.seconds) else self.seconds
        wall = self.wall - evidence.wall_seconds if math.isfinite(self.wall) else self.wall
        worth = [time if time > 0.5 * typical else 0.0 for time in (seconds, wall)]
        return Budget(max(0.0, self.runs - len(evidence.runs) - out), *worth)

    @property
    def spent(self) -> bool:
        """Whether nothing remains of one of the limits."""
        return self.runs <= 0 or self.seconds <= 0 or self.wall <= 0


class BatchOrder(StrEnum):
    """How the members of a batch follow each other on their machine."""

    SEQUENCE = "sequence"
    TOGETHER = "together"
    FREE = "free"


Work = TypeVar("Work")


class Batch(Struct, Generic[Work], frozen=True):
    """Tasks, or jobs, that stay on one machine: one after the other, all at once, or in any order.

    Raises:
        InputError: where it has no member.
    """

    members: tuple[Work, ...]
    order: BatchOrder = BatchOrder.SEQUENCE

    def __post_init__(self) -> None:
        if not self.members:
            raise InputError("a batch has no task")


def batches(tasks: Iterable[Task], key: Callable[[Task], object]) -> tuple[Batch[Task], ...]:
    """Group successive tasks with the same ``key`` into batches that run in sequence."""
    return tuple(Batch(tuple(group)) for _, group in groupby(tasks, key))


@dataclass(frozen=True)
class Plan:
    """Batches in the order in which they are to be released; empty when a study has enough.

    Order and co-location are a contract with the engine. ``expected_total`` is the number of tasks that the study will
    want from here, these included, as far as it knows. ``ahead`` holds the batches that follow if those before them
    leave the study undecided: an engine that would otherwise be idle gets them early.
    """

    batches: tuple[Batch[Task], ...] = ()
    expected_total: int = 0
    ahead: tuple[Batch[Task], ...] = ()

    def __post_init__(self) -> None:
        if not all(isinstance(each, Batch) for each in (*self.batches, *self.ahead)):
            raise InputError("a plan has batches of tasks", fix="write Plan.of(tasks) for tasks in order")
        object.__setattr__(self, "expected_total", max(self.expected_total, len(self)))

    @classmethod
    def of(cls, tasks: Iterable[Task], expected_total: int = 0) -> Plan:
        """A plan of tasks in order, each of which may run on another machine."""
        return cls(tuple(Batch((task,)) for task in tasks), expected_total)

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks of all batches, in order, without those ``ahead``."""
        return tuple(task for batch in self.batches for task in batch.members)

    def __len__(self) -> int:
        return len(self.tasks)

    def within(self, budget: Budget) -> Plan:
        """The first tasks, as many as the budget has runs for; none where it is spent."""
        if budget.spent:
            return Plan()
        if math.isinf(budget.runs):
            return self
        runs = int(budget.runs)
        ahead = _first(self.ahead, max(0, runs - len(self)))
        return Plan(_first(self.batches, runs), min(self.expected_total, runs), ahead)

    def at_most(self, number: int) -> Plan:
        """The first tasks, at most ``number``, of all that are expected."""
        return Plan(_first(self.batches, number), self.expected_total)


def _first(batches: Iterable[Batch[Task]], number: int) -> tuple[Batch[Task], ...]:
    """The batches of the first ``number`` tasks; the last one may be cut."""
    found: list[Batch[Task]] = []
    for batch in batches:
        if number <= 0:
            break
        found.append(batch if len(batch.members) <= number else replace(batch, members=batch.members[:number]))
        number -= len(batch.members)
    return tuple(found)


class Pairing(StrEnum):
    """One after the other, or both at once, each on a core of its own."""

    INTERLEAVED = "interleaved"
    DUET = "duet"


class Stopping(StrEnum):
    """Whether the number of runs is fixed beforehand, or depends on the measurements."""

    FIXED = "fixed"
    ANYTIME = "anytime"
