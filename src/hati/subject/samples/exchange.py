"""Formats for exchange: ``hati-samples-1``, CSV, github-action-benchmark's ``data.js``, and Bencher's metric format."""

from __future__ import annotations

import csv
import math
import re
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from io import BytesIO
from itertools import chain

import numpy as np

from hati.core import (
    Better,
    Configuration,
    InputError,
    Metric,
    Origin,
    Place,
    SampledRun,
    SummarizedRuns,
    Usage,
    Workload,
    replace,
    unguarded,
)
from hati.subject.samples.building import (
    MOST_RUNS,
    Complain,
    JsonNode,
    Label,
    SampleBuilder,
    direction,
    moment,
    observed,
    optional,
    optional_text,
    read_document,
    read_whole,
    settings,
    single,
    summary_only,
    unix_moment,
    values_run,
)
from hati.subject.samples.source import OpenedFile

FORMAT = "hati-samples-1"
_UNKNOWN = "unknown"


def read_hati(source: OpenedFile, book: SampleBuilder) -> None:
    """Read the samples of a document.

    Raises:
        InputError: for anything that is not in the format, with its path.
    """
    for node in read_document(source.stream, source.file, ("samples",)):
        if node.path:
            _sample(node, book)
            continue
        if node["format"].text() != FORMAT:
            raise node["format"].error(f"the format is not {FORMAT!r}")
        node["samples"].items()


def _sample(node: JsonNode, book: SampleBuilder) -> None:
    label = Label(
        benchmark=node["benchmark"].text(),
        metric=Metric(node["metric"].text(), optional_text(node, "unit"), _better(node)),
        configuration=Configuration(settings(node.get("configuration"))),
        revision=optional_text(node, "revision"),
        workload=Workload(settings(node.get("workload"))),
        machine=optional_text(node, "machine"),
    )
    runs = node["runs"]
    if not any(True for _ in runs.items()):
        raise runs.error("there are no runs")
    for run in runs.items():
        book.add(label, _run(run, label.metric), run.error)


def _better(node: JsonNode) -> Better:
    found = node.get("better")
    if found is None:
        return Better.LOWER
    if found.value not in set(Better):
        raise found.error("neither 'lower' nor 'higher' stands here")
    return Better(str(found.value))


def _run(node: JsonNode, of: Metric) -> SampledRun:
    run = SampledRun(
        observations=observed(node["observations"], of, optional(node, "warmup", JsonNode.count) or 0),
        started=optional(node, "started", moment),
        usage=Usage(
            cpu_time=optional(node, "cpu_time", JsonNode.amount),
            wall_time=optional(node, "wall_time", JsonNode.amount),
            voluntary_switches=optional(node, "voluntary_switches", JsonNode.count),
            involuntary_switches=optional(node, "involuntary_switches", JsonNode.count),
            peak_memory=optional(node, "peak_memory", JsonNode.count),
            load=optional(node, "load", JsonNode.amount),
            pressure=optional(node, "pressure", JsonNode.amount),
            steal=optional(node, "steal", JsonNode.amount),
        ),
        origin=Origin(
            study=optional(node, "study", JsonNode.text),
            stage=optional(node, "stage", JsonNode.text),
            repetition=optional(node, "repetition", JsonNode.count),
        ),
        exit=optional(node, "exit", JsonNode.integer),
        remark=optional_text(node, "remark"),
    )
    summary = _mean_of(node)
    if summary is None:
        return run
    try:
        return replace(run, summary=summary)
    except InputError as error:
        raise node["mean_of"].error(error.message, error.fix) from None


def _mean_of(node: JsonNode) -> SummarizedRuns | None:
    """The runs of which the observation of a run is the mean; None where it is not marked as one."""
    number, deviation = node.get("mean_of"), optional(node, "deviation", JsonNode.amount)
    if number is not None:
        return _summary(None if number.value == _UNKNOWN else number.count(), deviation, number.error)
    if deviation is not None:
        raise node["deviation"].error("the standard deviation of runs needs their number", fix="write it as `mean_of`")
    return None


def _summary(number: int | None, deviation: float | None, complain: Complain) -> SummarizedRuns:
    try:
        return SummarizedRuns(number, deviation)
    except InputError as error:
        raise complain(error.message) from None


NEEDED = ("benchmark", "value")
_NUMBER, _DEVIATION = "n", "deviation"
COLUMNS = (*NEEDED, "run", "metric", "unit", "better", "revision", "machine", "workload", _NUMBER, _DEVIATION)
_METRIC = "value"
_OF_ROWS = {"value", "run", _NUMBER, _DEVIATION}


