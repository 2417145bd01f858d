"""A program that exists only as a function of its configuration, and the screening of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from hati.campaign import campaign
from hati.core import Benchmark, Budget, Evidence, Metric, Reader, ReaderKind, Task, generator
from hati.space import Option, Space
from hati.studies.screening import Screening, ScreeningConclusion, choose, study_id
from hati.testing import FakeEngine, MemoryStore

Value = Callable[[Task], float | Sequence[float] | str]
"""What a task yields: a value, several, or why it failed."""

LATENCY = Metric("latency", "s")
BENCHMARK = Benchmark("orders", ("true",), Reader(ReaderKind.HATI), (LATENCY,))


def space(count: int) -> Space:
    """Options a, b, c ... that are off or on."""
    return Space(tuple(Option(chr(ord("a") + i), (False, True), default=False) for i in range(count)))


def screening(options: int, runs: int, **others: float) -> Screening:
    place = space(options)
    study = study_id(
        subject="simulated",
        revision="1",
        benchmark=BENCHMARK,
        space=place,
        budget=str(runs),
        seed=1,
        machine="fake",
    )
    return Screening(study, "simulated", BENCHMARK, LATENCY, "1", place, choose(options, runs), **others)


def signs(task: Task) -> dict[str, int]:
    """+1 for every option that is on, -1 for every one that is off."""
    return {name: 1 if setting else -1 for name, setting in task.configuration.items()}


def multiplying(effects: Mapping[str, float], noise: float = 0.01, base: float = 0.002) -> Callable[[Task], float]:
    """Latencies of which options and their products multiply; log-normal noise, the same for the same task."""

    def value(task: Task) -> float:
        sign = signs(task)
        log = sum(size / 2 * math.prod(sign[letter] for letter in word) for word, size in effects.items())
        jitter = generator(3, task.id).standard_normal()
        return base * math.exp(log + noise * float(jitter))

    return value


def measure(study: Screening, value: Value, runs: float = math.inf) -> Evidence:
    """The evidence of a whole campaign, or of its first runs; text is a failure's reason."""
    store = MemoryStore()

    def measured(task: Task) -> Mapping[str, Sequence[float]] | str:
        found = value(task)
        if isinstance(found, str):
            return found
        return {"latency": found if isinstance(found, Sequence) else [found]}

    campaign(_Silent(study), FakeEngine(measured), store, Budget(runs=runs))
    return store.evidence(study.id)


def concluded(study: Screening, value: Value, runs: float = math.inf) -> ScreeningConclusion:
    """What a study says after that campaign."""
    return study.conclude(measure(study, value, runs))


class _Silent:
    """The study without its conclusion, which may be an error."""

    def __init__(self, study: Screening) -> None:
        self._study = study
        self.id = study.id
        self.plan = study.plan

    def conclude(self, evidence: Evidence) -> None:
        return None
