"""What decides a suite study's tasks."""

from __future__ import annotations

from msgspec import Struct

from hati.core import Benchmark, InputError, StudyId
from hati.space import Space


class SuitePlan(Struct, frozen=True):
    """What decides a suite: its important options, the ranking of all, its size, and what runs beside it.

    ``size`` is the number of configurations, ``repetitions`` how often each is run; ``sampled`` configurations of a
    uniform random sample run interleaved with it (0: none). ``options_from`` says in words where the options are from.
    ``left_out`` are important options for whose strata there are too few runs; ``including`` is how many would suffice,
    None where these are too many to count.
    """

    options: tuple[str, ...]
    ranking: tuple[str, ...]
    size: int
    repetitions: int = 1
    sampled: int = 0
    options_from: str = "given"
    left_out: tuple[str, ...] = ()
    including: int | None = None

    def __post_init__(self) -> None:
        if self.size < 1 or self.repetitions < 1 or self.sampled < 0:
            raise InputError(f"a suite of {self.size} configurations x {self.repetitions} is nothing to run")


def suite_id(
    *, subject: str, revision: str, benchmark: Benchmark, space: Space, plan: SuitePlan, seed: int, machine: str
) -> StudyId:
    """The identity of a suite study, with all that decides its tasks; the metric does not."""
    parameters = {
        "subject": subject,
        "revision": revision,
        "benchmark": benchmark.name,
        "definition": benchmark.definition,
        "space": space.digest,
        "names": list(space.names),
        "options": list(plan.options),
        "ranking": list(plan.ranking),
        "size": plan.size,
        "repetitions": plan.repetitions,
        "sampled": plan.sampled,
        **({"template": list(map(str, space.template))} if space.template else {}),
    }
    return StudyId.of("suite", parameters, seed, machine)
