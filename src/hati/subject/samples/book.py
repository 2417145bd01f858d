"""What has been read so far: runs, gathered into samples."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from hati.core import (
    Configuration,
    InputError,
    Metric,
    Observations,
    Sample,
    SampledRun,
    Workload,
    conversion,
    parse_unit,
    replace,
)

MOST_RUNS = 500_000
"""How many runs a file may hold: each takes some hundreds of bytes, however few its observations."""

Complain = Callable[[str], InputError]
"""Makes an error of what is wrong, at its place."""


class Label(Struct, frozen=True):
    """What a run's values are of; empty where a file does not tell."""

    benchmark: str
    metric: Metric
    configuration: Configuration = field(default_factory=Configuration)
    revision: str = ""
    workload: Workload = field(default_factory=Workload)
    machine: str = ""

    @property
    def identity(self) -> tuple[object, ...]:
        """What tells samples apart; the unit and the direction are a sample's, and the same in all of its runs."""
        return self.benchmark, self.metric.name, self.configuration, self.revision, self.workload, self.machine


class Book:
    """Gathers runs by what they are of, in the order in which these come first."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self._runs: dict[tuple[object, ...], list[SampledRun]] = {}
        self._labels: dict[tuple[object, ...], Label] = {}
        self.count = 0

    def add(self, label: Label, run: SampledRun, complain: Complain) -> None:
        """Take in a run; values in another unit of the same dimension are converted to that of the first.

        Raises:
            InputError: for negative times, for a unit of another dimension or another direction than the sample's
                earlier runs have, and for more than ``MOST_RUNS``.
        """
        self.count += 1
        if self.count > MOST_RUNS:
            raise complain(f"there are more than {MOST_RUNS:,} runs")
        least = float(run.observations.values.min())
        if least < 0 and parse_unit(label.metric.unit).dimension == "time":
            raise complain(f"{label.metric.name!r} has the value {least:g}: no time is negative")
        first = self._labels.setdefault(label.identity, label)
        self._runs.setdefault(label.identity, []).append(self._fitting(run, label.metric, first.metric, complain))

    def warn(self, message: str) -> None:
        """Note once what a reader should know."""
        if message not in self.warnings:
            self.warnings.append(message)

    def samples(self) -> tuple[Sample, ...]:
        """All samples."""
        return tuple(
            Sample(
                label.benchmark,
                label.metric,
                tuple(self._runs.pop(identity)),
                label.configuration,
                label.revision,
                label.workload,
                label.machine,
            )
            for identity, label in self._labels.items()
        )

    def _fitting(self, run: SampledRun, own: Metric, wanted: Metric, complain: Complain) -> SampledRun:
        if own == wanted:
            return run
        if own.better is not wanted.better:
            raise complain(f"{own.name!r}: {own.better} is better here, {wanted.better} in an earlier run")
        try:
            factor = conversion(own.unit, wanted.unit)
        except InputError as error:
            raise complain(f"{own.name!r}: {error.message}") from None
        self.warn(f"{own.name!r} is in {own.unit} and in {wanted.unit}: converted to {wanted.unit}")
        old = run.observations
        values = Observations(old.metric, wanted.unit, old.values * factor, old.warmup)
        return replace(run, observations=values)
