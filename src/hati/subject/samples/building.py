"""What readers of formats share: samples gathered from runs, members that several formats have, labels and units."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

import numpy as np
from msgspec import Struct, field

from hati.core import (
    Better,
    Configuration,
    FloatArray,
    InputError,
    Metric,
    Observations,
    Sample,
    SampledRun,
    Setting,
    Workload,
    conversion,
    parse_unit,
    replace,
)
from hati.subject.samples.document import JsonNode

MOST_RUNS = 500_000
"""How many runs a file may hold: each takes some hundreds of bytes, however few its observations."""

Complain = Callable[[str], InputError]
"""Makes an error with its place."""


class Label(Struct, frozen=True):
    """The identity of a run's values; fields that a file does not name are empty."""

    benchmark: str
    metric: Metric
    configuration: Configuration = field(default_factory=Configuration)
    revision: str = ""
    workload: Workload = field(default_factory=Workload)
    machine: str = ""

    @property
    def identity(self) -> tuple[object, ...]:
        """The fields that distinguish samples; all runs of a sample share its unit and direction too."""
        return self.benchmark, self.metric.name, self.configuration, self.revision, self.workload, self.machine


class SampleBuilder:
    """Gathers runs by what they are of, in the order in which these come first."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.one_process: list[str] = []
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

    def warn_of_one_process(self, tool: str) -> None:
        """Note once that what a file of this tool repeats was made by one process."""
        message = f"{tool} repeats within one process: a file is one run; give several files for several runs"
        if message not in self.one_process:
            self.one_process.append(message)

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


_Read = TypeVar("_Read")


def optional(node: JsonNode, key: str, read: Callable[[JsonNode], _Read]) -> _Read | None:
    """The member of that name, read; None where there is none, or it is null."""
    found = node.get(key)
    return None if found is None else read(found)


def optional_text(node: JsonNode, key: str) -> str:
    """The text of that name, which may be missing or empty."""
    found = node.get(key)
    if found is None or found.value == "":
        return ""
    return found.text()


def settings(node: JsonNode | None) -> dict[str, Setting]:
    """The members of an object of settings; none where it is missing or null.

    Raises:
        InputError: where one is not a setting.
    """
    return {} if node is None else {name: setting(member) for name, member in node.members()}


def setting(node: JsonNode) -> Setting:
    """A boolean, a number or text."""
    if isinstance(node.value, bool | int | float | str):
        return node.value
    raise node.error("this is not a valid setting", fix="use a boolean, a number or text")


def moment(node: JsonNode) -> datetime:
    """A moment as ISO 8601 has it; UTC where it has no time zone.

    Raises:
        InputError: where it is none.
    """
    try:
        found = datetime.fromisoformat(node.text())
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise node.error(f"{node.text()!r} is not a time", fix="write it as 2026-11-20T10:00:00Z") from None


def unix_moment(node: JsonNode) -> datetime:
    """A moment in milliseconds since 1970.

    Raises:
        InputError: where it is none.
    """
    try:
        return datetime.fromtimestamp(node.number() / 1000.0, UTC)
    except (ValueError, OverflowError, OSError):
        raise node.error("this is not a time in milliseconds") from None


def observed(node: JsonNode, metric: Metric, warmup: int = 0) -> Observations:
    """A list of numbers as observations.

    Raises:
        InputError: where it is empty, or of other things, or nothing is left after warm-up.
    """
    return observations(node.numbers(), metric, node.error, warmup)


def observations(
    values: FloatArray, metric: Metric, complain: Callable[[str], InputError], warmup: int = 0
) -> Observations:
    """Values, shape (n,), as observations; errors in them carry a place."""
    try:
        return Observations(metric.name, metric.unit, values, warmup)
    except InputError as error:
        raise complain(error.message) from None


_RATE = re.compile(r".*/\s*([num\u00b5\u03bc]?s|sec|seconds?|min|h|hour)|.* per sec(ond)?|[kMG]?Hz|[kMG]?bps|[A-Z]+PS")


def direction(unit: str) -> Better:
    """Rates are better when higher, all else when lower.

    >>> direction("ops/us"), direction("us/op"), direction("MB/s")
    (<Better.HIGHER: 'higher'>, <Better.LOWER: 'lower'>, <Better.HIGHER: 'higher'>)
    """
    return Better.HIGHER if _RATE.fullmatch(unit) else Better.LOWER


def single(value: float, metric: Metric, complain: Callable[[str], InputError]) -> SampledRun:
    """A run of which one number is known."""
    return SampledRun(observations(np.array([value]), metric, complain))


def values_run(values: FloatArray, metric: Metric, complain: Callable[[str], InputError]) -> SampledRun:
    """A run of which nothing but its observations is known; values of shape (n,)."""
    return SampledRun(observations(values, metric, complain))


def summary_only(what: str, tool: str) -> str:
    """The warning for files that hold summaries."""
    return f"{tool} gives {what}, not single observations: each is taken as the single observation of a run"
