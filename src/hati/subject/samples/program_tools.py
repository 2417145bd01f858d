"""Read the files of tools for compiled languages, virtual machines and commands.

The tools are Catch2, criterion.rs, ``go test -bench``, google-benchmark, hyperfine, JMH and BenchmarkDotNet. Catch2,
criterion.rs, google-benchmark and ``go test -count`` repeat within one process: the repetitions are one run. Each time
of hyperfine, each fork of JMH and each launch of BenchmarkDotNet is a separate process, and so a run.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hati.core import (
    Better,
    Configuration,
    InputError,
    Metric,
    Place,
    SampledRun,
    SummarizedRuns,
    Usage,
    Workload,
    is_unit,
)
from hati.core.xml_document import Element, parse_xml
from hati.subject.samples.building import (
    ONE_RUN,
    Complain,
    JsonNode,
    Label,
    SampleBuilder,
    direction,
    moment,
    observations,
    optional,
    optional_text,
    read_document,
    read_whole,
    settings,
    single,
    summary_only,
    values_run,
)
from hati.subject.samples.source import OpenedFile, opened

_NANOSECONDS = Metric("time", "ns")
_CASE, _RESULTS = "TestCase", "BenchmarkResults"


def read_catch2(source: OpenedFile, book: SampleBuilder) -> None:
    """Read the benchmarks of a report.

    Raises:
        InputError: for malformed XML, or XML that is not Catch2's, with its place.
    """
    data = source.stream.read()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(f"byte 0x{data[error.start]:02x} is not UTF-8", place=Place(source.file, line)) from None
    root = parse_xml(text, source.file)
    found = False
    for case, result in _catch2_results(root, ""):
        found = True
        _catch2_result(case, result, book)
    if not found:
        raise InputError("there are no benchmarks in this report", place=root.place)


def _catch2_results(element: Element, case: str) -> Iterator[tuple[str, Element]]:
    """Every benchmark, with the name of its test case."""
    if element.tag == _CASE:
        case = element.attributes.get("name", "")
    for child in element.children:
        if child.tag == _RESULTS:
            yield case, child
        else:
            yield from _catch2_results(child, case)


def _catch2_result(case: str, result: Element, book: SampleBuilder) -> None:
    complain = _at_element(result)
    name = result.attributes.get("name", "").strip()
    mean = result.child("mean")
    if not name or mean is None or "value" not in mean.attributes:
        raise complain("the benchmark has no name or no mean")
    text = mean.attributes["value"]
    try:
        value = float(text)
    except ValueError:
        raise _at_element(mean)(f"{text[:40]!r} stands where a number is needed") from None
    book.warn(summary_only("means", "Catch2"))
    label = Label(f"{case}: {name}" if case else name, _NANOSECONDS)
    book.add(label, single(value, _NANOSECONDS, _at_element(mean), ONE_RUN), _at_element(mean))


def _at_element(element: Element) -> Complain:
    return lambda message: InputError(message, place=element.place)


SAMPLE_FILE, _BENCHMARK_FILE = "sample.json", "benchmark.json"


def read_criterion(source: OpenedFile, book: SampleBuilder) -> None:
    """Read a benchmark from either of its files, ``sample.json`` and ``benchmark.json``; the other is next to it.

    Each observation is the mean time of an iteration in a sample.

    Raises:
        InputError: for anything that is not in criterion.rs's format, with its path.
    """
    folder, given = source.folder, read_whole(source.stream, source.file)
    if folder is None:
        _criterion(given, None, "", book)
    elif "full_id" in given:
        _criterion(_whole(folder / SAMPLE_FILE), given, "", book)
    elif (folder / _BENCHMARK_FILE).is_file():
        _criterion(given, _whole(folder / _BENCHMARK_FILE), "", book)
    else:
        _criterion(given, None, folder.name, book)


def _whole(path: Path) -> JsonNode:
    with opened(path) as file:
        return read_whole(file.stream, file.file)


def _criterion(sample: JsonNode, benchmark: JsonNode | None, name: str, book: SampleBuilder) -> None:
    if benchmark is not None:
        name = benchmark["full_id"].text()
    iterations, times = sample["iters"].numbers(), sample["times"].numbers()
    if len(iterations) != len(times):
        raise sample["times"].error(f"there are {len(times)}, and {len(iterations)} of iterations")
    if not (iterations > 0).all():
        raise sample["iters"].error("a sample has no iterations")
    if not name:
        raise InputError("the benchmark has no name", place=Place(sample.file), fix="keep benchmark.json next to it")
    values = observations(times / iterations, _NANOSECONDS, sample["times"].error)
    book.add(Label(name, _NANOSECONDS), SampledRun(values), sample["times"].error)
    book.warn_of_one_process("criterion.rs")


_NAMES = {"ns/op": "time", "MB/s": "throughput", "B/op": "memory", "allocs/op": "allocations"}
_BENCHMARK = re.compile(r"Benchmark\S*\s+\d")
_SETTING = re.compile(r"([a-z][\w-]*):(?:\s+(.*))?")
_DIRECTION = re.compile(r"Unit\s+(\S+)\s.*\bbetter=(lower|higher)\b.*")
_PROCESSORS = re.compile(r"(.*\S)-(\d{1,6})")
_END = re.compile(r"(PASS|FAIL|ok\s|---\s)")

_Key = tuple[str, str]  # a benchmark's name and a unit


def read_go(source: OpenedFile, book: SampleBuilder) -> None:
    """Read the benchmark lines of a text.

    Raises:
        InputError: for a line that is not a result, with its number.
    """
    settings: dict[str, str] = {}
    process: dict[_Key, tuple[array[float], Complain]] = {}
    directions: dict[str, Better] = {}
    found = False
    for number, line in source.lines(book.warn):
        setting = _SETTING.fullmatch(line)
        if (setting or _END.match(line)) and process:
            _finish(process, settings, directions, book)
            process = {}
        if direct := _DIRECTION.fullmatch(line):
            directions[direct[1]] = Better(direct[2])
        if setting:
            settings[setting[1]] = (setting[2] or "").strip()
        elif _BENCHMARK.match(line):
            found = True
            _go_result(line, _at_line(source.file, number, line), process)
    _finish(process, settings, directions, book)
    if not found:
        raise InputError("there is no line of a benchmark's result", place=Place(source.file))


def _at_line(file: str, number: int, line: str) -> Complain:
    return lambda message: InputError(message, place=Place(file, number, 1, line))


def _go_result(line: str, complain: Complain, process: dict[_Key, tuple[array[float], Complain]]) -> None:
    name, _, *pairs = line.split()
    if not pairs or len(pairs) % 2:
        raise complain("a result is a name, a count, and pairs of a value and a unit")
    for text, unit in zip(pairs[::2], pairs[1::2], strict=True):
        try:
            value = float(text)
        except ValueError:
            raise complain(f"{text!r} stands where a number is needed") from None
        process.setdefault((name, unit), (array("d"), complain))[0].append(value)


def _finish(
    process: dict[_Key, tuple[array[float], Complain]],
    settings: dict[str, str],
    directions: dict[str, Better],
    book: SampleBuilder,
) -> None:
    for (written, unit), (values, complain) in process.items():
        parts = _PROCESSORS.fullmatch(written)
        name, workload = (parts[1], Workload({"procs": int(parts[2])})) if parts else (written, Workload())
        package = settings.get("pkg", "")
        metric = _go_metric(unit, directions.get(unit))
        label = Label(
            benchmark=f"{package}.{name}" if package else name,
            metric=metric,
            revision=settings.get("commit", ""),
            workload=workload,
            machine=settings.get("machine", ""),
        )
        book.add(label, values_run(np.frombuffer(values), metric, complain), complain)


def _go_metric(written: str, better: Better | None) -> Metric:
    """The metric of a unit: Go's own units have names; in others the name precedes a known unit, as in p99-ns/op."""
    name, _, unit = written.rpartition("-")
    if not name or not is_unit(unit.partition("/")[0]):
        name, unit = _NAMES.get(written, written), written
    return Metric(name, unit, better or direction(unit))


