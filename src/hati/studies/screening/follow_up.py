"""The follow-up of a screening: runs that are set aside to refute what its design found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from hati.core import Benchmark, Evidence, Metric, Plan, StudyId, Task, generator
from hati.studies.screening.flips import Ends, Flip, flipped
from hati.studies.screening.measured import measured
from hati.studies.screening.model_fit import Contrast

if TYPE_CHECKING:
    from hati.space import Space

STAGE = "follow-up"
"""Stages of the campaign: one for each option, whose name comes after this word."""
PAIRS = 5
"""Flips of an option at least: fewer rarely exclude anything."""
PART = 0.2
"""About this part of a budget is set aside, in steps of the flips of one option."""
FEWEST = 40
"""Of fewer runs nothing is set aside: the flips of one option are more than a quarter of them."""
_PER_PARAMETER = 3
"""The design keeps so many configurations for every parameter, so that the model's own error is known."""


def runs_aside(runs: int, parameters: int) -> int:
    """How many runs of a budget are set aside to follow up; 0 where flips would not be useful, or cost the design."""
    step = 2 * PAIRS
    wanted = step * int(PART * runs / step + 0.5) if runs >= FEWEST else 0
    spare = step * max(0, (runs - _PER_PARAMETER * parameters) // step)
    return min(wanted, spare)


def fewest_followed(parameters: int) -> int:
    """The smallest budget of which runs are set aside."""
    return next(runs for runs in count(FEWEST) if runs_aside(runs, parameters))


@dataclass(frozen=True)
class Claim:
    """What a design's rows say of an option: the change between its ``ends``, on the deciding scale."""

    option: str
    ends: Ends
    change: Contrast

    @property
    def certainty(self) -> float:
        """The change in its standard errors."""
        error = self.change.standard_error
        return abs(self.change.estimate) / error if error else float("inf")


@dataclass(frozen=True)
class FollowUp:
    """Flips of the options that a design found important, the most doubtful first, until ``runs`` are made.

    It shares its id, and so its evidence and its budget, with the screening study.
    """

    id: StudyId
    benchmark: Benchmark
    metric: Metric
    revision: str
    space: Space
    runs: int

    def plan(self, evidence: Evidence, claims: Callable[[Evidence], Sequence[Claim]]) -> Plan:
        """The flips that are left, pairs of different options by turns; ``claims`` of the design's rows if needed."""
        left = self.runs - sum(is_flip(run.task) for run in evidence.runs)
        if left < 1:
            return Plan()
        tasks = self._tasks(sorted(claims(evidence), key=lambda claim: claim.certainty))
        return Plan(tuple(task for task in tasks if task.id not in evidence.known)).at_most(left)

    def flips(self, evidence: Evidence, option: str) -> tuple[Flip, ...]:
        """The flips of an option both of whose runs yielded a value, each from the earlier setting to the later one."""
        made = evidence.stage(_stage(option))
        found = measured(made, self.metric, {run.task.configuration: 0 for run in made.runs})
        pairs: dict[int, list[tuple[int, int]]] = {}
        settings = self.space.option(option).settings
        for place, run in enumerate(found.runs):
            position = settings.index(run.task.configuration[option])
            pairs.setdefault(run.task.repetition, []).append((position, place))
        return tuple(
            Flip(
                found.runs[one].task.configuration,
                found.runs[other].task.configuration,
                (float(found.values[one]), float(found.values[other])),
            )
            for (_, one), (_, other) in (sorted(pair) for pair in pairs.values() if len(pair) == 2)
        )

    def _tasks(self, claims: Sequence[Claim]) -> Iterator[Task]:
        pairs = self.runs // 2
        chosen = claims[: max(1, pairs // PAIRS)]
        rng = generator(self.id.seed, "flips in order")
        for number in range(-(-pairs // max(1, len(chosen)))):
            for place in rng.permutation(len(chosen)):
                if number * len(chosen) + place < pairs:
                    yield from self._pair(chosen[int(place)], number)

    def _pair(self, claim: Claim, number: int) -> Iterator[Task]:
        rng = generator(self.id.seed, f"flip {claim.option} {number}")
        pair = flipped(self.space, claim.option, claim.ends, rng)
        if pair is None:
            return
        for place in rng.permutation(2):
            yield Task(
                study=self.id.key,
                stage=_stage(claim.option),
                benchmark=self.benchmark.name,
                configuration=pair[int(place)],
                revision=self.revision,
                workload=self.benchmark.workload,
                repetition=number,
            )


def is_flip(task: Task) -> bool:
    """Whether a task follows up."""
    return task.stage.startswith(f"{STAGE} ")


def _stage(option: str) -> str:
    return f"{STAGE} {option}"