@dataclass(slots=True)
class _Series:
    """The rows of one label so far: values and lines of single runs; named runs, and means, with their first lines."""

    label: Label
    values: array[float] = field(default_factory=lambda: array("d"))
    lines: array[int] = field(default_factory=lambda: array("q"))
    runs: dict[str, tuple[int, array[float]]] = field(default_factory=dict)
    means: list[tuple[int, SampledRun]] = field(default_factory=list)

    def take(self, run: str | None, value: float, line: int) -> None:
        """Add a row; with ``run`` None it is a separate run."""
        if run is None:
            self.values.append(value)
            self.lines.append(line)
        else:
            self.runs.setdefault(run, (line, array("d")))[1].append(value)

    def finish(self, file: str, book: SampleBuilder) -> None:
        """Add the runs to the book."""
        alone = ((line, [value]) for line, value in zip(self.lines, self.values, strict=True))
        for line, values in chain(alone, self.runs.values()):
            complain = _at(file, _Line(line))
            book.add(self.label, values_run(np.array(values), self.label.metric, complain), complain)
        for line, mean in self.means:
            book.add(self.label, mean, _at(file, _Line(line)))


def read_table(source: OpenedFile, book: SampleBuilder) -> None:
    """Read the rows of a table whose first line names the columns.

    Raises:
        InputError: for a missing or an unknown column, a row with more or fewer cells than the header, or a value
            that is not a number, with its line.
    """
    file, position = source.file, _Line()
    rows = csv.reader(position.counted(source.lines(book.warn)), strict=True)
    try:
        columns = _columns(next(rows, []), file)
        series: dict[tuple[str, ...], _Series] = {}
        complain = _at(file, position)
        for row in rows:
            if row:
                _row(list(map(unguarded, row)), columns, series, position.number, complain)
    except csv.Error as error:
        raise InputError(f"this is not a table: {error}", place=Place(file, position.number or None)) from None
    if not series:
        raise InputError("the table has no rows", place=Place(file, 1))
    for one in series.values():
        one.finish(file, book)


@dataclass
class _Line:
    """The number of lines read so far."""

    number: int = 0

    def counted(self, lines: Iterator[tuple[int, str]]) -> Iterator[str]:
        """Yield the lines, and count them."""
        for number, line in lines:
            self.number = number
            yield line + "\n"


def _at(file: str, position: _Line) -> Complain:
    return lambda message: InputError(message, place=Place(file, position.number))


def _columns(header: list[str], file: str) -> dict[str, int]:
    names = [name.strip().lower() for name in header]
    place = Place(file, 1)
    for needed in NEEDED:
        if needed not in names:
            raise InputError(f"there is no column {needed!r}", place=place, fix=f"columns: {', '.join(COLUMNS)}")
    for name in names:
        if name not in COLUMNS:
            raise InputError(f"the column {name!r} is not known", place=place, fix=f"columns: {', '.join(COLUMNS)}")
        if names.count(name) > 1:
            raise InputError(f"the column {name!r} is there twice", place=place)
    return {name: names.index(name) for name in names}


def _row(
    row: list[str], columns: dict[str, int], series: dict[tuple[str, ...], _Series], line: int, complain: Complain
) -> None:
    if len(row) != len(columns):
        raise complain(f"cells in the row: {len(row)}, in the header: {len(columns)}")
    value = _value(row[columns["value"]], complain)
    run = row[columns["run"]].strip() if "run" in columns else None
    of = _summarized({name: row[columns[name]].strip() for name in (_NUMBER, _DEVIATION) if name in columns}, complain)
    if run == "" and of is None:
        raise complain("the run has no name")
    if run and of is not None:
        raise complain(f"a row is of the run {run[:40]!r} or a mean of runs by {_NUMBER!r}, not both: leave one empty")
    key = tuple([row[place] for name, place in columns.items() if name not in _OF_ROWS])
    known = series.get(key)
    if known is None:
        cells = {name: row[place].strip() for name, place in columns.items()}
        known = series[key] = _Series(_label(dict.fromkeys(COLUMNS, "") | cells, complain))
    if of is None:
        known.take(run, value, line)
    else:
        known.means.append((line, single(value, known.label.metric, complain, of)))
    if max(len(series), len(known.values), len(known.runs), len(known.means)) > MOST_RUNS:
        raise complain(f"there are more than {MOST_RUNS:,} runs")


def _summarized(cells: Mapping[str, str], complain: Complain) -> SummarizedRuns | None:
    """The runs of which the value of a row is the mean; None where it is the value of one run."""
    number, deviation = cells.get(_NUMBER, ""), cells.get(_DEVIATION, "")
    if not number and not deviation:
        return None
    if not re.fullmatch(r"[1-9][0-9]{0,8}", number):
        raise complain(f"{number[:40]!r} stands where the number of runs is needed")
    return _summary(int(number), _value(deviation, complain) if deviation else None, complain)


