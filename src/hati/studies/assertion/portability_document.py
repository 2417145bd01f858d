"""How portable formulas are between two machines: as plain values, as tables, and as figure data."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Annotated, NamedTuple

from msgspec import Struct, field

from hati.document.document import Align, Cell, Chart, ChartKind, Column, Document, Shown, Table
from hati.document.publishing import Interval, Of
from hati.document.quantities import general, percent
from hati.studies.assertion import EDGES, Former, KnownMachine, Portability, Ported, SetAside

_SMALL = 2.0
"""In the SPL paper, section 6.5, 96 % of the metric's values are below this."""
_BARS = 30
_LARGE = 10.0
_MEANT = (
    "Portability: the factor by which the ratio of the two means differs between the machines, 1 where "
    "it does not (SPL paper, section 6.5). Noise alone makes it larger than 1, never smaller."
)
_CERTAIN = (
    "The interval is of confidence {}, by how runs vary: from 1 on where the machines may agree. Of campaigns that "
    "ended when they were decided it misses up to twice as often, where runs are of two kinds."
)


class PortabilityBin(NamedTuple):
    """A bar of the histogram: how many tests have a metric from ``low`` on and below ``high``."""

    label: str
    low: float
    high: float
    tests: int


def portability_bins(found: Portability) -> tuple[PortabilityBin, ...]:
    """The histogram up to the last bin that is not empty."""
    counts = found.histogram
    last = max(place for place, count in enumerate(counts) if count)
    ends = itertools.pairwise(EDGES)
    bins = [
        PortabilityBin(_between(low, high), low, high, count) for (low, high), count in zip(ends, counts, strict=True)
    ]
    return tuple(bins[: last + 1])


def _between(low: float, high: float) -> str:
    return f"{low:g} or more" if math.isinf(high) else f"{low:g} to {high:g}"


def portability_answer(found: Portability) -> str:
    """The median and the largest value of the metric and the number of small ones, in one line."""
    first, second = found.names
    count = len(found.tests)
    below = sum(test.metric < _SMALL for test in found.tests)
    tests = f"{count:,} test{'' if count == 1 else 's'} on {first} and {second}"
    sizes = f"{metric_text(found.median)} in the median, {metric_text(found.largest)} at most"
    return f"{tests}: portability {sizes}; {below:,} below {_SMALL:g}"


def metric_text(metric: float) -> str:
    """The metric with three decimal places below 10, otherwise with four digits."""
    return f"{metric:.3f}" if metric < _LARGE else general(metric)


def portability_tables(found: Portability) -> tuple[Table, ...]:
    """The tests, the least portable first, and the histogram."""
    return _tests(found), _histogram(found)


def _tests(found: Portability) -> Table:
    right = Align.RIGHT
    first, second = found.names
    columns = (
        Column("portability", align=right),
        Column("interval", align=right),
        Column("test"),
        Column(f"on {first}", align=right),
        Column("runs", align=right),
        Column(f"on {second}", align=right),
        Column("runs", align=right),
    )
    rows = tuple(_row(test) for test in sorted(found.tests, key=lambda test: -test.metric))
    notes = (
        _MEANT,
        _CERTAIN.format(percent(found.confidence)),
        *(f"{text}: left out, {why}." for text, why in found.left_out),
        *_of_definitions(found),
    )
    return Table(portability_answer(found), columns, rows, notes)


def _of_definitions(found: Portability) -> Iterator[str]:
    """Notes on measurements of another definition than the compared one or the present one."""
    names = {machine.fingerprint: name for machine, name in zip(found.machines, found.names, strict=True)}
    for left in found.set_aside:
        runs = f"{left.runs:,} run{'' if left.runs == 1 else 's'} of {left.benchmark} on {names[left.machine]}"
        yield f"{runs}: left out, of another definition ({', '.join(left.differs)})."
    for each in found.former:
        yield f"{each.benchmark} is compared by an earlier definition; what changed since: {', '.join(each.differs)}."


def _row(test: Ported) -> tuple[Cell, ...]:
    known = zip(test.ratios, test.runs, strict=True)
    cells: list[Cell] = [cell for ratio, (m, n) in known for cell in (Shown(general(ratio), ratio), f"{m} + {n}")]
    return (Shown(metric_text(test.metric), test.metric), _interval(test), test.text, *cells)


