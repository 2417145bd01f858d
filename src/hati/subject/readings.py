"""Readings: a metric's values in an output, in Hati's format, in another tool's, or where an expression finds them."""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import NoReturn

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError, Place, Reader, Resources, Sample, SampleFormat, replace
from hati.core.benchmark import COUNT, COUNTERS
from hati.core.wording import listed, suggestion

OUTPUT = "standard output"


class MissingMetricError(InputError):
    """An output that lacks a metric."""

    def __init__(self, metric: str, message: str, *, place: Place, fix: str | None = None) -> None:
        super().__init__(message, place=place, fix=fix)
        self.metric = metric


class Reading(Struct, frozen=True):
    """Values of one metric, in order, from one place of the output.

    ``values`` has shape (n,) and is finite, in ``unit`` (None: the metric's own). ``warmup``: the benchmark marked
    them as warm-up. ``per_run``: they are one figure for the whole run, such as a throughput. ``lines`` are the lines
    of the single values, if each has its own.
    """

    metric: str
    values: FloatArray
    place: Place
    unit: str | None = None
    warmup: bool = False
    per_run: bool = False
    lines: Sequence[int] = ()

    def place_of(self, index: int) -> Place:
        """The place of a value."""
        return replace(self.place, line=self.lines[index]) if self.lines else self.place


def numbers(values: Sequence[object], metric: str, place: Place, lines: Sequence[int] = ()) -> FloatArray:
    """The values as an array of shape (n,); ``lines`` are their lines, if each has its own.

    Raises:
        InputError: where one is not a finite number; a boolean is not a number.
    """

    def wrong(index: int, what: str) -> InputError:
        where = replace(place, line=lines[index]) if lines else place
        return InputError(f"{metric!r} has {what}", place=where)

    if not set(map(type, values)) <= {int, float}:
        index = next(index for index, value in enumerate(values) if type(value) not in {int, float})
        raise wrong(index, f"the value {shown(values[index])}, which is not a number")
    try:
        array = np.array(values, dtype=np.float64)
    except OverflowError:
        sizes = (abs(value) if isinstance(value, int) else 0 for value in values)
        index = next(index for index, size in enumerate(sizes) if size > sys.float_info.max)
        raise wrong(index, "a value that is too large for a number") from None
    if not np.all(np.isfinite(array)):
        index = int(np.argmin(np.isfinite(array)))
        raise wrong(index, f"the value {values[index]}, which is not a finite number")
    return array


def shown(value: object) -> str:
    """A value short enough for a message."""
    text = repr(value) if not isinstance(value, list | dict) else "a list" if isinstance(value, list) else "an object"
    return text if len(text) <= 40 else f"{text[:37]}..."


@dataclass
class _Gathered:
    """Single values of one metric whose lines have the same unit and mark."""

    unit: str | None
    warmup: bool
    values: list[object] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


def read_lines(output: bytes, source: str = OUTPUT) -> list[Reading]:
    """The readings of all lines that are a JSON object with a ``metric``; other lines are ignored.

    Readings of one metric are in order; consecutive single values are one reading.

    Raises:
        InputError: for a line that names a metric and cannot be read, with the line.
    """
    readings: dict[str, list[Reading | _Gathered]] = defaultdict(list)
    for number, document in _documents(output, source):
        metric, unit, mark = _about(document, Place(source, number))
        found, last = readings[metric], readings[metric][-1] if readings[metric] else None
        if "values" in document:
            place = Place(source, number)
            found.append(Reading(metric, numbers(_list(document, place), metric, place), place, unit, mark))
            continue
        if not isinstance(last, _Gathered) or (last.unit, last.warmup) != (unit, mark):
            last = _Gathered(unit, mark)
            found.append(last)
        last.values.append(document["value"])
        last.lines.append(number)
    return [
        _gathered_reading(metric, each, source) if isinstance(each, _Gathered) else each
        for metric, found in readings.items()
        for each in found
    ]


