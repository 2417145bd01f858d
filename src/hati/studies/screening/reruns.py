"""Suspect runs and their repeats, flips of single options, and the stages of a follow-up.

Each suspect run is repeated twice, and the median run of the three is used; if runs were not repeated, a robust fit
is reported in addition to the analysis of all runs. A flip changes one option in a uniformly drawn valid configuration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hati.core import (
    ISOLATION_STAGE,
    PILOT_STAGE,
    Benchmark,
    Configuration,
    Evidence,
    FloatArray,
    InputError,
    Metric,
    Plan,
    Run,
    Setting,
    StudyId,
    Task,
    replace,
)
from hati.stats import Index, ModelTerms, additive_blocks, pure_error, suspect_runs
from hati.studies.screening.conclusion import EffectScale, RobustFit, ScreeningConclusion, SuspectRun
from hati.studies.screening.planning.tasks import FRESH
from hati.studies.screening.planning.tasks import STAGE as DESIGN
from hati.studies.screening.runs import MeasuredDesign, machines_of, measured
from hati.studies.screening.warnings import Remedies

if TYPE_CHECKING:
    from hati.space import Space


RERUN_STAGE = "again"
"""The stage of repetitions of a design's runs; for repetitions of another stage this word precedes its name."""

RunKey = tuple[str, Configuration, int]
"""A run that may be repeated: its stage, its configuration and its repetition."""


class Reruns(Struct, frozen=True):
    """Repeats of suspect runs, one suspect run after the other, the most suspect first.

    They share their id, and so their evidence and their budget, with the screening study.
    """

    id: StudyId
    benchmark: Benchmark
    revision: str

    def plan(
        self, evidence: Evidence, metric: Metric, suspects: Callable[[Evidence], tuple[Run, ...]], left: int
    ) -> Plan:
        """The fresh runs of the most suspect run that has none yet; none if fewer than one run is ``left``.

        Suspect runs are repeated one at a time, since a median may clear the others; where a campaign is interrupted
        thus does not matter. None if a median is still suspect: the value was true, and the model lacks an effect.
        """
        if left < 1:
            return Plan()
        found, known = [run_key(run.task) for run in suspects(evidence)], repeated(evidence, metric)
        if any(key in known for key in found):
            return Plan()
        unmade = (tuple(task for task in self._tasks(*key) if task.id not in evidence.known) for key in found)
        return Plan.of(next(filter(None, unmade), ())).at_most(left)

    def _tasks(self, stage: str, configuration: Configuration, repetition: int) -> tuple[Task, ...]:
        return tuple(
            self.benchmark.task(self.id, rerun_stage(stage), configuration, self.revision, FRESH * repetition + number)
            for number in range(FRESH)
        )


def rerun_stage(stage: str) -> str:
    """The stage of the repetitions of a stage's runs."""
    return RERUN_STAGE if stage == DESIGN else f"{RERUN_STAGE} {stage}"


def is_rerun(task: Task) -> bool:
    """Whether a task repeats a suspect run."""
    return task.stage == RERUN_STAGE or task.stage.startswith(f"{RERUN_STAGE} ")


def design_reruns(evidence: Evidence) -> int:
    """The number of runs that repeat those of the design."""
    return len(evidence.stage(RERUN_STAGE).runs)


def run_key(task: Task) -> RunKey:
    """The key of a task's run; for a task that repeats another, the key of that other run."""
    return _repeated_run(task) if is_rerun(task) else (task.stage, task.configuration, task.repetition)


def settled(evidence: Evidence, metric: Metric, rows: Mapping[Configuration, int]) -> MeasuredDesign:
    """The runs as ``measured``, with each repeated run replaced by the median run.

    The median run keeps its own place in time and its own machine, and belongs to the repetition of the run that it
    replaces. A run stays as it is if only one of its fresh runs has a value.
    """
    found = measured(evidence, metric, rows)
    if not any(is_rerun(run.task) for run in evidence.runs):
        return found
    groups = _groups(found)
    stay = [place for place, run in enumerate(found.runs) if not is_rerun(run.task)]
    used = np.array([_median(found, place, groups) for place in stay], dtype=np.intp)
    runs = tuple(found.runs[place] for place in used)
    repetitions, machines = np.array([run_key(run.task)[2] for run in runs], dtype=np.intp), machines_of(runs)
    own = measured(without_reruns(evidence), metric, rows)
    return replace(
        own,
        values=found.values[used],
        blocks=additive_blocks(repetitions, machines),
        machines=machines,
        order=found.order[used],
        runs=runs,
        samples=tuple(found.samples[place] for place in used),
    )


