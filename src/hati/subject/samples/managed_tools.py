"""Tools of virtual machines, JMH and BenchmarkDotNet: each fork or launch is a process of its own, a run."""

from __future__ import annotations

from array import array

import numpy as np

from hati.core import Better, Configuration, Metric, SampledRun, Workload
from hati.subject.samples.building import (
    Label,
    SampleBuilder,
    direction,
    observations,
    optional_text,
    settings,
    single,
    summary_only,
    values_run,
)
from hati.subject.samples.document import JsonNode, read_document
from hati.subject.samples.source import OpenedFile

_ALLOCATION = " gc."


def read_jmh(source: OpenedFile, book: SampleBuilder) -> None:
    """Take in the results of a document: the score of every mode, and secondary metrics such as those of profilers.

    Raises:
        InputError: for anything that is not as JMH writes it, with its path.
    """
    for node in read_document(source.stream, source.file, ()):
        if not node.path:
            node.items()
            continue
        mode = node["mode"].text()
        unit = node["primaryMetric"]["scoreUnit"].text()
        _metric(node, node["primaryMetric"], Metric(mode, unit, direction(unit)), book)
        secondary = node.get("secondaryMetrics")
        for name, found in secondary.members() if secondary else ():
            _secondary(node, found, f"{mode} {name.removeprefix('·')}", book)


def _secondary(node: JsonNode, found: JsonNode, name: str, book: SampleBuilder) -> None:
    """A metric of a profiler; it is left out where an iteration has none, which JMH writes as text."""
    forks = found.get("rawData")
    if forks is None or not all(isinstance(fork.value, array) and len(fork.value) for fork in forks.items()):
        book.warn(f"{name!r} of {node['benchmark'].text()!r} is left out: it was not read in every iteration")
        return
    unit = optional_text(found, "scoreUnit")
    better = Better.LOWER if _ALLOCATION in name else direction(unit)
    _metric(node, found, Metric(name, unit, better), book)


def _metric(node: JsonNode, metric: JsonNode, own: Metric, book: SampleBuilder) -> None:
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
        book.add(label, single(metric["score"].number(), label.metric, metric.error), metric.error)


def _mean(iteration: JsonNode) -> float:
    """The mean of a histogram: pairs of a value and how often it was seen."""
    pairs = [pair.numbers() for pair in iteration.items()]
    total = sum(pair[1] for pair in pairs if len(pair) == 2)
    if not total > 0 or any(len(pair) != 2 for pair in pairs):
        raise iteration.error("this is not a histogram: pairs of a value and a count are needed")
    return float(sum(value * count for value, count in pairs) / total)


_TIME = Metric("time", "ns")
_WORKLOAD = "Workload"
_RESULT, _ACTUAL = "Result", "Actual"


def read_dotnet(source: OpenedFile, book: SampleBuilder) -> None:
    """Take in the benchmarks of a document.

    The full exporter's measurements are taken, with the overhead subtracted where it is; of the brief one the values,
    which does not name their launches.

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
