"""Bencher's metric format (BMF): one value for each benchmark and measure."""

from __future__ import annotations

import re

from hati.core import Better, Metric
from hati.subject.samples.building import Label, SampleBuilder, direction, single, summary_only
from hati.subject.samples.document import read_whole
from hati.subject.samples.source import OpenedFile

_MEASURES = {  # Bencher's built-in measures
    "latency": ("ns", Better.LOWER),
    "throughput": ("1/s", Better.HIGHER),
    "build-time": ("s", Better.LOWER),
    "file-size": ("B", Better.LOWER),
}

_WITH_UNIT = re.compile(r"(.+) \((\S+)\)")


def _metric(measure: str) -> Metric:
    """A built-in measure, or one whose name ends with its unit, as `hati export` writes it: ``wall_time (s)``."""
    if measure in _MEASURES:
        return Metric(measure, *_MEASURES[measure])
    named = _WITH_UNIT.fullmatch(measure)
    return Metric(named[1], named[2], direction(named[2])) if named else Metric(measure, "", Better.LOWER)


def read_bencher(source: OpenedFile, book: SampleBuilder) -> None:
    """Take in the measures of a document.

    Raises:
        InputError: for anything that is not as the format has it, with its path.
    """
    for name, measures in read_whole(source.stream, source.file).members():
        if not name.strip():
            raise measures.error("the benchmark has an empty name")
        for measure, found in measures.members():
            metric = _metric(measure)
            if not metric.unit:
                book.warn(f"the unit of {measure!r} is not known, nor its direction: lower is taken as better")
            value = found["value"]
            book.warn(summary_only("one number for each benchmark", "Bencher's format"))
            book.add(Label(name, metric), single(value.number(), metric, value.error), value.error)
