"""Read the files of tools for Python: asv, pyperf and pytest-benchmark.

For asv, ``results/MACHINE/COMMIT-ENVIRONMENT.json`` of version 2 is read; ``results/benchmarks.json`` has the units of
the benchmarks and the names of their parameters. Asv pools the samples of its rounds, which are processes, without
naming them: they are one run. Each run of pyperf is a separate process; calibration runs have no values and are left
out. All rounds of a test of pytest-benchmark are in one process.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from io import BytesIO
from itertools import product

import numpy as np
from msgspec import Struct

from hati.core import Configuration, FloatArray, Metric, SampledRun, Usage, Workload
from hati.subject.samples.building import (
    MOST_RUNS,
    ONE_RUN,
    JsonNode,
    Label,
    Path,
    SampleBuilder,
    direction,
    moment,
    observations,
    optional,
    optional_text,
    read_document,
    read_whole,
    single,
    summary_only,
    unix_moment,
)
from hati.subject.samples.source import OpenedFile, opened

_ASV_VERSION = 2
_BENCHMARKS_FILE = "benchmarks.json"
_STRINGS_AND_NANS = re.compile(rb'"(?:[^"\\]|\\.)*"|-?(?:NaN|Infinity)')
_ASV_UNITS = {"time": ("time", "s"), "mem": ("memory", "B"), "peakmem": ("memory", "B"), "timeraw": ("time", "s")}
_WORDS = {"unit": "", "seconds": "s", "bytes": "B"}
_POOLED = "asv pools what its processes measured: a file is one run; give several files for several runs"


def read_asv(source: OpenedFile, book: SampleBuilder) -> None:
    """Read the results of a document, with the description of the benchmarks in the folder above.

    Asv writes NaN for missing measurements, which is not valid JSON.

    Raises:
        InputError: for anything that is not in asv's format, with its path.
    """
    data = _STRINGS_AND_NANS.sub(lambda found: found[0] if found[0][:1] == b'"' else b"null", source.stream.read())
    whole = read_whole(BytesIO(data), source.file)
    benchmarks = None if source.folder is None else source.folder.parent / _BENCHMARKS_FILE
    if benchmarks is None or not benchmarks.is_file():
        _results(whole, None, book)
        return
    with opened(benchmarks) as file:
        _results(whole, read_whole(file.stream, file.file), book)


def _results(whole: JsonNode, about: JsonNode | None, book: SampleBuilder) -> None:
    if whole["version"].count() != _ASV_VERSION:
        raise whole["version"].error(f"only version {_ASV_VERSION} of asv's results is read", "run `asv update`")
    columns = [column.text() for column in whole["result_columns"].items()]
    if not {"result", "params"} <= set(columns):
        raise whole["result_columns"].error("there is no 'result' or no 'params'")
    revision = whole["commit_hash"].text()
    configuration = Configuration({"env": whole["env_name"].text()})
    machine = optional_text(whole["params"], "machine")
    for name, result in whole["results"].members():
        cells = dict(zip(columns, result.items(), strict=False))
        if cells["result"].value is None:
            book.warn(f"{name!r} failed and is left out")
            continue
        known = None if about is None else about.get(name)
        for number, workload in enumerate(_workloads(cells.get("params"), known)):
            label = Label(name, _metric(name, known), configuration, revision, workload, machine)
            _cell(cells, number, label, book)


def _metric(name: str, known: JsonNode | None) -> Metric:
    """The metric, by the first word of the benchmark's function; the benchmarks file has the unit of tracked values."""
    kind = name.rpartition(".")[2].partition("_")[0]
    if kind in _ASV_UNITS:
        return Metric(*_ASV_UNITS[kind])
    unit = "" if known is None else optional_text(known, "unit")
    unit = _WORDS.get(unit, unit)
    return Metric("value", unit, direction(unit))


def _workloads(params: JsonNode | None, known: JsonNode | None) -> list[Workload]:
    """The combinations of the parameters' values, in asv's order: the last parameter varies fastest."""
    lists = [] if params is None else [[value.text() for value in one.items()] for one in params.items()]
    names = [f"param{place + 1}" for place in range(len(lists))]
    if known is not None and "param_names" in known:
        parameters = [name.text() for name in known["param_names"].items()]
        names = parameters if len(set(parameters)) == len(parameters) == len(names) else names
    return [Workload(dict(zip(names, values, strict=True))) for values in product(*lists)]


def _cell(cells: dict[str, JsonNode], number: int, label: Label, book: SampleBuilder) -> None:
    result = _item(cells["result"], number)
    if result is None:
        book.warn(f"{label.benchmark!r} has parameters that were not measured: they are left out")
        return
    samples = _item(cells["samples"], number) if "samples" in cells and cells["samples"].value is not None else None
    started = cells.get("started_at")
    moment = None if started is None or started.value is None else unix_moment(started)
    if samples is None:
        book.warn(summary_only("one value for each benchmark without --record-samples", "asv"))
        book.add(label, single(result.number(), label.metric, result.error), result.error)
        return
    values = observations(samples.numbers(), label.metric, samples.error)
    book.warn(_POOLED)
    book.add(label, SampledRun(values, moment, pooled=True), samples.error)


