"""What github-action-benchmark keeps in ``data.js``, and its custom JSON: one number for each benchmark and
commit.
"""

from __future__ import annotations

import re
from array import array
from datetime import datetime
from io import BytesIO

from hati.core import Better, InputError, Metric, Place, SampledRun
from hati.subject.samples.building import Label, SampleBuilder, direction, single, summary_only, unix_moment
from hati.subject.samples.document import JsonNode, read_whole
from hati.subject.samples.source import OpenedFile

PREFIX = b"window.BENCHMARK_DATA"
_HIGHER = "customBiggerIsBetter"
_LOWER = "customSmallerIsBetter"


def read_action(source: OpenedFile, book: SampleBuilder) -> None:
    """Take in a history, where every entry is a run of its commit, or a list of benchmarks with a unit and a value.

    A history is data, or a script that sets a variable to it: the script's own words are made blanks.

    Raises:
        InputError: for anything that is not as github-action-benchmark writes it, with its path.
    """
    if not source.head.lstrip().startswith(PREFIX):
        whole = read_whole(source.stream, source.file)
        (_custom if isinstance(whole.value, list | array) else _history)(whole, book)
        return
    data = source.stream.read()
    start = data.find(b"{")
    if start < 0:
        raise InputError("there is no data in this script", place=Place(source.file, 1))
    blank = re.sub(rb"[^\n]", b" ", data[:start])
    _history(read_whole(BytesIO(blank + data[start:].rstrip().removesuffix(b";")), source.file), book)


def _history(whole: JsonNode, book: SampleBuilder) -> None:
    suites = list(whole["entries"].members())
    for suite, entries in suites:
        for entry in entries.items():
            tool = entry["tool"].text() if "tool" in entry else ""
            for bench in entry["benches"].items():
                name = bench["name"].text()
                _bench(
                    bench,
                    f"{suite}: {name}" if len(suites) > 1 else name,
                    entry["commit"]["id"].text(),
                    {_HIGHER: Better.HIGHER, _LOWER: Better.LOWER}.get(tool),
                    unix_moment(entry["date"]) if "date" in entry else None,
                    book,
                )


def _custom(whole: JsonNode, book: SampleBuilder) -> None:
    for bench in whole.items():
        _bench(bench, bench["name"].text(), "", None, None, book)
    book.warn("the file does not say which direction is better: higher for rates, lower for all else")


def _bench(
    bench: JsonNode, name: str, revision: str, better: Better | None, started: datetime | None, book: SampleBuilder
) -> None:
    unit = bench["unit"].text()
    metric = Metric("value", unit, better or direction(unit))
    run = single(bench["value"].number(), metric, bench["value"].error)
    book.warn(summary_only("one number for each benchmark", "github-action-benchmark"))
    book.add(Label(name, metric, revision=revision), SampledRun(run.observations, started), bench["value"].error)
