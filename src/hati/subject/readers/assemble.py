"""From readings to the observations of a benchmark's metrics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

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
from hati.core.run import WARM_UP
from hati.harness import State, leading, steadiness, warmup
from hati.subject.readers.lines import read_lines
from hati.subject.readers.patterns import UNITS, parse_expression, parse_path, read_document, read_matches, read_process
from hati.subject.readers.reading import OUTPUT, MissingMetricError, Reading
from hati.subject.readers.tools import parse_filter, read_tool


def read(
    benchmark: Benchmark, output: bytes, resources: Resources, source: str = OUTPUT, folder: Path | None = None
) -> tuple[Observations, ...]:
    """The observations of every metric of the benchmark, in its unit, from what a run printed or wrote, and used.

    ``source`` is the name of what the output is from, ``folder`` that of the file where it is one.

    Readings of other metrics are ignored. The first ``benchmark.warmup`` observations are marked as
    warm-up, or more where the benchmark marked more; one figure for the whole run has none. Where it is found in each
    run, those before it is steady are, or only those that are marked where it never is.

    Raises:
        InputError: where a metric is missing, is no finite number, is a negative time, has another
            dimension than its unit, or has nothing left after warm-up.
    """
    try:
        readings = _readings(benchmark, output, resources, source, folder)
        return tuple(_observations(metric, readings, benchmark, source) for metric in benchmark.metrics)
    except MissingMetricError as error:
        raise InputError(error.message, place=error.place, fix=_correction(benchmark, error)) from None


def check_reader(benchmark: Benchmark) -> None:
    """See that the benchmark's reader can find every metric, before anything is run.

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
    benchmark: Benchmark, output: bytes, resources: Resources, source: str, folder: Path | None
) -> list[Reading]:
    reader = benchmark.reader
    if reader.kind == ReaderKind.PROCESS:
        return read_process(resources)
    if reader.kind == ReaderKind.HATI:
        return read_lines(output, source)
    names = [metric.name for metric in benchmark.metrics]
    if is_tool(reader.kind):
        return read_tool(reader, names, output, source, folder)
    patterns = [(metric, pattern) for metric, pattern in reader.patterns if metric in names]
    return (read_document if reader.kind == ReaderKind.JSON else read_matches)(output, patterns, source)


_KEYS: dict[str, str] = {ReaderKind.JSON: "path", ReaderKind.REGEX: "pattern"}
"""What says where a metric is; with the other readers its name, or the tool's."""


def _correction(benchmark: Benchmark, error: MissingMetricError) -> str:
    """What to correct where the output lacks a metric, and where that is written."""
    own = "field" if error.metric in dict(benchmark.reader.fields) else "name"
    key, place = _KEYS.get(benchmark.reader.kind, own), dict(benchmark.metric_places).get(error.metric)
    where = f"`{key}` at {place}" if place else f"`{key}` of the metric"
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
    values = np.concatenate([_in_unit(reading, metric) for reading in mine])
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
    """Remarks on the metrics whose warm-up was to be found and was not; one figure for the whole run needs none."""
    if benchmark.warmup != AUTO:
        return ()
    told = [(one.metric, steadiness(one.values)) for one in observed if one.values.size > 1]
    return tuple(
        f"{WARM_UP} {metric!r} is not known to be over: {found.reason}"
        for metric, found in told
        if found.state is not State.STEADY
    )


def _in_unit(reading: Reading, metric: Metric) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    try:
        factor = 1.0 if reading.unit is None else conversion(reading.unit, metric.unit)
    except InputError as error:
        raise InputError(
            f"{metric.name!r}: {error.message}", place=reading.place, fix="correct `unit` there or in hati.toml"
        ) from None
    values = reading.values * factor
    if not np.all(np.isfinite(values)):
        where = reading.place_of(int(np.argmin(np.isfinite(values))))
        raise InputError(f"{metric.name!r} has a value too large in {metric.unit}", place=where)
    if values.size and values.min() < 0 and parse_unit(metric.unit).dimension == "time":
        where = reading.place_of(int(np.argmin(values)))
        raise InputError(f"{metric.name!r} has a negative time, {values.min()} {metric.unit}", place=where)
    return values


def _others(readings: Sequence[Reading]) -> str:
    return f", only {', '.join(map(repr, sorted({reading.metric for reading in readings})))}"