_TIMES = ("real_time", "cpu_time")
_COUNTERS = {"items_per_second": "1/s", "bytes_per_second": "B/s"}
_MEAN = "mean"


@dataclass
class _Series:
    """The values of one metric of one benchmark so far, and the node of the first."""

    unit: str
    node: JsonNode
    values: array[float] = field(default_factory=lambda: array("d"))


def read_google_benchmark(source: OpenedFile, book: SampleBuilder) -> None:
    """Read the benchmarks of a document: times and rates; the means if it has only aggregates.

    Raises:
        InputError: for anything that is not in google-benchmark's format, with its path.
    """
    repeated: dict[tuple[str, str], _Series] = {}
    means: dict[tuple[str, str], _Series] = {}
    for node in read_document(source.stream, source.file, ("benchmarks",)):
        if node.path:
            _google_result(node, repeated, means, book)
            continue
        context = node.get("context")
        machine = optional_text(context, "host_name") if context else ""
        started = optional(context, "date", moment) if context else None
        known = {name for name, _ in repeated}
        left = {key: series for key, series in means.items() if key[0] not in known}
        if left:
            book.warn(summary_only("means", "this google-benchmark file"))
        for (name, metric_name), series in (repeated | left).items():
            metric = Metric(metric_name, series.unit, direction(series.unit))
            values = observations(np.frombuffer(series.values), metric, series.node.error)
            summary = ONE_RUN if (name, metric_name) in left and len(series.values) == 1 else None
            book.add(
                Label(name, metric, machine=machine),
                SampledRun(values, started, summary=summary),
                series.node.error,
            )
    book.warn_of_one_process("google-benchmark")


