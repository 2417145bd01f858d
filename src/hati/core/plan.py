"""Plans are data: tasks in order, and what may be spent on them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.core.errors import InputError
from hati.core.study import Task
from hati.core.units import parse_duration

if TYPE_CHECKING:
    from hati.core.evidence import Evidence


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
