"""What google-benchmark writes as JSON: repetitions are of one process, observations of one run."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

import numpy as np

from hati.core import Metric, SampledRun
from hati.subject.samples.building import (
    Label,
    SampleBuilder,
    direction,
    moment,
    observations,
    optional,
    optional_text,
    summary_only,
)
from hati.subject.samples.document import JsonNode, read_document
from hati.subject.samples.source import OpenedFile

_TIMES = ("real_time", "cpu_time")
_COUNTERS = {"items_per_second": "1/s", "bytes_per_second": "B/s"}
_MEAN = "mean"


@dataclass
class _Series:
    """The values of one metric of one benchmark, as far as they have come, and where the first is."""

    unit: str
    node: JsonNode
    values: array[float] = field(default_factory=lambda: array("d"))


def read_google_benchmark(source: OpenedFile, book: SampleBuilder) -> None:
    """Take in the benchmarks of a document: times and rates; where it has aggregates alone, their means.

    Raises:
        InputError: for anything that is not as google-benchmark writes it, with its path.
    """
    repeated: dict[tuple[str, str], _Series] = {}
    means: dict[tuple[str, str], _Series] = {}
    for node in read_document(source.stream, source.file, ("benchmarks",)):
        if node.path:
            _result(node, repeated, means, book)
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
            book.add(Label(name, metric, machine=machine), SampledRun(values, started), series.node.error)
    book.warn_of_one_process("google-benchmark")


def _result(
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
