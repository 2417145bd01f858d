"""How much is recorded in a run, and how."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct

from hati.core import SINGLE_CALLS, InputError, Metric
from hati.python.injected.calls import MOST

UNITS: Final = {"wall_time": "s", "cpu_time": "s", "peak_memory": "B"}
"""What can be measured of a function: real and processor time of a call, and the process's peak while one runs."""


class Collector(StrEnum):
    """The garbage collector while a function is measured.

    ``ON`` as Python has it; ``OFF``; ``BETWEEN``: off while calls are timed, and run before each observation.
    """

    ON = "on"
    OFF = "off"
    BETWEEN = "between"


class CallKind(StrEnum):
    """What an observation is of.

    ``BATCHED``: of as many calls as the clocks need, each with an equal share; their mean is that of the calls, and no
    quantile is. ``SINGLE``: of one call, where it is long enough, else as many as they need: the metric
    ``single_calls`` is 1 where it was.
    """

    BATCHED = "batched"
    SINGLE = "single"


class Recording(Struct, frozen=True):
    """How much a run records: ``observations``, or what ``seconds`` allow, whichever is less; at least one.

    Before them come ``warmup`` observations, again within ``seconds``. A batch of calls is as large as it takes for
    reading the clocks to be at most ``overhead`` of an observation, or one call, as ``calls`` says; its arguments, made
    beforehand, take about ``memory`` bytes at most. ``seed``, with the run's repetition, makes the
    workloads' random inputs.

    Raises:
        InputError: for a number out of its range, or a metric that cannot be measured.
    """

    observations: int = 100
    seconds: float = 1.0
    warmup: int = 10
    overhead: float = 0.01
    collector: Collector = Collector.ON
    metrics: tuple[str, ...] = tuple(UNITS)
    seed: int = 0
    calls: CallKind = CallKind.BATCHED
    memory: int = MOST

    def __post_init__(self) -> None:
        if self.observations < 1 or self.warmup < 0 or not self.seconds > 0:
            raise InputError(
                "a run records one observation or more, in more than 0 s, after no fewer than 0 of warm-up"
            )
        if not 0 < self.overhead < 1:
            raise InputError(f"overhead is {self.overhead:g}", fix="give a share above 0 and below 1, such as 0.01")
        if self.memory < 1:
            raise InputError("a batch has no memory for its arguments", fix=f"give it bytes, such as {MOST}")
        for name in self.metrics:
            if name not in UNITS:
                raise InputError(f"a function has no metric {name!r}", fix=f"it has: {', '.join(UNITS)}")

    @property
    def read(self) -> tuple[Metric, ...]:
        """The metrics as a benchmark has them."""
        told = (Metric(SINGLE_CALLS, "1"),) if self.calls is CallKind.SINGLE else ()
        return (*(Metric(name, UNITS[name]) for name in self.metrics), *told)

    @property
    def arguments(self) -> tuple[str, ...]:
        """What the recorder is told."""
        return (
            f"observations={self.observations}",
            f"seconds={self.seconds!r}",
            f"warmup={self.warmup}",
            f"overhead={self.overhead!r}",
            f"collector={self.collector}",
            f"cpu={'true' if 'cpu_time' in self.metrics else 'false'}",
            f"seed={self.seed}-{{repetition}}",
            f"calls={self.calls}",
            f"memory={self.memory}",
        )
