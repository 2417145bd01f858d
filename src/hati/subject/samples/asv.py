"""What asv keeps of a commit in ``results/MACHINE/COMMIT-ENVIRONMENT.json``, version 2.

What it knows of the benchmarks is in ``results/benchmarks.json``: their units and the names of their parameters.
asv pools the samples of its rounds, which are processes, and does not tell them apart: they are one run.
"""

from __future__ import annotations

import re
from io import BytesIO
from itertools import product

from hati.core import Configuration, Metric, SampledRun, Workload
from hati.subject.samples.building import (
    Label,
    SampleBuilder,
    direction,
    observations,
    optional_text,
    single,
    summary_only,
    unix_moment,
)
from hati.subject.samples.document import JsonNode, read_whole
from hati.subject.samples.source import OpenedFile, opened

_VERSION = 2
_BENCHMARKS_FILE = "benchmarks.json"
_STRINGS_AND_NANS = re.compile(rb'"(?:[^"\\]|\\.)*"|-?(?:NaN|Infinity)')
_UNITS = {"time": ("time", "s"), "mem": ("memory", "B"), "peakmem": ("memory", "B"), "timeraw": ("time", "s")}
_WORDS = {"unit": "", "seconds": "s", "bytes": "B"}
_POOLED = "asv pools what its processes measured: a file is one run; give several files for several runs"


def read_asv(source: OpenedFile, book: SampleBuilder) -> None:
    """Take in the results of a document, with what a file a folder above says of the benchmarks.

    Asv writes NaN for what was not measured, which JSON has not.

    Raises:
        InputError: for anything that is not as asv writes it, with its path.
    """
    data = _STRINGS_AND_NANS.sub(lambda found: found[0] if found[0][:1] == b'"' else b"null", source.stream.read())
    whole = read_whole(BytesIO(data), source.file)
    beside = None if source.folder is None else source.folder.parent / _BENCHMARKS_FILE
    if beside is None or not beside.is_file():
        _results(whole, None, book)
        return
    with opened(beside) as file:
        _results(whole, read_whole(file.stream, file.file), book)


def _results(whole: JsonNode, about: JsonNode | None, book: SampleBuilder) -> None:
    if whole["version"].count() != _VERSION:
        raise whole["version"].error(f"only version {_VERSION} of asv's results is read", "run `asv update`")
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
    """By the first word of the benchmark's function; of what it tracks the unit is known from elsewhere alone."""
    kind = name.rpartition(".")[2].partition("_")[0]
    if kind in _UNITS:
        return Metric(*_UNITS[kind])
    unit = "" if known is None else optional_text(known, "unit")
    unit = _WORDS.get(unit, unit)
    return Metric("value", unit, direction(unit))


def _workloads(params: JsonNode | None, known: JsonNode | None) -> list[Workload]:
    """The combinations of the parameters' values, in asv's order: the last changes first."""
    lists = [] if params is None else [[value.text() for value in one.items()] for one in params.items()]
    names = [f"param{place + 1}" for place in range(len(lists))]
    if known is not None and "param_names" in known:
        told = [name.text() for name in known["param_names"].items()]
        names = told if len(set(told)) == len(told) == len(names) else names
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
