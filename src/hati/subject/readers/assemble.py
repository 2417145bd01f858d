"""Convert readings to the observations of a benchmark's metrics; the file formats of tools are readers too."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from io import BytesIO
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
    Reader,
    ReaderKind,
    Resources,
    Sample,
    SampleFormat,
    Warmup,
    conversion,
    is_tool,
    parse_unit,
)
from hati.core.run import WARM_UP
from hati.core.wording import listed, suggestion
from hati.harness import State, leading, steadiness, warmup
from hati.subject.readers.patterns import (
    OUTPUT,
    UNITS,
    MissingMetricError,
    Reading,
    parse_expression,
    parse_path,
    read_document,
    read_lines,
    read_matches,
    read_process,
)

_HEAD = 1 << 16
_NOTHING: Mapping[str, float] = MappingProxyType({})
_LEFT_OUT = "is left out"
_AS_JSON: dict[str, str] = {
    SampleFormat.GOOGLE_BENCHMARK: "add --benchmark_format=json to the command, which prints nothing else",
    SampleFormat.JMH: 'add "-rf", "json", "-rff", "{work}/jmh.json" to the command, and output = "{work}/jmh.json"',
}
_ONE_PROCESS: dict[str, str] = {
    SampleFormat.JMH: "let JMH fork once: -f 1",
    SampleFormat.GO: "let the command start one test program; -count repeats within it",
    SampleFormat.HYPERFINE: "let hyperfine start the program once: --runs 1 --warmup 0",
    SampleFormat.PYPERF: "let pyperf start one process: -p 1",
}


def _read_tool(
    reader: Reader, metrics: Sequence[str], output: bytes, name: str, folder: Path | None = None
) -> list[Reading]:
    """One reading for each metric, of the benchmark that its pattern finds; ``name`` is the name of the output.

    ``folder`` is the folder of the written file, None if the output was printed.

    Raises:
        InputError: where the output is not in the tool's format, or the pattern finds no benchmark with that metric,
            or several, or observations of several processes.
    """
    samples, warnings = _samples(reader.kind, output, name, folder)
    patterns, fields = dict(reader.patterns), dict(reader.fields)
    place = Place(name)
    readings = []
    for metric in metrics:
        sample = _only(samples, warnings, metric, fields.get(metric, metric), patterns.get(metric), place)
        readings.append(_reading(metric, sample, reader.kind, place))
    return readings


def _parse_filter(pattern: str) -> re.Pattern[str]:
    """Compile a regular expression that selects a benchmark by its name.

    Raises:
        InputError: where it is not a regular expression.
    """
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError(f"{pattern!r} is not a valid regular expression: {error}") from None


def _samples(kind: str, output: bytes, name: str, folder: Path | None) -> tuple[tuple[Sample, ...], list[str]]:
    from hati.subject.samples.building import SampleBuilder
    from hati.subject.samples.reading import detected, reader_of
    from hati.subject.samples.source import OpenedFile

    if not output.strip():
        raise InputError("the output is empty", place=Place(name), fix="did the tool find any benchmark?")
    if kind in _AS_JSON and not output.lstrip().startswith((b"{", b"[")):
        raise InputError("this begins with no JSON", place=Place(name, 1), fix=_AS_JSON[kind])
    written = detected(output[:_HEAD])
    if kind in set(SampleFormat) and written not in {None, kind}:
        raise InputError(
            f"this is of the format {written}, and the reader is '{kind}'",
            place=Place(name),
            fix=f'write reader = "{written}"',
        )
    book = SampleBuilder()
    reader_of(kind)(OpenedFile(name, BytesIO(output), output, folder), book)
    return book.samples(), [warning for warning in book.warnings if _LEFT_OUT in warning]


def _only(
    samples: Sequence[Sample], warnings: list[str], metric: str, field: str, pattern: str | None, place: Place
) -> Sample:
    """The only sample for a metric: of the tool's ``field``, and of the benchmark that the pattern finds."""
    if not samples:
        raise InputError("; ".join(["there is nothing measured in it", *warnings]), place=place)
    expression = _parse_filter(pattern or "")
    found = [s for s in samples if expression.search(s.benchmark) or expression.search(_title(s))]
    if not found:
        problem = "; ".join([f"no benchmark is found by {pattern!r}", *warnings])
        raise InputError(problem, place=place, fix=f"there are: {_named(samples)}")
    fitting = [sample for sample in found if sample.metric.name == field]
    if not fitting:
        names = list(dict.fromkeys(sample.metric.name for sample in found))
        message = f"{_named(found)} has no {field!r}"
        raise MissingMetricError(metric, message, place=place, fix=suggestion(field, names))
    if len(fitting) > 1:
        which = "there are several benchmarks" if pattern is None else f"{pattern!r} finds several benchmarks"
        fix = "give the metric a pattern that finds one" if pattern is None else "end it with $, or name one in full"
        raise InputError(f"{which}: {_named(fitting)}", place=place, fix=fix)
    return fitting[0]


