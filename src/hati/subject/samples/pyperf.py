"""What pyperf writes: each run is a process of its own; runs that calibrate have no values and are left out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, Metric, SampledRun, Usage
from hati.subject.samples.building import MOST_RUNS, Label, SampleBuilder, observations, optional, optional_text
from hati.subject.samples.document import JsonNode, Path, read_document
from hati.subject.samples.source import OpenedFile

_UNITS = {"second": "s", "byte": "B", "integer": ""}
_NAMES = {"second": "time", "byte": "memory", "integer": "value"}


class _Values(Struct, frozen=True):
    """What a run yielded, shape (n,), the first ``warmup`` of them warm-up; and where that stands."""

    values: FloatArray
    warmup: int
    usage: Usage
    path: Path


def read_pyperf(source: OpenedFile, book: SampleBuilder) -> None:
    """Take in the benchmarks of a document; warm-up values come first in a run.

    Raises:
        InputError: for anything that is not as pyperf writes it, with its path.
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
    """Put a benchmark's runs into the book; what its own metadata lack is in those that all share."""
    unit = _first(known, "unit") or "second"
    name = _first(known, "name")
    if not name:
        raise known[0].error("the benchmark has no name", fix="name it in its metadata, as pyperf does by --name")
    metric = Metric(_NAMES.get(unit, "value"), _UNITS.get(unit, unit))
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
    """The values of the pairs of loops and value."""
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
