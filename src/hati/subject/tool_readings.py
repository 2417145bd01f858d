"""Readings of other tools' output: the one benchmark that a metric's pattern finds among a file's samples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import numpy as np

from hati.core import InputError, Place, Reader, Sample, SampleFormat
from hati.core.wording import listed, suggestion
from hati.subject.readings import MissingMetricError, Reading

_HEAD = 1 << 16
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


def read_tool(
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


def parse_filter(pattern: str) -> re.Pattern[str]:
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
    expression = parse_filter(pattern or "")
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