def _interval(test: Ported) -> Cell:
    if test.interval is None:
        return None
    low, high = test.interval
    return Shown(f"{metric_text(low)} to {metric_text(high)}", f"{low} to {high}")


def _histogram(found: Portability) -> Table:
    bins = portability_bins(found)
    most = max(each.tests for each in bins)
    rows = tuple((each.label, each.tests, "#" * -(-_BARS * each.tests // most)) for each in bins)
    return Table("Histogram", (Column("portability"), Column("tests", align=Align.RIGHT), Column("")), rows)


class PortedJson(Struct, frozen=True):
    """A test on both machines: the ratio of its means on each, and how much these differ."""

    text: str
    portability: Annotated[float, Of("metric")]
    interval: Interval | None
    ratios: tuple[float, float]
    runs: tuple[tuple[int, int], tuple[int, int]]


class MachineJson(Struct, frozen=True):
    """A machine."""

    name: str
    fingerprint: str
    properties: dict[str, str]


class BinJson(Struct, frozen=True):
    """A bar of the histogram; ``to`` is null of the last."""

    from_: float = field(name="from")
    to: float | None
    tests: int


class NotPortedJson(Struct, frozen=True):
    """A relation that is left out."""

    text: str
    reason: str


class PortabilityJson(Struct, frozen=True, tag_field="format", tag="hati-assert-machines-1"):
    """How portable formulas are between two machines: tests in their order, and the histogram with all its bins."""

    machines: list[MachineJson]
    tests: list[PortedJson]
    confidence: float
    median: float | None
    largest: float | None
    histogram: Annotated[
        list[BinJson],
        Of(lambda found: [BinJson(*each) for each in zip(EDGES[:-1], EDGES[1:], found.histogram, strict=True)]),
    ]
    left_out: Annotated[list[NotPortedJson], Of(lambda found: [NotPortedJson(*each) for each in found.left_out])]
    set_aside: list[SetAside]
    former: list[Former]


def portability_facts(found: Portability) -> tuple[tuple[str, str], ...]:
    """Facts about both machines."""
    return tuple(
        (name, ", ".join(_properties(machine))) for name, machine in zip(found.names, found.machines, strict=True)
    )


def _properties(machine: KnownMachine) -> list[str]:
    facts = [
        f"{key} {machine.properties[key]}" for key in ("processor", "cpus", "memory", "system") if _has(machine, key)
    ]
    return [*facts, f"fingerprint {machine.fingerprint}"]


def _has(machine: KnownMachine, key: str) -> bool:
    return bool(machine.properties.get(key))


class PortabilityFigure(NamedTuple):
    """The histogram of portability between two machines."""

    bins: tuple[PortabilityBin, ...]
    machines: tuple[str, str]


def portability_document(found: Portability) -> Document:
    """The metric of each test, the least portable first, and its histogram."""
    caption = "How many tests have which portability. The table of the histogram has the same numbers."
    figure = PortabilityFigure(portability_bins(found), found.names)
    return Document(
        "Portability of performance requirements",
        portability_answer(found),
        facts=portability_facts(found),
        sections=(*portability_tables(found), Chart(ChartKind.HISTOGRAM, "histogram", caption, figure)),
        reading=_READING,
    )


_READING = (
    (
        "Ratio",
        "The mean of the left side over that of the right one, without their factors. Each run counts as one value.",
    ),
    (
        "Portability",
        "The ratio on one machine over that on the other, or the other way round, whichever is greater (SPL paper, "
        "section 6.5). At 1 both machines agree; at 2 configurations of equal speed on the other take twice or half as "
        "long there.",
    ),
    (
        "Interval",
        "Where the metric may be, by how the means of runs vary. It begins at 1 where the machines may agree. There is "
        "none where a method has one run on a machine. Each test has its own: of many a few miss.",
    ),
    (
        "Noise",
        "Runs vary, so the metric is above 1 even where both machines behave alike: more runs bring it down. It is an "
        "estimate, and no verdict.",
    ),
)
