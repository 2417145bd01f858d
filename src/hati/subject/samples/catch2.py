"""What Catch2's XML reporter writes: means of benchmarks."""

from __future__ import annotations

from collections.abc import Iterator

from hati.core import Better, InputError, Metric
from hati.space.feature_model.xml import Element, parse_xml
from hati.subject.samples.building import Complain, Label, SampleBuilder, single, summary_only

_TIME = Metric("time", "ns", Better.LOWER)
_CASE, _RESULTS = "TestCase", "BenchmarkResults"


def read_catch2(text: str, file: str, book: SampleBuilder) -> None:
    """Take in the benchmarks of a report.

    Raises:
        InputError: for malformed XML, or none of Catch2's, with its place.
    """
    root = parse_xml(text, file)
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