def _gathered_reading(metric: str, found: _Gathered, source: str) -> Reading:
    place = Place(source, found.lines[0])
    values = numbers(found.values, metric, place, found.lines)
    return Reading(metric, values, place, found.unit, found.warmup, per_run=True, lines=found.lines)


def _documents(output: bytes, source: str) -> Iterator[tuple[int, dict[str, object]]]:
    """The lines that name a metric, with their numbers."""
    for number, line in enumerate(output.split(b"\n"), start=1):
        text = line.strip()
        if not text.startswith(b"{"):
            continue
        plain = text.decode("utf-8", "replace")
        try:
            document: dict[str, object] = _DECODER.decode(plain)
        except (
            RecursionError,
            ValueError,
        ) as error:  # also a constant, and an integer of more digits than Python reads
            if '"metric"' in plain:
                why = "it is nested too deeply" if isinstance(error, RecursionError) else error
                raise InputError(f"a reading that is not valid JSON: {why}", place=Place(source, number)) from None
            continue
        if "metric" in document:
            yield number, document


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a valid number")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _about(document: dict[str, object], place: Place) -> tuple[str, str | None, bool]:
    """The metric of a line, its unit, and whether it is marked as warm-up."""
    metric, unit, mark = document["metric"], document.get("unit"), document.get("warmup", False)
    if not isinstance(metric, str):
        raise InputError(f"`metric` is {shown(metric)}, not a name", place=place)
    if unit is not None and not isinstance(unit, str):
        raise InputError(f"`unit` of {metric!r} is {shown(unit)}, not a text", place=place)
    if not isinstance(mark, bool):
        raise InputError(f"`warmup` of {metric!r} is {shown(mark)}, not true or false", place=place)
    if ("value" in document) == ("values" in document):
        raise InputError(f"{metric!r} needs either `value` or `values`", place=place)
    return metric, unit, mark


def _list(document: dict[str, object], place: Place) -> list[object]:
    values = document["values"]
    if not isinstance(values, list):
        raise InputError(f"`values` of {document['metric']!r} is {shown(values)}, not a list", place=place)
    return values


_STEP = re.compile(r"""(?:^|\.)([^.\[\]"]+)|\[(-?\d{1,9})\]|\[(\*)\]|\["([^"]*)"\]""")

Step = str | int | None
"""A key, an index, or None for every element."""


def parse_path(path: str) -> tuple[Step, ...]:
    """The steps of a path such as ``results[*].latency``, ``a.b[0]`` or ``a["x.y"]``.

    Raises:
        InputError: where the text is not a path.

    >>> parse_path("results[*].latency")
    ('results', None, 'latency')
    """
    steps: list[Step] = []
    position = 0
    while match := _STEP.match(path, position):
        key, index, every, quoted = match.groups()
        steps.append(None if every else int(index) if index else key if key is not None else quoted)
        position = match.end()
    if position != len(path) or not path:
        raise InputError(
            f"{path!r} is not a valid path",
            place=Place("path", 1, position + 1, path),
            fix="write keys and indexes such as results[*].latency or a.b[0]",
        )
    return tuple(steps)


def read_document(output: bytes, paths: Iterable[tuple[str, str]], source: str = OUTPUT) -> list[Reading]:
    """One reading for each pair of a metric's name and its path.

    A path to a list of numbers takes them all; one number found without ``[*]`` is one figure for the whole run.

    Raises:
        InputError: where the output is not a JSON document, or a path leads nowhere or not to numbers.
    """
    try:
        document = json.loads(output.decode("utf-8", "replace"))
    except RecursionError:
        raise InputError("the output is nested too deeply", place=Place(source)) from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"the output is not JSON: {error.msg}",
            place=Place(source, error.lineno, error.colno),
            fix='let the program print one document and nothing else, or write it to a file: output = "{work}/FILE"',
        ) from None
    except ValueError as error:  # an integer of more digits than Python reads
        raise InputError(f"the output is not JSON: {error}", place=Place(source)) from None
    return [_follow(document, metric, path, source) for metric, path in paths]