def reruns_made(evidence: Evidence, metric: Metric, rows: Mapping[Configuration, int]) -> tuple[SuspectRun, ...]:
    """The runs that were repeated, each with its fresh values, in the order in which they were suspected."""
    found = measured(evidence, metric, rows)
    first = {run_key(run.task): place for place, run in enumerate(found.runs) if not is_rerun(run.task)}
    return tuple(
        SuspectRun(
            int(found.order[first[key]]),
            found.runs[first[key]].task.configuration,
            float(found.values[first[key]]),
            tuple(float(found.values[place]) for place in places),
            float(found.values[_median(found, first[key], {key: places})]),
        )
        for key, places in _groups(found).items()
        if key in first and len(places) == FRESH
    )


def repeated(evidence: Evidence, metric: Metric) -> frozenset[RunKey]:
    """The runs all of whose fresh runs yielded a value."""
    worked = (run.task for run in evidence.runs if is_rerun(run.task) and run.of(metric.name) is not None)
    return frozenset(key for key, count in Counter(map(_repeated_run, worked)).items() if count == FRESH)


def blocks_of_tasks(
    tasks: Sequence[Task], blocks: int, row_blocks: Callable[[int], Mapping[Configuration, int]]
) -> list[int | None]:
    """The block, from 0, of each run of a design and of each run that repeats one; None for any other run.

    A row is in the block that ``row_blocks`` gives, by default the first, and each repetition of it in the next. There
    are fewer blocks if ``row_blocks`` raises InputError for this number.
    """
    keys = [run_key(task) for task in tasks]
    number, known = _most_blocks(blocks, row_blocks) if any(stage == DESIGN for stage, *_ in keys) else (1, {})
    return [
        (known.get(configuration, 0) + repetition) % number if stage == DESIGN else None
        for stage, configuration, repetition in keys
    ]


def _most_blocks(
    most: int, row_blocks: Callable[[int], Mapping[Configuration, int]]
) -> tuple[int, Mapping[Configuration, int]]:
    for number in range(most, 1, -1):
        with suppress(InputError):
            return number, row_blocks(number)
    return 1, {}


def without_reruns(evidence: Evidence) -> Evidence:
    """The runs that do not repeat another."""
    return Evidence(tuple(run for run in evidence.runs if not is_rerun(run.task)))


def _repeated_run(task: Task) -> RunKey:
    stage = DESIGN if task.stage == RERUN_STAGE else task.stage.removeprefix(f"{RERUN_STAGE} ")
    return stage, task.configuration, task.repetition // FRESH


def _groups(found: MeasuredDesign) -> dict[RunKey, list[int]]:
    """The places of the fresh runs that yielded a value, by the run that they repeat."""
    groups: dict[RunKey, list[int]] = {}
    for place, run in enumerate(found.runs):
        if is_rerun(run.task):
            groups.setdefault(_repeated_run(run.task), []).append(place)
    return groups


