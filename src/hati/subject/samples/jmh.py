"""What JMH's ``-rf json`` writes: each fork is a process of its own, a run; its iterations are observations."""

from __future__ import annotations

from array import array

import numpy as np

from hati.core import Better, Configuration, Metric, Workload
from hati.subject.samples.building import (
    Label,
    SampleBuilder,
    direction,
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