def _google_result(
    node: JsonNode, repeated: dict[tuple[str, str], _Series], means: dict[tuple[str, str], _Series], book: SampleBuilder
) -> None:
    name = (node["run_name"] if "run_name" in node else node["name"]).text()
    failed = node.get("error_occurred")
    if failed is not None and failed.value is True:
        book.warn(f"{name!r} failed and is left out: {optional_text(node, 'error_message')}")
        return
    aggregate = optional_text(node, "aggregate_name")
    if aggregate not in {"", _MEAN}:
        return
    into = means if aggregate else repeated
    unit = node["time_unit"].text()
    units = dict.fromkeys(_TIMES, unit) | {key: unit for key, unit in _COUNTERS.items() if key in node}
    for key, own in units.items():
        value = node[key]
        series = into.setdefault((name, key), _Series(own, value))
        if series.unit != own:
            raise node["time_unit"].error(f"{own!r} stands here, and {series.unit!r} at an earlier repetition")
        series.values.append(value.number())


_SECONDS = Metric("time", "s")


def read_hyperfine(source: OpenedFile, book: SampleBuilder) -> None:
    """Read the results of a document.

    Raises:
        InputError: for anything that is not in hyperfine's format, with its path.
    """
    for node in read_document(source.stream, source.file, ("results",)):
        if node.path:
            _hyperfine_result(node, book)


def _hyperfine_result(node: JsonNode, book: SampleBuilder) -> None:
    workload = Workload(settings(node.get("parameters")))
    label = Label(node["command"].text(), _SECONDS, workload=workload)
    if "times" not in node:
        book.warn(summary_only("means", "hyperfine"))
        book.add(label, single(node["mean"].number(), _SECONDS, node.error), node.error)
        return
    times = node["times"]
    exits = _parallel(node, "exit_codes", len(times.numbers()))
    memory = _parallel(node, "memory_usage_byte", len(times.numbers()))
    for item, status, peak in zip(times.items(), exits, memory, strict=True):
        values = observations(np.array([item.number()]), _SECONDS, item.error)
        usage = Usage(wall_time=item.number(), peak_memory=peak.count() if peak else None)
        book.add(label, SampledRun(values, usage=usage, exit=status.integer() if status else None), item.error)
    if not len(times.numbers()):
        raise times.error("there are no times")


def _parallel(node: JsonNode, key: str, length: int) -> list[JsonNode | None]:
    """The items of a list parallel to the times; None for unknown items."""
    found = node.get(key)
    if found is None:
        return [None] * length
    items = [None if item.value is None else item for item in found.items()]
    if len(items) != length:
        raise found.error(f"there are {len(items)}, and {length} times")
    return items


_ALLOCATION = " gc."


def read_jmh(source: OpenedFile, book: SampleBuilder) -> None:
    """Read the results of a document: the score of every mode, and secondary metrics such as those of profilers.

    Raises:
        InputError: for anything that is not in JMH's format, with its path.
    """
    for node in read_document(source.stream, source.file, ()):
        if not node.path:
            node.items()
            continue
        mode = node["mode"].text()
        unit = node["primaryMetric"]["scoreUnit"].text()
        _jmh_metric(node, node["primaryMetric"], Metric(mode, unit, direction(unit)), book)
        secondary = node.get("secondaryMetrics")
        for name, found in secondary.members() if secondary else ():
            _secondary(node, found, f"{mode} {name.removeprefix('·')}", book)