def _median(found: MeasuredDesign, place: int, groups: Mapping[RunKey, list[int]]) -> int:
    """The place of the median of a run and its fresh runs; its own place if these are not complete."""
    fresh = groups.get(run_key(found.runs[place].task), [])
    if len(fresh) < FRESH:
        return place
    return sorted([place, *fresh], key=lambda each: float(found.values[each]))[FRESH // 2]


_FEWEST_REPEATS = 8
"""The degrees of freedom from which repeated configurations show that a metric does not vary."""
_NO_NOISE = 1e-6
"""The largest deviation of repeats, as a fraction, of a metric that does not vary, such as a size."""


def suspected(terms: ModelTerms, found: MeasuredDesign, scale: EffectScale) -> tuple[Index, FloatArray]:
    """The places of suspect runs, the most suspect first, and the values with predictions by the others in their place.

    None where repeated configurations have the same value: what a model leaves of such runs is its lack of fit.

    Args:
        terms: the candidate terms; each run is a candidate, too.
        found: the runs.
        scale: the deciding scale.
    """
    if _without_noise(found):
        return np.empty(0, dtype=np.intp), found.values
    decided = scale.decided(found.values)
    suspects = suspect_runs(terms, decided)
    without = suspects.without(decided)
    return suspects.places, np.exp(without) if scale is EffectScale.LOG else without


def _without_noise(found: MeasuredDesign) -> bool:
    """Whether enough repeated configurations have the same value each."""
    variance, df = pure_error(found.values, found.rows, np.zeros(len(found.rows), dtype=np.intp))
    return df >= _FEWEST_REPEATS and variance <= (_NO_NOISE * float(np.abs(found.values).max())) ** 2


class Unsettled(Struct, frozen=True, eq=False):
    """The suspect ``runs`` that were not repeated, and the value that the others predict for each, by its task's id.

    ``of_design`` is the number of these that are the design's.
    """

    runs: tuple[SuspectRun, ...]
    predicted: Mapping[str, float]
    of_design: int

    def without(self, found: MeasuredDesign) -> MeasuredDesign:
        """The runs, with predicted values in place of the suspect ones."""
        values = [self.predicted.get(run.task.id, value) for run, value in zip(found.runs, found.values, strict=True)]
        return replace(found, values=np.array(values, dtype=np.float64))


def unsettled(found: MeasuredDesign, suspects: tuple[Index, FloatArray], known: frozenset[RunKey]) -> Unsettled:
    """The suspect runs that were not repeated; ``known`` are the repeated ones."""
    places, predicted = suspects
    left = [int(place) for place in places if run_key(found.runs[place].task) not in known]
    return Unsettled(
        tuple(
            SuspectRun(int(found.order[i]), found.runs[i].task.configuration, float(found.values[i]), (), None)
            for i in left
        ),
        {found.runs[i].task.id: float(predicted[i]) for i in left},
        sum(run_key(found.runs[i].task)[0] == DESIGN for i in left),
    )


def with_suspects(
    conclusion: ScreeningConclusion,
    repeated_runs: tuple[SuspectRun, ...],
    left: Unsettled,
    shown: Callable[[Unsettled], tuple[str, ...]],
    spare: int,
    remedies: Remedies,
) -> ScreeningConclusion:
    """The conclusion with the repeated runs, and with the robust fit if other suspect runs were not repeated.

    Args:
        conclusion: from all runs.
        repeated_runs: each with its fresh values.
        left: the suspect runs that were not repeated.
        shown: the options that the same analysis shows with predicted values for these.
        spare: the runs that are left to repeat others.
        remedies: what warnings advise.
    """
    if not left.runs:
        return replace(conclusion, suspects=repeated_runs)
    before = (*conclusion.important, *conclusion.important_or_aliased)
    return replace(
        conclusion,
        suspects=(*repeated_runs, *left.runs),
        robust=_robust_fit(before, shown(left)),
        warnings=(*conclusion.warnings, *_not_repeated(left.of_design, spare, remedies)),
    )


def _robust_fit(shown: tuple[str, ...], robust: tuple[str, ...]) -> RobustFit:
    """The options that the ``robust`` analysis shows, compared with those ``shown`` by the analysis of all runs."""
    added = tuple(name for name in robust if name not in shown)
    return RobustFit(robust, added, tuple(name for name in shown if name not in robust))


def _not_repeated(left: int, spare: int, remedies: Remedies) -> Iterator[str]:
    """A warning that suspect runs were not repeated, if a larger budget would have served."""
    if left and spare < FRESH and remedies.rest:
        yield (
            f"the budget left no runs to repeat {left} suspect {'run' if left == 1 else 'runs'}; "
            f"--fresh with {FRESH * left} runs more in the budget keeps some for that"
        )


FLIP_STAGE = "follow-up"
"""The first word of the stages of flips; the option's name follows."""


def flip_stage(option: str) -> str:
    """The stage of an option's flips."""
    return f"{FLIP_STAGE} {option}"


def is_flip(task: Task) -> bool:
    """Whether a task is a run of a flip."""
    return task.stage.startswith(f"{FLIP_STAGE} ")


def purposes(evidence: Evidence) -> tuple[tuple[str, int], ...]:
    """The number of runs for each purpose, in words; they add up to all runs."""
    return tuple(Counter(_purpose(run.task) for run in evidence.runs).items())


def _purpose(task: Task) -> str:
    if is_rerun(task):
        return "repeats of suspect runs"
    known = {DESIGN: "of the design", PILOT_STAGE: "pilot runs", ISOLATION_STAGE: "to trace failures"}
    return "of flips" if is_flip(task) else known.get(task.stage, task.stage)


def is_of_flip(task: Task) -> bool:
    """Whether a task is a run of a flip, or repeats one."""
    return run_key(task)[0].startswith(f"{FLIP_STAGE} ")


_TRIES = 200
"""The most configurations drawn to find a valid pair."""

Ends = tuple[Setting, Setting]
"""The settings that an option is flipped between."""

Pair = tuple[Configuration, Configuration]


class Flip(Struct, frozen=True):
    """A pair of configurations that differ in one option, and the metric's value at each, in its unit."""

    before: Configuration
    after: Configuration
    values: tuple[float, float]

    @property
    def turned(self) -> Flip:
        """The same pair from after to before."""
        return Flip(self.after, self.before, self.values[::-1])


def flipped(space: Space, option: str, ends: Ends, rng: np.random.Generator) -> Pair | None:
    """A uniformly drawn valid configuration with the option at each of two settings, all else being equal.

    Options that become active have a setting drawn uniformly, the same at both ends: they count as the mean over their
    settings, as in effects. None where no drawn configuration is valid with both settings.
    """
    from hati.space import sample

    for _ in range(_TRIES):
        (drawn,) = sample(space, 1, rng)
        inactive = [other for other in space.options if other.name not in drawn]
        new = {other.name: other.settings[int(rng.integers(len(other.settings)))] for other in inactive}
        before, after = (space.canonical({**new, **drawn, option: setting}) for setting in ends)
        if all(option in each and space.valid(each) for each in (before, after)):
            return before, after
    return None
