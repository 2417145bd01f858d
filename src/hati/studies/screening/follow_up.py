"""The follow-up of a screening: runs that are set aside to refute what its design found."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.core import Benchmark, Evidence, Metric, Plan, StudyId
from hati.studies.screening.claims import Claims
from hati.studies.screening.flip_order import PAIRS, FlipOrder
from hati.studies.screening.flip_stages import flip_stage, is_flip, is_of_flip
from hati.studies.screening.flips import Flip
from hati.studies.screening.reruns import is_rerun, rerun_stage, run_key, settled

if TYPE_CHECKING:
    from hati.space import Space

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


class FollowUp(Struct, frozen=True):
    """Flips of the options that a design found important, the most doubtful first, until ``runs`` are made.

    The last ``held_back`` are made as far as repeats of suspect flips do not take their place. It shares its id, and so
    its evidence and its budget, with the screening study.
    """

    id: StudyId
    benchmark: Benchmark
    metric: Metric
    revision: str
    space: Space
    runs: int
    held_back: int = 0

    def first(self, evidence: Evidence, claims: Claims) -> Plan:
        """The next flip but for those that are held back; ``claims`` of the design's rows if needed."""
        return self._next(evidence, claims, self.runs - self.held_back)

    def rest(self, evidence: Evidence, claims: Claims) -> Plan:
        """The next flip but for those whose place repeats of suspect flips take."""
        return self._next(evidence, claims, self.runs - self.reruns(evidence))

    def reruns(self, evidence: Evidence) -> int:
        """The number of runs that repeat flips."""
        return sum(is_rerun(run.task) and is_of_flip(run.task) for run in evidence.runs)

    def looked_at(self, evidence: Evidence, claims: Claims) -> frozenset[str]:
        """The tasks among which suspect flips are looked for: the first, whichever others there are."""
        first = self._order.progress(evidence, claims(evidence), self.runs - self.held_back)
        return frozenset(task.id for task in first.made)

    def given_up(self, evidence: Evidence, claims: Claims) -> tuple[str, ...]:
        """The options whose last pairs all failed, or for which no valid pair is found."""
        return self._order.progress(evidence, claims(evidence), self.runs).given_up

    def _next(self, evidence: Evidence, claims: Claims, runs: int) -> Plan:
        """One run at a time: what comes after it depends on whether it fails."""
        made = sum(is_flip(run.task) for run in evidence.runs)
        if made >= runs:
            return Plan()
        ahead = self._order.progress(evidence, claims(evidence), runs).ahead
        return Plan() if ahead is None else Plan((ahead,), self.runs - made - self.reruns(evidence))

    @property
    def _order(self) -> FlipOrder:
        return FlipOrder(self.id, self.benchmark, self.metric, self.revision, self.space, self.runs)


def flips_made(evidence: Evidence, metric: Metric, space: Space, option: str) -> tuple[Flip, ...]:
    """The flips of an option, valid in the space, both of whose runs yielded a value on one machine.

    Each is from the earlier setting to the later one. In place of a run that was repeated stands the median run.
    """
    stage = flip_stage(option)
    made = Evidence(tuple(run for run in evidence.runs if run.task.stage in (stage, rerun_stage(stage))))
    configurations = dict.fromkeys(run.task.configuration for run in made.runs)
    found = settled(made, metric, {each: 0 for each in configurations if space.valid(each)})
    pairs: dict[tuple[int, int], list[tuple[int, int]]] = {}
    settings = space.option(option).settings
    for place, run in enumerate(found.runs):
        position = settings.index(run.task.configuration[option])
        pairs.setdefault((run_key(run.task)[-1], int(found.machines[place])), []).append((position, place))
    return tuple(
        Flip(
            found.runs[one].task.configuration,
            found.runs[other].task.configuration,
            (float(found.values[one]), float(found.values[other])),
        )
        for (_, one), (_, other) in (sorted(pair) for pair in pairs.values() if len(pair) == 2)
    )
