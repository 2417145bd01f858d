"""The runs of a design: their tasks, their order, and the remaining ones."""

from __future__ import annotations

from collections.abc import Sequence

from hati.core import Benchmark, Configuration, Evidence, Plan, StudyId, Task, generator
from hati.design import run_order
from hati.studies.failures import limit_until_first_success

STAGE = "design"


def design_tasks(
    study: StudyId,
    benchmark: Benchmark,
    revision: str,
    configurations: Sequence[Configuration],
    repetitions: int,
    replicated: int = 0,
) -> tuple[Task, ...]:
    """All runs of a design in order: each repetition is a block of all configurations in a random order.

    The first ``replicated`` configurations of a design with one repetition are run once more, anywhere in the order.
    """
    count = len(configurations)
    order = run_order(count + replicated, repetitions, generator(study.seed, "order"))
    return tuple(
        Task(
            study=study.key,
            stage=STAGE,
            benchmark=benchmark.name,
            configuration=configurations[int(row) % count],
            revision=revision,
            workload=benchmark.workload,
            repetition=int(row) // count if replicated else place // count,
        )
        for place, row in enumerate(order)
    )


def tasks_left(tasks: Sequence[Task], evidence: Evidence) -> Plan:
    """The tasks that are left; no more than five before a first run has worked, so that a hopeless study ends."""
    made = evidence.stage(STAGE)
    left = tuple(task for task in tasks if task.id not in made.known)
    return limit_until_first_success(Plan.of(left), made)