def _value(text: str, complain: Complain) -> float:
    try:
        value = float(text)
    except ValueError:
        raise complain(f"{text.strip()[:40]!r} stands where a number is needed") from None
    if not math.isfinite(value):
        raise complain(f"{text.strip()!r} is not a finite number")
    return value


def _label(cells: dict[str, str], complain: Complain) -> Label:
    if not cells["benchmark"]:
        raise complain("the benchmark has no name")
    unit, better = cells["unit"], cells["better"]
    if better not in {"", *Better}:
        raise complain(f"{better!r} is neither 'lower' nor 'higher'")
    return Label(
        cells["benchmark"],
        Metric(cells["metric"] or _METRIC, unit, Better(better) if better else direction(unit)),
        revision=cells["revision"],
        workload=Workload({"workload": cells["workload"]}) if cells["workload"] else Workload(),
        machine=cells["machine"],
    )


PREFIX = b"window.BENCHMARK_DATA"
_HIGHER = "customBiggerIsBetter"
_LOWER = "customSmallerIsBetter"


def read_action(source: OpenedFile, book: SampleBuilder) -> None:
    """Read a history, where every entry is a run of its commit, or a list of benchmarks with a unit and a value.

    A history is JSON, or a script that assigns it to a variable; the script's code before it is replaced by blanks.

    Raises:
        InputError: for anything that is not in github-action-benchmark's format, with its path.
    """
    if not source.head.lstrip().startswith(PREFIX):
        whole = read_whole(source.stream, source.file)
        (_custom if isinstance(whole.value, list | array) else _history)(whole, book)
        return
    data = source.stream.read()
    start = data.find(b"{")
    if start < 0:
        raise InputError("there is no data in this script", place=Place(source.file, 1))
    blank = re.sub(rb"[^\n]", b" ", data[:start])
    _history(read_whole(BytesIO(blank + data[start:].rstrip().removesuffix(b";")), source.file), book)


def _history(whole: JsonNode, book: SampleBuilder) -> None:
    suites = list(whole["entries"].members())
    for suite, entries in suites:
        for entry in entries.items():
            tool = entry["tool"].text() if "tool" in entry else ""
            for bench in entry["benches"].items():
                name = bench["name"].text()
                _bench(
                    bench,
                    f"{suite}: {name}" if len(suites) > 1 else name,
                    entry["commit"]["id"].text(),
                    {_HIGHER: Better.HIGHER, _LOWER: Better.LOWER}.get(tool),
                    unix_moment(entry["date"]) if "date" in entry else None,
                    book,
                )


def _custom(whole: JsonNode, book: SampleBuilder) -> None:
    for bench in whole.items():
        _bench(bench, bench["name"].text(), "", None, None, book)
    book.warn("the file does not say which direction is better: higher for rates, lower for all else")


def _bench(
    bench: JsonNode, name: str, revision: str, better: Better | None, started: datetime | None, book: SampleBuilder
) -> None:
    unit = bench["unit"].text()
    metric = Metric("value", unit, better or direction(unit))
    run = single(bench["value"].number(), metric, bench["value"].error)
    book.warn(summary_only("one number for each benchmark", "github-action-benchmark"))
    book.add(Label(name, metric, revision=revision), replace(run, started=started), bench["value"].error)


_MEASURES = {  # Bencher's built-in measures
    "latency": ("ns", Better.LOWER),
    "throughput": ("1/s", Better.HIGHER),
    "build-time": ("s", Better.LOWER),
    "file-size": ("B", Better.LOWER),
}

_WITH_UNIT = re.compile(r"(.+) \((\S+)\)")


def _metric(measure: str) -> Metric:
    """The metric of a built-in measure, or of a name with a unit, as `hati export` writes it: ``wall_time (s)``."""
    if measure in _MEASURES:
        return Metric(measure, *_MEASURES[measure])
    named = _WITH_UNIT.fullmatch(measure)
    return Metric(named[1], named[2], direction(named[2])) if named else Metric(measure, "", Better.LOWER)


def read_bencher(source: OpenedFile, book: SampleBuilder) -> None:
    """Read the measures of a document.

    Raises:
        InputError: for anything that is not in the format, with its path.
    """
    for name, measures in read_whole(source.stream, source.file).members():
        if not name.strip():
            raise measures.error("the benchmark has an empty name")
        for measure, found in measures.members():
            metric = _metric(measure)
            if not metric.unit:
                book.warn(f"the unit of {measure!r} is not known, nor its direction: lower is taken as better")
            value = found["value"]
            book.warn(summary_only("one number for each benchmark", "Bencher's format"))
            book.add(Label(name, metric), single(value.number(), metric, value.error), value.error)
