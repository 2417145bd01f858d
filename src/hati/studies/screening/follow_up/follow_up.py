"""The follow-up of a screening: runs that are set aside to refute the design's findings, after its rows."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.core import Benchmark, Configuration, Evidence, Metric, Plan, StudyId, Task, generator, replace
from hati.studies.failures import nothing_measured
from hati.studies.screening.analysis.runs import MeasuredDesign
from hati.studies.screening.conclusion import SuspectRun
from hati.studies.screening.follow_up.claims import Claim, Claims
from hati.studies.screening.follow_up.flips import Flip, flip_stage, flipped, is_flip, is_of_flip
from hati.studies.screening.follow_up.reruns import STAGE as AGAIN
from hati.studies.screening.follow_up.reruns import is_rerun, rerun_stage, reruns_made, run_key, settled
from hati.studies.screening.planning.tasks import STAGE

if TYPE_CHECKING:
    from hati.space import Space


class FollowedDesign(Struct, frozen=True, dict=True):
    """A design's ``configurations`` in a ``space``, each run ``repetitions`` times, and the flips that follow it.

    Median runs replace the runs that were repeated. Evidence may hold runs of a design that was abandoned for this one
    because settings do not work: of these, only configurations of this design count, and flips that the space allows.
    """

    metric: Metric
    space: Space
    configurations: tuple[Configuration, ...]
    repetitions: int

    def design_runs(self, evidence: Evidence) -> Evidence:
        """The runs of the design, and those that repeat them."""
        return _kept(evidence, _is_of_design)

    def measured(self, evidence: Evidence) -> MeasuredDesign:
        """The design's runs that yielded a value.

        Raises:
            MeasurementError: where there is none.
        """
        found = settled(self.design_runs(evidence), self.metric, self._rows)
        if not len(found.values):
            raise nothing_measured(found.reasons)
        one_block = self.repetitions == 1  # replicated configurations are run among the others
        return replace(found, blocks=found.machines) if one_block else found

    def measured_with_flips(self, evidence: Evidence) -> MeasuredDesign:
        """The runs of the design and of the follow-up that yielded a value; the design's where no flip did.

        Raises:
            MeasurementError: where no run of the design did.
        """
        design = self.measured(evidence)
        if not any(is_flip(run.task) for run in evidence.runs):
            return design
        made = _kept(evidence, _is_row)
        found = settled(made, self.metric, self._rows_with_flips(made))
        return replace(found, blocks=found.machines)

    def repeated_runs(self, evidence: Evidence) -> tuple[SuspectRun, ...]:
        """The runs that were repeated, each with its fresh values."""
        made = _kept(evidence, _is_row)
        return reruns_made(made, self.metric, self._rows_with_flips(made))

    @cached_property
    def _rows(self) -> dict[Configuration, int]:
        return {configuration: row for row, configuration in enumerate(self.configurations)}

    def _rows_with_flips(self, made: Evidence) -> dict[Configuration, int]:
        """The rows of the design, then the configurations of its flips."""
        flipped = dict.fromkeys(run.task.configuration for run in made.runs if is_of_flip(run.task))
        more = (each for each in flipped if each not in self._rows and self.space.valid(each))
        return {**self._rows, **{each: row for row, each in enumerate(more, len(self.configurations))}}


def _kept(evidence: Evidence, keeps: Callable[[Task], bool]) -> Evidence:
    return Evidence(tuple(run for run in evidence.runs if keeps(run.task)))


def _is_of_design(task: Task) -> bool:
    return task.stage in (STAGE, AGAIN)


def _is_row(task: Task) -> bool:
    return _is_of_design(task) or is_of_flip(task)


PAIRS = 5
"""Flips of an option at least: fewer rarely exclude anything."""
ATTEMPTS = 3
"""An option is given up after this number of failed pairs in a row."""

Pair = tuple[Task, ...]
"""The two runs of a flip in their order."""


class Progress(Struct, frozen=True):
    """The flips that were ``made``, the one ``ahead``, None where none is left, and the options that are given up."""

    made: tuple[Task, ...]
    ahead: Task | None
    given_up: tuple[str, ...]


class FlipOrder(Struct, frozen=True):
    """Flips of the most doubtful claims, of as many options as ``runs`` suffice for."""

    id: StudyId
    benchmark: Benchmark
    metric: Metric
    revision: str
    space: Space
    runs: int

    def progress(self, evidence: Evidence, claims: Sequence[Claim], runs: int) -> Progress:
        """The flips within ``runs`` runs; only whole pairs are begun, and none is completed whose first run failed."""
        outcomes = {run.task.id: run.of(self.metric.name) is not None for run in evidence.runs if is_flip(run.task)}
        made, failures = list[Task](), Counter[str]()
        ahead: Task | None = None
        for option, pair in self._attempts(claims, outcomes):
            known = [task for task in pair if task.id in outcomes]
            failed = not all(outcomes[task.id] for task in known)
            left = [] if failed else [task for task in pair if task not in known]
            if len(made) + len(pair) > runs or (left and len(outcomes) + len(left) > runs):
                break
            made += known
            if left:
                ahead = left[0]
                break
            failures[option] = 0 if _worked(pair, outcomes) else failures[option] + 1
        return Progress(tuple(made), ahead, tuple(name for name, number in failures.items() if number >= ATTEMPTS))

    def _attempts(self, claims: Sequence[Claim], outcomes: Mapping[str, bool]) -> Iterator[tuple[str, Pair]]:
        """Pairs of different options by turns, and the options; the next option's once one is given up."""
        waiting = deque(sorted(claims, key=lambda claim: claim.certainty))
        pairs = self.runs // 2
        places = min(len(waiting), max(1, pairs // PAIRS))
        active = {place: waiting.popleft() for place in range(places)}
        rng, numbers = generator(self.id.seed, "flips in order"), Counter[str]()
        for turn in count():
            if not active:
                return
            last = turn == pairs // places
            for place in map(int, rng.permutation(places)):
                if last and place >= pairs % places:
                    continue
                while place in active and not (yield from self._until_one_works(active[place], numbers, outcomes)):
                    del active[place]
                    if waiting:
                        active[place] = waiting.popleft()

    def _until_one_works(
        self, claim: Claim, numbers: Counter[str], outcomes: Mapping[str, bool]
    ) -> Generator[tuple[str, Pair], None, bool]:
        for _ in range(ATTEMPTS):
            pair = self._pair(claim, numbers[claim.option])
            numbers[claim.option] += 1
            yield claim.option, pair
            if _worked(pair, outcomes):
                return True
        return False

    def _pair(self, claim: Claim, number: int) -> Pair:
        """In the order in which they are run; empty where no pair of valid configurations was drawn."""
        rng = generator(self.id.seed, f"flip {claim.option} {number}")
        pair = flipped(self.space, claim.option, claim.ends, rng)
        if pair is None:
            return ()
        return tuple(
            Task(
                study=self.id.key,
                stage=flip_stage(claim.option),
                benchmark=self.benchmark.name,
                configuration=pair[int(place)],
                revision=self.revision,
                workload=self.benchmark.workload,
                repetition=number,
            )
            for place in rng.permutation(2)
        )


def _worked(pair: Pair, outcomes: Mapping[str, bool]) -> bool:
    """Whether both runs of a pair yielded a value."""
    return bool(pair) and all(outcomes.get(task.id, False) for task in pair)


PART = 0.2
"""About this part of a budget is set aside, in steps of the flips of one option."""
FEWEST = 40
"""Of fewer runs nothing is set aside: the flips of one option are more than a quarter of them."""
_PER_PARAMETER = 3
"""The configurations that the design keeps for every parameter, so that the model's own error is known."""


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
        return Plan() if ahead is None else Plan.of((ahead,), self.runs - made - self.reruns(evidence))

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
