"""Runs: how the process of a task ended, and what it yielded; and samples of such runs.

A sample holds all runs of one benchmark, configuration and revision, from the store or from a file of some format.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from hati.core.benchmark import LINES_OF, are_line_numbers
from hati.core.errors import InputError
from hati.core.metric import Metric, conversion
from hati.core.study import Task
from hati.core.values import Configuration, Workload, replace


class Outcome(StrEnum):
    """How a run ended."""

    DONE = "done"
    FAILED = "failed"
    TIMEOUT = "timeout"
    UNREADABLE = "unreadable"
    NOT_STARTED = "not started"
    NOT_BUILT = "not built"

    @property
    def started(self) -> bool:
        """Whether a process was started."""
        return self not in {Outcome.NOT_STARTED, Outcome.NOT_BUILT}


FloatArray = NDArray[np.float64]
LARGEST = 1e100
"""The largest size of an observation: the squares of larger ones would overflow."""


REMARKS_APART = "; "
WARM_UP = "warm-up of"
"""How a remark on the warm-up of a metric begins; the metric's name in quotes follows."""


def _mean(values: FloatArray) -> float:
    return float(np.mean(values))


@dataclass(frozen=True, eq=False, slots=True)
class Observations:
    """One metric's values in one run, in order; the first ``warmup`` of them are warm-up.

    ``values`` has shape (n,), n >= 1, is finite, no larger than ``LARGEST``, in ``unit``, and cannot be written to.
    """

    metric: str
    unit: str
    values: FloatArray
    warmup: int = 0

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float64)
        if values.ndim != 1 or values.size == 0:
            raise InputError(f"metric {self.metric!r} has no observations")
        if not np.abs(values).max() <= LARGEST:
            if not np.all(np.isfinite(values)):
                raise InputError(f"metric {self.metric!r} has an observation that is not a finite number")
            raise InputError(f"metric {self.metric!r} has an observation beyond {LARGEST:g}", fix="use a larger unit")
        if not 0 <= self.warmup < values.size:
            raise InputError(
                f"metric {self.metric!r} has {values.size} observations and {self.warmup} of warm-up: none is left",
                fix="print more observations per run or lower `warmup`",
            )
        values.flags.writeable = False
        object.__setattr__(self, "values", values)

    @property
    def steady(self) -> FloatArray:
        """The values after warm-up."""
        return self.values[self.warmup :]

    @property
    def mean(self) -> float:
        """Mean of the values after warm-up, in ``unit``."""
        return _mean(self.steady)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Observations)
            and (self.metric, self.unit, self.warmup) == (other.metric, other.unit, other.warmup)
            and np.array_equal(self.values, other.values)
        )

    def __hash__(self) -> int:
        return hash((self.metric, self.unit, self.warmup, self.values.tobytes()))


class Resources(Struct, frozen=True):
    """What the command's whole process tree used; times in seconds, memory in bytes.

    ``load`` is the machine's one-minute load average when the run started; ``pressure`` the time in which some task on
    it waited for a CPU; ``steal`` the time stolen by other virtual machines, as the mean over the CPUs that the command
    may use. None where the kernel does not count it.
    """

    wall_time: float
    user_time: float
    system_time: float
    peak_memory: int
    voluntary_switches: int
    involuntary_switches: int
    load: float
    pressure: float | None = None
    steal: float | None = None

    @property
    def cpu_time(self) -> float:
        """User and system time together, in seconds."""
        return self.user_time + self.system_time


class Run(Struct, frozen=True):
    """One run: a failure is a run too, with its reason in ``detail`` and without observations.

    ``started`` is in UTC. ``seconds`` is the task's whole time, preparation included; ``reset`` is the part that
    resetting the system took, None where it was not reset. ``exit`` is the command's exit status (negative: the
    signal that ended it), None where it never started. ``output`` is the end of the printed output.
    """

    task: Task
    machine: str
    started: datetime
    seconds: float
    outcome: Outcome
    detail: str = ""
    exit: int | None = None
    output: str = ""
    resources: Resources | None = None
    observations: tuple[Observations, ...] = ()
    reset: float | None = None

    def __post_init__(self) -> None:
        if self.started.tzinfo is None:
            raise InputError("a run's start needs a time zone")
        if (self.outcome is Outcome.DONE) != bool(self.observations):
            raise InputError("a run that is done has observations, and one that is not has none")

    def remarks(self, metric: str) -> tuple[str, ...]:
        """The remarks on a completed run that concern that metric: on its warm-up, or on the whole run."""
        found = tuple(filter(None, self.detail.split(REMARKS_APART))) if self.outcome is Outcome.DONE else ()
        return tuple(one for one in found if not one.startswith(WARM_UP) or one.startswith(f"{WARM_UP} {metric!r}"))

    @property
    def measured(self) -> tuple[Observations, ...]:
        """The observations without the numbers of executed lines."""
        return tuple(o for o in self.observations if not are_line_numbers(o.metric, o.unit))

    @property
    def executed_lines(self) -> dict[str, list[int]]:
        """The numbers of the lines of each file, negative where a line was not executed."""
        return {
            o.metric.removeprefix(LINES_OF): o.values.astype(int).tolist()
            for o in self.observations
            if are_line_numbers(o.metric, o.unit)
        }

    def of(self, metric: str) -> Observations | None:
        """The observations of that metric, or None where the run has none."""
        return next((o for o in self.observations if o.metric == metric), None)

    def value(self, metric: Metric, statistic: Callable[[FloatArray], float] = _mean) -> float | None:
        """The mean, or another statistic, of a metric after warm-up, in the metric's unit; None where it has none.

        Raises:
            InputError: where the run's unit cannot be converted to the metric's.
        """
        observed = self.of(metric.name)
        return None if observed is None else statistic(observed.steady) * conversion(observed.unit, metric.unit)