def _reading(metric: str, sample: Sample, kind: str, place: Place) -> Reading:
    if len(sample.runs) > 1:
        raise InputError(
            f"{_title(sample)} was measured in {len(sample.runs)} processes: a run is one process",
            place=place,
            fix=_ONE_PROCESS.get(kind),
        )
    values = sample.runs[0].observations.values
    return Reading(metric, np.asarray(values), place, sample.metric.unit, per_run=values.size == 1)


def _title(sample: Sample) -> str:
    """A benchmark's name with its parameters, if any, as in ``sort (n=10)``."""
    parameters = {**sample.workload, **sample.configuration}
    return sample.benchmark + (f" ({', '.join(f'{n}={s}' for n, s in parameters.items())})" if parameters else "")


def _named(samples: Sequence[Sample]) -> str:
    return listed(dict.fromkeys(map(_title, samples)))


def read(
    benchmark: Benchmark,
    output: bytes,
    resources: Resources,
    source: str = OUTPUT,
    folder: Path | None = None,
    counts: Mapping[str, float] = _NOTHING,
) -> tuple[Observations, ...]:
    """The observations of each metric of the benchmark, in its unit, from a run's output, resource usage and counts.

    ``source`` names the origin of the output, ``folder`` is the folder of an output file; ``counts`` are the numbers
    of the command's events.

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
            readings = _readings(benchmark, output, source, folder)
        return tuple(_observations(metric, readings, benchmark, source) for metric in benchmark.metrics)
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
        elif is_tool(reader.kind):
            _parse_filter(patterns.get(metric.name, ""))
        elif reader.kind != ReaderKind.HATI:
            if metric.name not in patterns:
                raise InputError(
                    f"benchmark {benchmark.name!r}: reader '{reader.kind}' does not know where {metric.name!r} is",
                    fix=f"give the metric a {'path' if reader.kind == ReaderKind.JSON else 'pattern'}",
                )
            (parse_path if reader.kind == ReaderKind.JSON else parse_expression)(patterns[metric.name])


def _readings(benchmark: Benchmark, output: bytes, source: str, folder: Path | None) -> list[Reading]:
    reader = benchmark.reader
    if reader.kind == ReaderKind.HATI:
        return read_lines(output, source)
    names = [metric.name for metric in benchmark.metrics]
    if is_tool(reader.kind):
        return _read_tool(reader, names, output, source, folder)
    patterns = [(metric, pattern) for metric, pattern in reader.patterns if metric in names]
    return (read_document if reader.kind == ReaderKind.JSON else read_matches)(output, patterns, source)


_KEYS: dict[str, str] = {ReaderKind.JSON: "path", ReaderKind.REGEX: "pattern"}
"""The key that locates a metric; with the other readers it is the metric's name, or the tool's field."""


def _correction(benchmark: Benchmark, error: MissingMetricError) -> str:
    """What to correct if the output lacks a metric, and its place."""
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
