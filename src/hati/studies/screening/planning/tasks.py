"""The runs of a screening: the cost of one, those set aside for flips and repeats, and the tasks of the design.

A machine of a pool runs whole repetitions, or blocks of the design.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import (
    Benchmark,
    Configuration,
    Evidence,
    FloatArray,
    InputError,
    Outcome,
    Plan,
    Run,
    Setting,
    StudyId,
    Task,
    generator,
    replace,
)
from hati.design import Model, levels, run_order, trend_robust_order
from hati.stats import FEWEST_SUSPECTED, most_suspect
from hati.studies import schedule
from hati.studies.screening.planning.fractions import Choice
from hati.studies.screening.planning.models import PARTIAL, ModelChoice

if TYPE_CHECKING:
    from hati.space import Space

RESERVE = 0.05
"""The fraction of a time budget kept in reserve: runs do not all take the same time."""


class RunCost(Struct, frozen=True):
    """The seconds of a run, the additional ones of a build, and the most builds that are left."""

    seconds_per_run: float
    seconds_per_build: float = 0.0
    builds_left: int = 0

    def runs_within(self, seconds: float) -> float:
        """The number of runs, with their builds, that take this time; infinite if a run takes none."""
        run, build = self.seconds_per_run, self.seconds_per_build
        runs = (seconds - self.builds_left * build) / run if run > 0.0 else math.inf
        return runs if runs >= self.builds_left else seconds / (run + build)  # each run may need its own build


def run_cost(runs: Sequence[Run], benchmark: Benchmark, space: Space) -> RunCost | None:
    """The cost of a run by those that worked, in order; None without any.

    It is their mean time, without the time by which the first run of each build exceeds later ones: that pays for the
    build and for cold caches.
    """
    known = space.by_name
    bindings = benchmark.bindings if benchmark.build else ()
    options = [binding.option for binding in bindings if binding.build and binding.option in known]
    costs: dict[tuple[Setting | None, ...], list[float]] = {}
    for run in runs:
        if run.outcome is Outcome.DONE:
            build = tuple(run.task.configuration.get(option) for option in options)
            costs.setdefault(build, []).append(run.seconds)
    if not costs:
        return None
    longer = _first_runs_longer(list(costs.values()))
    return RunCost(
        (sum(map(sum, costs.values())) - sum(longer)) / sum(map(len, costs.values())),
        float(np.mean(longer)) if options else 0.0,
        max(0, math.prod(len(known[name].settings) for name in options) - len(costs)),
    )


def _first_runs_longer(builds: Sequence[Sequence[float]]) -> list[float]:
    """The excess time of each build's first run over its later runs, or over those of other builds if it has none."""
    all_later = [seconds for _, *later in builds for seconds in later]
    known = [(first, later or all_later) for first, *later in builds]
    return [max(0.0, first - float(np.mean(later))) if later else 0.0 for first, later in known]


FRESH = 2
"""The number of fresh runs per suspect run: the median of three is near the two that agree."""
_SPARE = 3
"""The runs needed in addition to one per parameter: with fewer, no main effect is tested."""