class Usage(Struct, frozen=True):
    """Resources that a run used: times in seconds, memory in bytes, None where unknown."""

    cpu_time: float | None = None
    wall_time: float | None = None
    voluntary_switches: int | None = None
    involuntary_switches: int | None = None
    peak_memory: int | None = None
    load: float | None = None
    pressure: float | None = None
    steal: float | None = None


class Origin(Struct, frozen=True):
    """Which task of which study a run was: the study's key, its stage, and the repetition of the configuration."""

    study: str | None = None
    stage: str | None = None
    repetition: int | None = None


NO_USAGE = Usage()
NO_ORIGIN = Origin()


class SummarizedRuns(Struct, frozen=True):
    """The runs that a mean stands for: their ``number`` and standard ``deviation``, None where unknown.

    The repetitions of one process are a single run.

    Raises:
        InputError: for a number below 1, a negative deviation, and a deviation of one run or of an unknown number.
    """

    number: int | None = None
    deviation: float | None = None

    def __post_init__(self) -> None:
        if self.number is not None and self.number < 1:
            raise InputError(f"a mean of {self.number} runs is not a mean", fix="write their number, 1 or more")
        if self.deviation is not None and not (0.0 <= self.deviation <= LARGEST and (self.number or 1) > 1):
            raise InputError(
                f"{self.deviation:g} is not a standard deviation of runs whose number is {self.number or 'unknown'}",
                fix="write 0 or more, of two runs or more",
            )

    def times(self, factor: float) -> SummarizedRuns:
        """The same runs in another unit."""
        return SummarizedRuns(self.number, None if self.deviation is None else factor * self.deviation)


class SampledRun(Struct, frozen=True):
    """One run of a sample: its observations in order, and its known properties.

    ``started`` is in UTC, None where unknown; ``exit`` is the exit status; ``remark`` is a remark on the run, such as
    an unfinished warm-up. A ``pooled`` run holds observations of several processes, whose order carries no meaning.
    With ``summary`` the single value is a mean of observations that are not known, of the runs that it describes.
    """

    observations: Observations
    started: datetime | None = None
    usage: Usage = NO_USAGE
    origin: Origin = NO_ORIGIN
    exit: int | None = None
    remark: str = ""
    pooled: bool = False
    summary: SummarizedRuns | None = None

    def __post_init__(self) -> None:
        if self.started is not None and self.started.tzinfo is None:
            raise InputError("a run's start needs a time zone")
        if self.summary is not None and self.observations.values.size > 1:
            raise InputError(
                f"a mean is a single observation, not {self.observations.values.size}",
                fix="leave out that it is a mean, or the observations",
            )

    def times(self, factor: float, unit: str) -> SampledRun:
        """The same run in another ``unit``, in which values are ``factor`` times as large."""
        old = self.observations
        values = Observations(old.metric, unit, factor * old.values, old.warmup)
        return replace(self, observations=values, summary=self.summary and self.summary.times(factor))

    @property
    def steady(self) -> FloatArray:
        """The values after warm-up, shape (n,), n >= 1."""
        return self.observations.steady


class Sample(Struct, frozen=True):
    """All runs of one benchmark, configuration, revision, workload, machine and metric: ragged, two-level.

    The unit of replication is the run; every run has at least one observation after warm-up. Text is empty
    where a revision or a machine is not known.

    Raises:
        InputError: without runs, without a name, or where a run's observations are of another metric or unit.
    """

    benchmark: str
    metric: Metric
    runs: tuple[SampledRun, ...]
    configuration: Configuration = field(default_factory=Configuration)
    revision: str = ""
    workload: Workload = field(default_factory=Workload)
    machine: str = ""

    def __post_init__(self) -> None:
        if not self.benchmark:
            raise InputError("a sample's benchmark has an empty name")
        if not self.runs:
            raise InputError(f"the sample of {self.benchmark!r} has no runs")
        for run in self.runs:
            observed = run.observations
            if (observed.metric, observed.unit) != (self.metric.name, self.metric.unit):
                raise InputError(
                    f"the sample of {self.benchmark!r} is of {self.metric.name!r} in {self.metric.unit!r},"
                    f" a run of it of {observed.metric!r} in {observed.unit!r}"
                )

    @property
    def steady(self) -> tuple[FloatArray, ...]:
        """The values after warm-up, one array for each run."""
        return tuple(run.steady for run in self.runs)

    @property
    def identity(self) -> tuple[str, ...]:
        """The fields that identify the sample: benchmark, metric, configuration, workload, revision and machine."""
        known = (self.benchmark, self.metric.name, self.configuration.key, self.workload.key)
        return (*known, self.revision, self.machine)


def usage(run: Run) -> Usage:
    """The known resource usage of a recorded run."""
    used = run.resources
    if used is None:
        return NO_USAGE
    return Usage(
        used.cpu_time,
        used.wall_time,
        used.voluntary_switches,
        used.involuntary_switches,
        used.peak_memory,
        used.load,
        used.pressure,
        used.steal,
    )


def sampled(run: Run, observed: Observations) -> SampledRun:
    """A recorded run as a run of a sample of one of its metrics."""
    task = run.task
    origin = Origin(task.study, task.stage, task.repetition)
    remark = REMARKS_APART.join(run.remarks(observed.metric))
    return SampledRun(observed, run.started, usage(run), origin, run.exit, remark)
