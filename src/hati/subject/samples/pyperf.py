"""What pyperf writes: each run is a process of its own; runs that calibrate have no values and are left out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hati.core import FloatArray, Metric, SampledRun, Usage
from hati.subject.samples.book import Book, Label
from hati.subject.samples.fields import observations, optional, optional_text
from hati.subject.samples.node import Node

_UNITS = {"second": "s", "byte": "B", "integer": ""}
_NAMES = {"second": "time", "byte": "memory", "integer": "value"}


def read_pyperf(document: Iterator[Node], book: Book) -> None:
    """Take in the benchmarks of a document; warm-up values come first in a run.

    Raises:
        InputError: for anything that is not as pyperf writes it, with its path.
    """
    (whole,) = document
    benchmarks = whole["benchmarks"]
    for node in benchmarks.items():
        own = node.get("metadata")
        known = [metadata for metadata in (own, whole.get("metadata")) if metadata is not None]
        unit = _first(known, "unit") or "second"
        label = Label(
            _named(node, known),
            Metric(_NAMES.get(unit, "value"), _UNITS.get(unit, unit)),
            machine=_first(known, "hostname"),
        )
        _runs(node["runs"], label, book)


def _first(known: list[Node], key: str) -> str:
    return next((optional_text(metadata, key) for metadata in known if key in metadata), "")


def _named(node: Node, known: list[Node]) -> str:
    name = _first(known, "name")
    if not name:
        raise node.error("the benchmark has no name", fix="name it in its metadata, as pyperf does by --name")
    return name


def _runs(runs: Node, label: Label, book: Book) -> None:
    taken = 0
    for run in runs.items():
        if "values" not in run:
            continue
        taken += 1
        warmups = _warmups(run.get("warmups"))
        values = np.concatenate([warmups, run["values"].numbers()])
        seen = observations(values, label.metric, run["values"].error, len(warmups))
        book.add(label, SampledRun(seen, usage=_usage(run.get("metadata"))), run["values"].error)
    if not taken:
        raise runs.error("no run has values")


def _warmups(node: Node | None) -> FloatArray:
    """The values of the pairs of loops and value."""
    pairs = [] if node is None else list(node.items())
    for pair in pairs:
        if len(pair.numbers()) != 2:
            raise pair.error("a pair of loops and value is needed")
    return np.array([pair.numbers()[1] for pair in pairs], dtype=np.float64)


def _usage(metadata: Node | None) -> Usage:
    if metadata is None:
        return Usage()
    return Usage(
        wall_time=optional(metadata, "duration", Node.amount),
        peak_memory=optional(metadata, "mem_max_rss", Node.count),
        load=optional(metadata, "load_avg_1min", Node.amount),
    )
