"""The reader of a benchmark: the observations of its metrics from the readings of a run's output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np

from hati.core import (
    AUTO,
    Benchmark,
    FloatArray,
    InputError,
    Metric,
    Observations,
    Place,
    ReaderKind,
    Resources,
    Warmup,
    conversion,
    is_tool,
    parse_unit,
)
from hati.core.benchmark import LINE_NUMBER, LINES
from hati.core.run import WARM_UP
from hati.harness import State, leading, steadiness, warmup
from hati.subject.line_coverage import line_values, read_coverage
from hati.subject.readings import (
    OUTPUT,
    UNITS,
    MissingMetricError,
    Reading,
    parse_expression,
    parse_filter,
    parse_path,
    read_document,
    read_lines,
    read_matches,
    read_process,
    read_tool,
)

_NOTHING: Mapping[str, float] = MappingProxyType({})


def read(
    benchmark: Benchmark,
    output: bytes,
    resources: Resources,
    source: str = OUTPUT,
    folder: Path | None = None,
    counts: Mapping[str, float] = _NOTHING,
    project: Path | None = None,
) -> tuple[Observations, ...]:
    """The observations of each metric of the benchmark, in its unit, from a run's output, resource usage and counts.

    ``source`` names the origin of the output, ``folder`` is the folder of an output file; ``counts`` are the numbers
    of the command's events. ``project`` is the folder in which the command ran, where it is known.

    Readings of other metrics are ignored. The first ``benchmark.warmup`` observations are marked as warm-up, or more
    if the benchmark marked more; one figure for the whole run has none. With the warm-up ``auto``, the observations
    before the steady state are marked, or only those that the benchmark marked if the run is never steady.

    Raises:
        InputError: where a metric is missing, is not a finite number, is a negative time, has another
            dimension than its unit, or has nothing left after warm-up.
    """
    try:
        if benchmark.reader.kind == ReaderKind.PROCESS:
            readings = read_process(resources, counts)
        else:
            readings = _readings(benchmark, output, source, folder, project)
        found = tuple(_observations(metric, readings, benchmark, source) for metric in benchmark.metrics)
        covered = benchmark.reader.kind == ReaderKind.COVERAGE
        further = [each for each in readings if covered and each.metric != LINES]
        return (*found, *(Observations(each.metric, LINE_NUMBER, each.values) for each in further))
    except MissingMetricError as error:
        raise InputError(error.message, place=error.place, fix=_correction(benchmark, error)) from None


def check_reader(benchmark: Benchmark) -> None:
    """Check that the benchmark's reader can find every metric, before anything is run.

    Raises:
        InputError: naming the metric and the fix.
    """
    reader, patterns = benchmark.reader, dict(benchmark.reader.patterns)
    for metric in benchmark.metrics:
        if reader.kind == ReaderKind.PROCESS:
            if metric.name not in UNITS:
                raise InputError(
                    f"benchmark {benchmark.name!r}: reader 'process' has no metric {metric.name!r}",
                    fix=f"it has: {', '.join(UNITS)}",
                )
            conversion(UNITS[metric.name], metric.unit)
        elif reader.kind == ReaderKind.COVERAGE:
            if metric.name != LINES:
                raise InputError(
                    f"benchmark {benchmark.name!r}: reader 'coverage' has no metric {metric.name!r}",
                    fix=f"it has `{LINES}`, the number of lines that a run executed",
                )
        elif is_tool(reader.kind):
            parse_filter(patterns.get(metric.name, ""))
        elif reader.kind != ReaderKind.HATI:
            if metric.name not in patterns:
                raise InputError(
                    f"benchmark {benchmark.name!r}: reader '{reader.kind}' does not know where {metric.name!r} is",
                    fix=f"give the metric a {'path' if reader.kind == ReaderKind.JSON else 'pattern'}",
                )
            (parse_path if reader.kind == ReaderKind.JSON else parse_expression)(patterns[metric.name])


def _readings(
    benchmark: Benchmark, output: bytes, source: str, folder: Path | None, project: Path | None
) -> list[Reading]:
    reader = benchmark.reader
    if reader.kind == ReaderKind.HATI:
        return read_lines(output, source)
    if reader.kind == ReaderKind.COVERAGE:
        return _line_readings(output, source, project)
    names = [metric.name for metric in benchmark.metrics]
    if is_tool(reader.kind):
        return read_tool(reader, names, output, source, folder)
    patterns = [(metric, pattern) for metric, pattern in reader.patterns if metric in names]
    return (read_document if reader.kind == ReaderKind.JSON else read_matches)(output, patterns, source)


def _line_readings(output: bytes, source: str, project: Path | None) -> list[Reading]:
    place = Place(source)
    found = line_values(read_coverage(output, source, project))
    return [Reading(metric, values, place, per_run=metric == LINES) for metric, values in found.items()]


_KEYS: dict[str, str] = {ReaderKind.JSON: "path", ReaderKind.REGEX: "pattern"}
"""The key that locates a metric; with the other readers it is the metric's name, or the tool's field."""


def _correction(benchmark: Benchmark, error: MissingMetricError) -> str:
    """What to correct if the output lacks a metric, and its place."""
    own = "field" if error.metric in dict(benchmark.reader.fields) else "name"
    key, place = _KEYS.get(benchmark.reader.kind, own), dict(benchmark.metric_places).get(error.metric)
    where = f"`{key}` at {place}" if place else f"`{key}` of the metric"
    if own == key == "name" and error.metric in UNITS:
        return f'correct {where}, or write `reader = "process"`, which measures {error.metric!r}'
    return f"{error.fix} ({where})" if error.fix else f"correct {where}"


def _observations(metric: Metric, readings: Sequence[Reading], benchmark: Benchmark, source: str) -> Observations:
    mine = [reading for reading in readings if reading.metric == metric.name]
    if not mine:
        kind, lacks = benchmark.reader.kind, f"the output has no metric {metric.name!r}"
        if not readings and kind != ReaderKind.REGEX:
            raise InputError(
                f"{lacks}: the reader {str(kind)!r} finds nothing in it",
                place=Place(source),
                fix="make the command print what it measured, or name another `reader`",
            )
        others = ": its pattern matches nothing" if kind == ReaderKind.REGEX else _others(readings)
        raise MissingMetricError(metric.name, f"{lacks}{others}", place=Place(source))
    if not any(reading.values.size for reading in mine):
        raise InputError(f"no observation of {metric.name!r}: its values are empty", place=mine[0].place)
    parts = [_in_unit(reading, metric) for reading in mine]
    values = parts[0] if len(parts) == 1 else np.concatenate(parts)
    try:
        marked = leading([reading.warmup for reading in mine for _ in range(reading.values.size)])
        whole = values.size == 1 and marked == 0 and any(reading.per_run for reading in mine)
        return Observations(
            metric.name,
            metric.unit,
            values,
            warmup(values.size, marked, 0 if whole else _count(values, benchmark.warmup)),
        )
    except InputError as error:
        raise InputError(f"{metric.name!r}: {error.message}", place=mine[0].place, fix=error.fix) from None


def _count(values: FloatArray, wanted: Warmup) -> int:
    return (steadiness(values).start or 0) if wanted == AUTO else wanted


def unsettled(benchmark: Benchmark, observed: Sequence[Observations]) -> tuple[str, ...]:
    """Remarks on metrics whose warm-up ``auto`` found no steady state; one figure for the whole run needs none."""
    if benchmark.warmup != AUTO:
        return ()
    found_steady = [(one.metric, steadiness(one.values)) for one in observed if one.values.size > 1]
    return tuple(
        f"{WARM_UP} {metric!r} is not known to be over: {found.reason}"
        for metric, found in found_steady
        if found.state is not State.STEADY
    )


def _in_unit(reading: Reading, metric: Metric) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    try:
        factor = 1.0 if reading.unit is None else conversion(reading.unit, metric.unit)
    except InputError as error:
        raise InputError(
            f"{metric.name!r}: {error.message}", place=reading.place, fix="correct `unit` there or in hati.toml"
        ) from None
    values = reading.values if factor == 1.0 else reading.values * factor
    if factor > 1.0 and not np.all(np.isfinite(values)):
        where = reading.place_of(int(np.argmin(np.isfinite(values))))
        raise InputError(f"{metric.name!r} has a value too large in {metric.unit}", place=where)
    if parse_unit(metric.unit).dimension == "time" and values.size and values.min() < 0:
        where = reading.place_of(int(np.argmin(values)))
        raise InputError(f"{metric.name!r} has a negative time, {values.min()} {metric.unit}", place=where)
    return values


def _others(readings: Sequence[Reading]) -> str:
    return f", only {', '.join(map(repr, sorted({reading.metric for reading in readings})))}"