def _secondary(node: JsonNode, found: JsonNode, name: str, book: SampleBuilder) -> None:
    """Read a profiler's metric; it is left out if an iteration lacks it, which JMH writes as text."""
    forks = found.get("rawData")
    if forks is None or not all(isinstance(fork.value, array) and len(fork.value) for fork in forks.items()):
        book.warn(f"{name!r} of {node['benchmark'].text()!r} is left out: it was not read in every iteration")
        return
    unit = optional_text(found, "scoreUnit")
    better = Better.LOWER if _ALLOCATION in name else direction(unit)
    _jmh_metric(node, found, Metric(name, unit, better), book)


def _jmh_metric(node: JsonNode, metric: JsonNode, own: Metric, book: SampleBuilder) -> None:
    label = Label(
        node["benchmark"].text(),
        own,
        Configuration({"threads": node["threads"].count()}) if "threads" in node else Configuration(),
        workload=Workload(settings(node.get("params"))),
    )
    if "rawData" in metric:
        for fork in metric["rawData"].items():
            book.add(label, values_run(fork.numbers(), label.metric, fork.error), fork.error)
    elif "rawDataHistogram" in metric:
        book.warn("JMH gives histograms for mode 'sample': the mean of each iteration is taken as an observation")
        for fork in metric["rawDataHistogram"].items():
            means = np.array([_mean(iteration) for iteration in fork.items()])
            book.add(label, values_run(means, label.metric, fork.error), fork.error)
    else:
        book.warn(summary_only("scores", "this JMH file"))
        forks = SummarizedRuns(max(1, node["forks"].count()) if "forks" in node else None)
        book.add(label, single(metric["score"].number(), label.metric, metric.error, forks), metric.error)


def _mean(iteration: JsonNode) -> float:
    """The mean of a histogram of pairs of a value and its count."""
    pairs = [pair.numbers() for pair in iteration.items()]
    total = sum(pair[1] for pair in pairs if len(pair) == 2)
    if not total > 0 or any(len(pair) != 2 for pair in pairs):
        raise iteration.error("this is not a histogram: pairs of a value and a count are needed")
    return float(sum(value * count for value, count in pairs) / total)


_TIME = Metric("time", "ns")
_WORKLOAD = "Workload"
_RESULT, _ACTUAL = "Result", "Actual"


def read_dotnet(source: OpenedFile, book: SampleBuilder) -> None:
    """Read the benchmarks of a document.

    From the full exporter the measurements are read, those with the overhead subtracted if there are any; from the
    brief one the values, whose launches it does not name.

    Raises:
        InputError: for anything that is not in BenchmarkDotNet's format, with its path.
    """
    for node in read_document(source.stream, source.file, ("Benchmarks",)):
        if not node.path:
            continue
        label = Label(_named(node), _TIME, workload=_parameters(optional_text(node, "Parameters")))
        if "Measurements" in node:
            _launches(node["Measurements"], label, book)
        else:
            statistics = node["Statistics"]
            values = statistics["OriginalValues" if "OriginalValues" in statistics else "Values"]
            book.warn_of_one_process("this BenchmarkDotNet file does not separate launches, or")
            book.add(label, values_run(values.numbers(), _TIME, values.error), values.error)


def _named(node: JsonNode) -> str:
    parts = [optional_text(node, key) for key in ("Namespace", "Type", "Method")]
    return ".".join(part for part in parts if part) if parts[2] else node["FullName"].text()


def _parameters(text: str) -> Workload:
    """The parameters in a text such as ``N=10&Order=up`` or ``N=10, Order=up``."""
    pairs = [part.strip().partition("=") for part in text.replace("&", ",").split(",") if part.strip()]
    return Workload({name: value for name, _, value in pairs if name})


def _launches(measurements: JsonNode, label: Label, book: SampleBuilder) -> None:
    found: dict[str, dict[int, tuple[array[float], JsonNode]]] = {_RESULT: {}, _ACTUAL: {}}
    for one in measurements.items():
        stage = optional_text(one, "IterationStage")
        if optional_text(one, "IterationMode") != _WORKLOAD or stage not in found:
            continue
        operations = one["Operations"].number()
        if operations <= 0:
            raise one["Operations"].error("there are no operations")
        launch = found[stage].setdefault(one["LaunchIndex"].count(), (array("d"), one))
        launch[0].append(one["Nanoseconds"].number() / operations)
    runs = found[_RESULT] or found[_ACTUAL]
    if not runs:
        raise measurements.error("there is no measurement of the workload")
    for values, first in runs.values():
        seen = observations(np.frombuffer(values), _TIME, first.error)
        book.add(label, SampledRun(seen), first.error)
