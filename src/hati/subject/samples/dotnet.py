"""What BenchmarkDotNet's JSON exporters write: each launch is a process of its own, a run."""

from __future__ import annotations

from array import array

import numpy as np

from hati.core import Metric, SampledRun, Workload
from hati.subject.samples.building import Label, SampleBuilder, observations, optional_text, values_run
from hati.subject.samples.document import JsonNode, read_document
from hati.subject.samples.source import OpenedFile

_TIME = Metric("time", "ns")
_WORKLOAD = "Workload"
_RESULT, _ACTUAL = "Result", "Actual"


def read_dotnet(source: OpenedFile, book: SampleBuilder) -> None:
    """Take in the benchmarks of a document.

    The full exporter's measurements are taken, with the overhead subtracted where it is; of the brief one the values,
    which are not told apart by launch.

    Raises:
        InputError: for anything that is not as BenchmarkDotNet writes it, with its path.
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
    """Parameters as they are written: ``N=10&Order=up``, or ``N=10, Order=up``."""
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