def _follow(document: object, metric: str, path: str, source: str) -> Reading:
    steps, found = parse_path(path), [document]
    for step in steps:
        found = [inner for outer in found for inner in _inner(outer, step, metric, path, source)]
    place = Place(f"{source} at {path}")
    if None in steps or len(found) != 1 or isinstance(found[0], list):
        values = [v for value in found for v in (value if isinstance(value, list) else [value])]
        return Reading(metric, numbers(values, metric, place), place)
    return Reading(metric, numbers(found, metric, place), place, per_run=True)


def _inner(outer: object, step: Step, metric: str, path: str, source: str) -> list[object]:
    if step is None and isinstance(outer, list):
        return outer
    if isinstance(step, int) and isinstance(outer, list) and -len(outer) <= step < len(outer):
        return [outer[step]]
    if isinstance(step, str) and isinstance(outer, dict) and step in outer:
        return [outer[step]]
    wanted = "[*]" if step is None else f"[{step}]" if isinstance(step, int) else repr(step)
    there = f"the keys {', '.join(map(repr, list(outer)[:8]))}" if isinstance(outer, dict) else shown(outer)
    message = f"the output has no metric {metric!r}: path {path!r}: no {wanted} in {there}"
    raise MissingMetricError(metric, message, place=Place(source))


_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,9})?", re.ASCII)


def parse_expression(expression: str) -> re.Pattern[str]:
    """Compile a regular expression with exactly one group; ``^`` and ``$`` match at lines.

    Python's engine backtracks without a bound: nested repetitions such as ``(a+)+b`` can take exponential time. Atomic
    groups ``(?>...)`` and possessive ``a++`` avoid that.

    Raises:
        InputError: where it is not a regular expression with one group.
    """
    try:
        pattern = re.compile(expression, re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError(f"{expression!r} is not a valid regular expression: {error}") from None
    if pattern.groups != 1:
        raise InputError(
            f"{expression!r} has {pattern.groups} groups", fix="put one group ( ) around the number; others as (?: )"
        )
    return pattern


def read_matches(output: bytes, expressions: Iterable[tuple[str, str]], source: str = OUTPUT) -> list[Reading]:
    """The matches, in order, for each pair of a metric's name and its expression; a single match is one figure per run.

    Raises:
        InputError: where a group matched something else than a number.
    """
    text = output.decode("utf-8", "replace")
    readings = []
    for metric, expression in expressions:
        found = [
            _number(match[1], metric, Place(source, text.count("\n", 0, match.start()) + 1))
            for match in parse_expression(expression).finditer(text)
        ]
        if found:
            values = numbers(found, metric, Place(source))
            readings.append(Reading(metric, values, Place(source), per_run=len(found) == 1))
    return readings


def _number(text: str | None, metric: str, place: Place) -> float:
    if text is None or not _NUMBER.fullmatch(text.strip()):
        raise InputError(f"{metric!r} matched {(text or '')[:40]!r}, which is not a number", place=place)
    return float(text)


_USED = {"wall_time": "s", "user_time": "s", "system_time": "s", "cpu_time": "s", "peak_memory": "B"}
UNITS = {**_USED, **dict.fromkeys(sorted(COUNTERS), COUNT)}
"""The metrics of the reader ``process``, and the units of their readings."""


def read_process(resources: Resources, counts: Mapping[str, float]) -> list[Reading]:
    """One reading for each metric that the system reports or counts, as one figure for the whole run."""
    place = Place("the process")
    found = {**{metric: float(getattr(resources, metric)) for metric in _USED}, **counts}
    return [
        Reading(metric, np.array([value], dtype=np.float64), place, UNITS[metric], per_run=True)
        for metric, value in found.items()
    ]


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
