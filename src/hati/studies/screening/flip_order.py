"""The order of flips: which option's is next, and what takes the place of a pair that failed."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.core import Benchmark, Evidence, Metric, StudyId, Task, generator
from hati.studies.screening.claims import Claim
from hati.studies.screening.flip_stages import flip_stage, is_flip
from hati.studies.screening.flips import flipped

if TYPE_CHECKING:
    from hati.space import Space

PAIRS = 5
"""Flips of an option at least: fewer rarely exclude anything."""
ATTEMPTS = 3
"""An option is given up after so many pairs in a row that failed."""

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
        """The flips up to so many runs; only whole pairs are begun, and none is completed whose first run failed."""
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