def runs_again(runs: int, spare: int) -> int:
    """The number of spare runs used to repeat suspect ones among ``runs``; a whole number of pairs."""
    return FRESH * min(most_suspect(runs), spare // FRESH)


def with_reruns(choice: Choice | ModelChoice, runs: int) -> Choice | ModelChoice:
    """The choice with runs to repeat suspect ones: those of ``runs`` that the design leaves, or half with a follow-up.

    If none are left, the last runs of a design that is judged by a model are held back to repeat one suspect run; on
    clean data they are made after all, and nothing is lost. The last runs of a follow-up are held back for suspect
    flips in the same way.
    """
    spare = runs - choice.runs
    if isinstance(choice, Choice):
        return replace(choice, again=runs_again(choice.runs, spare))
    again = runs_again(choice.runs, spare // 2 if choice.follow_up else spare)
    enough = max(FEWEST_SUSPECTED, choice.parameters + _SPARE) + FRESH
    if not again and choice.repetitions == 1 and choice.runs >= enough and choice.kind != PARTIAL:
        return replace(choice, again=FRESH, held_back=FRESH)
    flips = runs_again(choice.follow_up, choice.follow_up) if choice.follow_up else 0
    return replace(choice, again=again, flips_held_back=flips)


def followed(choice: ModelChoice, aside: int) -> ModelChoice:
    """The choice with ``aside`` runs for a follow-up."""
    return replace(choice, follow_up=aside, reason=f"{choice.reason}; then up to {aside} runs to refute what is found")


def drawable(space: Space) -> int:
    """The number of valid configurations; 0 if constraints are too entangled to draw them uniformly."""
    from hati.space import count

    try:
        return count(space)
    except InputError:
        return 0


_LOOK = 16
"""The fewest runs that show whether an option dominates."""
_LOOK_PART = 4


def with_look(choice: Choice | ModelChoice, seconds: float = 0.0, limit: int = 0) -> Choice | ModelChoice:
    """The choice with an interim look after a quarter of its runs, if these suffice and half of the runs are left.

    If the whole campaign has a time of ``seconds``, more runs may be left than were planned, so that any suffice. A
    ``limit`` is that of a design that is as small as an effect to find allows.
    """
    if not isinstance(choice, ModelChoice) or choice.repetitions > 1 or choice.kind == PARTIAL:
        return choice
    look = max(_LOOK, -(-choice.runs // _LOOK_PART))
    enough = look < choice.runs - choice.held_back if seconds else 2 * look <= choice.runs
    return replace(choice, look=look, seconds=seconds, limit=limit) if enough else choice


def of_pool(choice: Choice | ModelChoice, machines: int) -> Choice | ModelChoice:
    """The choice for machines that share a design, each with an interim look at the first runs of its own.

    None of them waits for another. There is no look if a machine's runs are too few for it.
    """
    if not isinstance(choice, ModelChoice) or not choice.look or machines == 1:
        return choice
    own = (choice.runs - choice.held_back) // machines
    look = max(_LOOK, -(-own // _LOOK_PART))
    return replace(choice, look=look, machines=machines) if 2 * look <= own else replace(choice, look=0)


def with_usable(choice: Choice | ModelChoice, usable: Sequence[Configuration], space: Space) -> Choice | ModelChoice:
    """The choice with already measured configurations added to its rows; a full factorial has them anyway."""
    if not isinstance(choice, ModelChoice) or not usable:
        return choice
    known = set(choice.rows)
    rows = [tuple(row) for row in levels(usable, space).tolist()]
    more = tuple(row for row in dict.fromkeys(rows) if row not in known)
    if not more:
        return choice
    return replace(choice, rows=(*choice.rows, *more), reason=f"{choice.reason}; and {len(more)} that were run before")


STAGE = "design"
_ORDERS = 100
"""The random orders of which the one that a linear trend disturbs least is run."""
_MOST_RUNS = 256
"""Designs with more runs have a random order: by chance a trend raises the variance of an effect by 1 / runs."""
_PAIRS = 2
_MOST_COLUMNS = 1_000


def with_robust_order(choice: Choice | ModelChoice) -> Choice | ModelChoice:
    """The choice with an order of runs that a linear trend disturbs little."""
    return replace(choice, orders=_ORDERS) if choice.runs <= _MOST_RUNS else choice


def design_tasks(
    study: StudyId,
    benchmark: Benchmark,
    revision: str,
    space: Space,
    configurations: Sequence[Configuration],
    choice: Choice | ModelChoice,
) -> tuple[Task, ...]:
    """All runs of a design in order: each repetition is a block of all configurations in a random order.

    The first configurations that a choice replicates are run once more, anywhere in the order.
    """
    count, replicated = len(configurations), choice.replicated if isinstance(choice, ModelChoice) else 0
    rows = configurations if not replicated else (*configurations, *configurations[:replicated])
    return tuple(
        benchmark.task(
            study,
            STAGE,
            rows[int(row)],
            revision,
            int(row) // count if replicated else place // count,
        )
        for place, row in enumerate(_order_of(rows, space, choice, study.seed))
    )


def _order_of(rows: Sequence[Configuration], space: Space, choice: Choice | ModelChoice, seed: int) -> NDArray[np.intp]:
    """The row that each run measures, of those of one repetition."""
    rng = generator(seed, "order")
    if not choice.orders:
        return run_order(len(rows), choice.repetitions, rng)
    mains, pairs = effect_columns(rows, space, _MOST_COLUMNS)
    return trend_robust_order(mains, pairs, choice.repetitions, choice.orders, rng)


def effect_columns(configurations: Sequence[Configuration], space: Space, most: int) -> tuple[FloatArray, FloatArray]:
    """The columns of main effects and of two-factor interactions; none of these if they may be more than ``most``."""
    sizes = [len(option.settings) for option in space.options]
    parameters = sum(sizes) - len(sizes)
    model = Model.of_order(sizes, 1 if parameters**2 > most else _PAIRS)
    columns = model.matrix(levels(configurations, space))[:, 1:]
    return columns[:, :parameters], columns[:, parameters:]


def tasks_left(tasks: Sequence[Task], evidence: Evidence) -> Plan:
    """The tasks that are left; at most five until a first run has worked, so that a study that cannot work ends."""
    return schedule.tasks_left(tasks, evidence.stage(STAGE))


class Blocked(Protocol):
    """A study whose runs are in blocks."""

    @property
    def tasks(self) -> tuple[Task, ...]:
        """All runs of the design in order."""
        ...

    def plan(self, evidence: Evidence) -> Plan:
        """The tasks that are left."""
        ...

    def as_run(self, evidence: Evidence) -> Blocked:
        """The study that the runs so far belong to."""
        ...

    def blocks_of(self, tasks: Sequence[Task], blocks: int) -> list[int | None]:
        """The block of each task, of at most ``blocks``, from 0; None where any machine may run it."""
        ...


def machine_share(study: Blocked, evidence: Evidence, member: int, machines: int) -> Plan:
    """The tasks that are left for machine ``member``, from 0; any machine may run a task without a block.

    Before a first run has worked, each machine gets the first of its own tasks: the design's first tasks may all belong
    to another machine.
    """
    if machines == 1:
        return study.plan(evidence)
    if not evidence.stage(STAGE).done:
        return tasks_left(own_tasks(study, study.tasks, member, machines), evidence)
    plan = study.plan(evidence)
    own = {task.id for task in own_tasks(study.as_run(evidence), plan.tasks, member, machines)}
    batches = tuple(batch for batch in plan.batches if batch.members[0].id in own)
    return plan if len(batches) == len(plan.batches) else Plan(batches)


def own_tasks(study: Blocked, tasks: Sequence[Task], member: int, machines: int) -> tuple[Task, ...]:
    """The tasks that one of the machines, from 0, may run."""
    if machines == 1:
        return tuple(tasks)
    blocks = study.blocks_of(tasks, machines)
    return tuple(task for task, block in zip(tasks, blocks, strict=True) if block in {None, member})