def _item(node: JsonNode, number: int) -> JsonNode | None:
    items = list(node.items())
    if number >= len(items):
        raise node.error(f"there are {len(items)} values, fewer than combinations of parameters")
    return None if items[number].value is None else items[number]


_PYPERF_UNITS = {"second": "s", "byte": "B", "integer": ""}
_NAMES = {"second": "time", "byte": "memory", "integer": "value"}


class _Values(Struct, frozen=True):
    """The values of a run, shape (n,), of which the first ``warmup`` are warm-up; and their path."""

    values: FloatArray
    warmup: int
    usage: Usage
    path: Path


def read_pyperf(source: OpenedFile, book: SampleBuilder) -> None:
    """Read the benchmarks of a document; warm-up values come first in a run.

    Raises:
        InputError: for anything that is not in pyperf's format, with its path.
    """
    found: list[tuple[JsonNode, list[_Values]]] = []
    held = 0
    for node in read_document(source.stream, source.file, ("benchmarks",)):
        if node.path:
            own = node.get("metadata")
            runs = list(_runs(node["runs"], book))
            found.append((JsonNode(own.value if own else {}, node.path, node.file), runs))
            held += len(runs)
            if held > MOST_RUNS:
                raise node.error(f"there are more than {MOST_RUNS:,} runs")
            continue
        shared = node.get("metadata")
        for own, runs in found:
            _add([own, shared] if shared else [own], runs, book)


def _add(known: list[JsonNode], runs: list[_Values], book: SampleBuilder) -> None:
    """Add a benchmark's runs to the book; its own metadata take precedence over the shared metadata."""
    unit = _first(known, "unit") or "second"
    name = _first(known, "name")
    if not name:
        raise known[0].error("the benchmark has no name", fix="name it in its metadata, as pyperf does by --name")
    metric = Metric(_NAMES.get(unit, "value"), _PYPERF_UNITS.get(unit, unit))
    label = Label(name, metric, machine=_first(known, "hostname"))
    for run in runs:
        complain = JsonNode(None, run.path, known[0].file).error
        book.add(label, SampledRun(observations(run.values, metric, complain, run.warmup), usage=run.usage), complain)


def _first(known: list[JsonNode], key: str) -> str:
    return next((optional_text(metadata, key) for metadata in known if key in metadata), "")


def _runs(runs: JsonNode, book: SampleBuilder) -> Iterator[_Values]:
    taken = 0
    for run in runs.items():
        if "values" not in run:
            run.members()
            continue
        taken += 1
        warmups, values = _warmups(run.get("warmups")), run["values"]
        together = np.concatenate([warmups, values.numbers()])
        yield _Values(together, len(warmups), _usage(run.get("metadata")), values.path)
    if not taken:
        book.warn("benchmarks of which no run has values are left out")


def _warmups(node: JsonNode | None) -> FloatArray:
    """The values in the pairs of loops and value."""
    pairs = [] if node is None else list(node.items())
    for pair in pairs:
        if len(pair.numbers()) != 2:
            raise pair.error("a pair of loops and value is needed")
    return np.array([pair.numbers()[1] for pair in pairs], dtype=np.float64)


def _usage(metadata: JsonNode | None) -> Usage:
    if metadata is None:
        return Usage()
    return Usage(
        wall_time=optional(metadata, "duration", JsonNode.amount),
        peak_memory=optional(metadata, "mem_max_rss", JsonNode.count),
        load=optional(metadata, "load_avg_1min", JsonNode.amount),
    )


_TIME = Metric("time", "s")
_UNVERSIONED = "unversioned"


def read_pytest_benchmark(source: OpenedFile, book: SampleBuilder) -> None:
    """Read the benchmarks of a document.

    Raises:
        InputError: for anything that is not in pytest-benchmark's format, with its path.
    """
    found: list[tuple[JsonNode, JsonNode]] = []
    for node in read_document(source.stream, source.file, ("benchmarks",)):
        if node.path:
            stats = node["stats"]
            found.append((node["fullname"], stats["data"] if "data" in stats else stats["mean"]))
            continue
        machine, revision = _where(node)
        started = optional(node, "datetime", moment)
        for name, data in found:
            label = Label(name.text(), _TIME, revision=revision, machine=machine)
            if isinstance(data.value, array):
                run = SampledRun(observations(data.numbers(), _TIME, data.error), started)
            else:
                book.warn(summary_only("means", "this pytest-benchmark file"))
                run = single(data.number(), _TIME, data.error, ONE_RUN)
            book.add(label, run, data.error)
    book.warn_of_one_process("pytest-benchmark")


def _where(node: JsonNode) -> tuple[str, str]:
    """The machine and the revision."""
    info, commit = node.get("machine_info"), node.get("commit_info")
    machine = optional_text(info, "node") if info else ""
    revision = optional_text(commit, "id") if commit else ""
    if revision == _UNVERSIONED:
        revision = ""
    dirty = commit.get("dirty") if commit else None
    return machine, f"{revision}-dirty" if revision and dirty and dirty.value is True else revision
