"""What github-action-benchmark keeps in ``data.js``, and its custom JSON: one number for each benchmark and
commit.
"""

from __future__ import annotations

from datetime import UTC, datetime

from hati.core import Better, Metric, SampledRun
from hati.subject.samples.building import Label, SampleBuilder, direction, single, summary_only
from hati.subject.samples.document import JsonNode

PREFIX = b"window.BENCHMARK_DATA"
_HIGHER = "customBiggerIsBetter"
_LOWER = "customSmallerIsBetter"


def read_action_data(whole: JsonNode, book: SampleBuilder) -> None:
    """Take in a history: every entry is a run of its commit.

    Raises:
        InputError: for anything that is not as github-action-benchmark writes it, with its path.
    """
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
                    _moment(entry["date"]) if "date" in entry else None,
                    book,
                )


def read_action_custom(whole: JsonNode, book: SampleBuilder) -> None:
    """Take in a list of benchmarks with a name, a unit and a value.

    Raises:
        InputError: for anything that is not as github-action-benchmark has it, with its path.
    """
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


def _moment(node: JsonNode) -> datetime:
    try:
        return datetime.fromtimestamp(node.number() / 1000.0, UTC)
    except (ValueError, OverflowError, OSError):
        raise node.error("this is not a time in milliseconds") from None
