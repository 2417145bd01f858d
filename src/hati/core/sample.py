"""Samples: what all runs of one thing yielded, from the store or from a file of some format."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct, field

from hati.core.errors import InputError
from hati.core.metric import Metric
from hati.core.run import REMARKS_APART, FloatArray, Observations, Run
from hati.core.values import Configuration, Workload


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


class SampledRun(Struct, frozen=True):
    """One run of a sample: its observations in order, and its known properties.

    ``started`` is in UTC, None where unknown; ``exit`` is the exit status; ``remark`` is a remark on the run, such as
    an unfinished warm-up. A ``pooled`` run holds observations of several processes, whose order carries no meaning.
    """

    observations: Observations
    started: datetime | None = None
    usage: Usage = NO_USAGE
    origin: Origin = NO_ORIGIN
    exit: int | None = None
    remark: str = ""
    pooled: bool = False

    def __post_init__(self) -> None:
        if self.started is not None and self.started.tzinfo is None:
            raise InputError("a run's start needs a time zone")

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
