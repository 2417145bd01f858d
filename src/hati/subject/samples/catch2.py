"""What Catch2's XML reporter writes: means of benchmarks."""

from __future__ import annotations

from collections.abc import Iterator

from hati.core import InputError, Metric, Place
from hati.space.feature_model.xml import Element, parse_xml
from hati.subject.samples.building import Complain, Label, SampleBuilder, single, summary_only
from hati.subject.samples.source import OpenedFile

_TIME = Metric("time", "ns")
_CASE, _RESULTS = "TestCase", "BenchmarkResults"


def read_catch2(source: OpenedFile, book: SampleBuilder) -> None:
    """Take in the benchmarks of a report.

    Raises:
        InputError: for malformed XML, or none of Catch2's, with its place.
    """
    data = source.stream.read()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(f"byte 0x{data[error.start]:02x} is not UTF-8", place=Place(source.file, line)) from None
    root = parse_xml(text, source.file)
    found = False
    for case, result in _results(root, ""):
        found = True
        _result(case, result, book)
    if not found:
        raise InputError("there are no benchmarks in this report", place=root.place)


def _results(element: Element, case: str) -> Iterator[tuple[str, Element]]:
    """Every benchmark, with the name of its test case."""
    if element.tag == _CASE:
        case = element.attributes.get("name", "")
    for child in element.children:
        if child.tag == _RESULTS:
            yield case, child
        else:
            yield from _results(child, case)


def _result(case: str, result: Element, book: SampleBuilder) -> None:
    complain = _at(result)
    name = result.attributes.get("name", "").strip()
    mean = result.child("mean")
    if not name or mean is None or "value" not in mean.attributes:
        raise complain("the benchmark has no name or no mean")
    text = mean.attributes["value"]
    try:
        value = float(text)
    except ValueError:
        raise _at(mean)(f"{text[:40]!r} stands where a number is needed") from None
    book.warn(summary_only("means", "Catch2"))
    label = Label(f"{case}: {name}" if case else name, _TIME)
    book.add(label, single(value, _TIME, _at(mean)), _at(mean))


def _at(element: Element) -> Complain:
    return lambda message: InputError(message, place=element.place)
