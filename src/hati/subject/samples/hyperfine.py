"""What ``hyperfine --export-json`` writes: each time is that of a process of its own, a run."""

from __future__ import annotations

import numpy as np

from hati.core import Metric, SampledRun, Usage, Workload
from hati.subject.samples.building import Label, SampleBuilder, observations, settings, single, summary_only
from hati.subject.samples.document import JsonNode, read_document
from hati.subject.samples.source import OpenedFile

_TIME = Metric("time", "s")


def read_hyperfine(source: OpenedFile, book: SampleBuilder) -> None:
    """Take in the results of a document.

    Raises:
        InputError: for anything that is not as hyperfine writes it, with its path.
    """
    for node in read_document(source.stream, source.file, ("results",)):
        if node.path:
            _result(node, book)


def _result(node: JsonNode, book: SampleBuilder) -> None:
    workload = Workload(settings(node.get("parameters")))
    label = Label(node["command"].text(), _TIME, workload=workload)
    if "times" not in node:
        book.warn(summary_only("means", "hyperfine"))
        book.add(label, single(node["mean"].number(), _TIME, node.error), node.error)
        return
    times = node["times"]
    exits = _beside(node, "exit_codes", len(times.numbers()))
    memory = _beside(node, "memory_usage_byte", len(times.numbers()))
    for item, status, peak in zip(times.items(), exits, memory, strict=True):
        values = observations(np.array([item.number()]), _TIME, item.error)
        usage = Usage(wall_time=item.number(), peak_memory=peak.count() if peak else None)
        book.add(label, SampledRun(values, usage=usage, exit=status.integer() if status else None), item.error)
    if not len(times.numbers()):
        raise times.error("there are no times")


def _beside(node: JsonNode, key: str, length: int) -> list[JsonNode | None]:
    """The items of a list that stands beside the times; None where one is not known."""
    found = node.get(key)
    if found is None:
        return [None] * length
    items = [None if item.value is None else item for item in found.items()]
    if len(items) != length:
        raise found.error(f"there are {len(items)}, and {length} times")
    return items
