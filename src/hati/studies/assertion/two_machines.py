"""Portability: whether comparisons in formulas agree on two machines (SPL paper, section 6.5), also as a document."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Annotated, NamedTuple

from msgspec import Struct, field

from hati.core import InputError, parse_unit, replace
from hati.core.wording import counted
from hati.document.document import (
    Align,
    Cell,
    Chart,
    ChartKind,
    Column,
    Document,
    Shown,
    Table,
    columns_of,
    general,
    percent,
)
from hati.document.publishing import Interval, Of
from hati.logic import syntax
from hati.logic.interpret import ALPHA, MeasuredSample
from hati.stats import quotient_interval
from hati.studies.assertion.atoms import side_of, unit_of
from hati.studies.assertion.requirement import Former, Requirement, SampleCollector, SetAside

EDGES = (1.0, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, math.inf)
"""The edges of the histogram's bins; each bin includes its lower edge and excludes its upper one."""

CONFIDENCE = 1.0 - 2.0 * ALPHA
"""The confidence of intervals, the same as for judged relations."""

_NAME = "name"
_SHORTEST = 4
"""The length of the shortest prefix that identifies a fingerprint."""

Machines = tuple["KnownMachine", "KnownMachine"]
Books = tuple[SampleCollector, SampleCollector]
"""The measurements on the first machine, and on the second."""


class KnownMachine(Struct, frozen=True):
    """A machine with measurements, by its fingerprint, and its known properties."""

    fingerprint: str
    properties: Mapping[str, str]

    @property
    def name(self) -> str:
        """Its name, or else its fingerprint."""
        return self.properties.get(_NAME) or self.fingerprint

    def is_called(self, text: str) -> bool:
        """Whether the text is its name, its fingerprint, or a prefix of the fingerprint."""
        begins = len(text) >= _SHORTEST and self.fingerprint.startswith(text)
        return text in {self.name, self.fingerprint} or begins


class Ported(Struct, frozen=True):
    """A comparison of two methods M and N on two machines.

    ``ratios`` are mean of M / mean of N on each machine, from the means of runs; ``runs`` are the numbers of runs of M
    and N on each, and ``quotient`` is the interval of the quotient of the ratios, None if a side has one run.

    Raises:
        InputError: for ratios that are not positive and finite.
    """

    text: str
    ratios: tuple[float, float]
    runs: tuple[tuple[int, int], tuple[int, int]]
    quotient: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not all(0.0 < ratio < math.inf for ratio in self.ratios):
            raise InputError(f"{self.text}: no ratios of times: {self.ratios}")

    @property
    def metric(self) -> float:
        """The quotient of the ratios or its reciprocal, whichever is greater: 1 if both machines agree.

        The SPL paper, section 6.5: (M1 / N1) / (M2 / N2).
        """
        quotient = self.ratios[0] / self.ratios[1]
        return max(quotient, 1.0 / quotient)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval of the metric, with at least the quotient's confidence; from 1 on if the quotient may be 1."""
        if self.quotient is None:
            return None
        low, high = self.quotient
        ends = sorted((max(low, 1.0 / low), max(high, 1.0 / high)))
        return (1.0 if low <= 1.0 <= high else ends[0], ends[1])


class Portability(Struct, frozen=True):
    """The comparisons of formulas on two machines; ``left_out`` are relations that cannot be compared, with reasons.

    ``set_aside`` are runs of other definitions of benchmarks than those that are compared, ``former`` the benchmarks
    whose present definition differs; ``confidence`` is that of each test's interval individually.

    Raises:
        InputError: if nothing can be compared.
    """

    machines: Machines
    tests: tuple[Ported, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    set_aside: tuple[SetAside, ...] = ()
    former: tuple[Former, ...] = ()
    confidence: float = CONFIDENCE

    def __post_init__(self) -> None:
        if not self.tests:
            why = "; ".join(f"{text}: {reason}" for text, reason in self.left_out[:2]) or "there is no relation"
            raise InputError(
                f"nothing can be compared on {' and '.join(self.names)}: {why}",
                fix="run hati assert on both machines at one revision, and put the stores together by hati import",
            )

    @property
    def names(self) -> tuple[str, str]:
        """The names of both machines, with their fingerprints if the names are equal."""
        return _names(self.machines)

    @property
    def median(self) -> float:
        """The median of the metric over all tests."""
        return median(test.metric for test in self.tests)

    @property
    def largest(self) -> float:
        """The metric of the least portable test."""
        return max(test.metric for test in self.tests)

    @property
    def histogram(self) -> tuple[int, ...]:
        """The number of tests in each of the bins between ``EDGES``."""
        return tuple(sum(low <= test.metric < high for test in self.tests) for low, high in itertools.pairwise(EDGES))


def _names(machines: Machines) -> tuple[str, str]:
    first, second = machines
    if first.name != second.name:
        return first.name, second.name
    return f"{first.name} {first.fingerprint}", f"{second.name} {second.fingerprint}"


def portability(
    requirements: Sequence[Requirement], machines: Machines, books: Books, confidence: float = CONFIDENCE
) -> Portability:
    """The relations of all formulas, each once, with intervals of that confidence.

    The statistics that a relation compares are computed from the observations without its transformations: the metric
    does not depend on factors.

    Raises:
        InputError: if nothing can be compared, something was not measured at all, or sides differ in dimension.
    """
    found: dict[str, Ported | str] = {}
    for requirement, relation in _relations(requirements, books[0]):
        with requirement.placing(relation):
            found.setdefault(str(relation), _ported(relation, machines, books, confidence))
    return Portability(
        machines,
        tuple(each for each in found.values() if isinstance(each, Ported)),
        tuple((text, each) for text, each in found.items() if isinstance(each, str)),
        confidence=confidence,
    )


def _relations(
    requirements: Sequence[Requirement], book: SampleCollector
) -> Iterator[tuple[Requirement, syntax.Relation]]:
    for requirement in requirements:
        for relation in requirement.relations:
            yield requirement, requirement.resolved(relation, book)


def _ported(relation: syntax.Relation, machines: Machines, books: Books, confidence: float) -> Ported | str:
    """The evidence on a relation on both machines, or the reason why it is left out.

    Raises:
        InputError: if a method has no sample on any machine, or the sides differ in dimension.
    """
    left, right = relation.left, relation.right
    if not (isinstance(left, syntax.PerformanceSide) and isinstance(right, syntax.PerformanceSide)):
        return "a limit is not of two methods"
    for machine, book in zip(_names(machines), books, strict=True):
        for side in (left, right):
            method = str(side.measured.method)
            if method in book.missing:
                return f"{method} on {machine}: {book.missing[method]}"
            if method not in book.samples:
                book.sample(side.measured)
    try:
        units = [(unit_of(left, book) or "", unit_of(right, book) or "") for book in books]
        measured = [(_plain(left, book), _plain(right, book)) for book in books]
    except InputError as error:
        return error.message
    try:
        for of_both in units:
            syntax.check_dimensions(relation, *of_both)
    except InputError as error:
        return books[0].unfit(error)
    if len({tuple(parse_unit(unit).dimension for unit in of_both) for of_both in units}) > 1:
        return "its metrics are of other dimensions on the one machine than on the other"
    return _compared(relation, measured, confidence)


def _compared(
    relation: syntax.Relation, measured: Sequence[tuple[MeasuredSample, MeasuredSample]], confidence: float
) -> Ported | str:
    means = [(float(left.means.mean()), float(right.means.mean())) for left, right in measured]
    if min(mean for pair in means for mean in pair) <= 0.0:
        return "a mean is not above zero"
    (m1, n1), (m2, n2) = means
    sizes = [(len(left.runs), len(right.runs)) for left, right in measured]
    (of_m1, of_n1), (of_m2, of_n2) = [(left.means, right.means) for left, right in measured]
    interval = quotient_interval((of_m1, of_n2), (of_n1, of_m2), confidence)
    return Ported(str(relation), (m1 / n1, m2 / n2), (sizes[0], sizes[1]), interval)


def _plain(side: syntax.PerformanceSide, book: SampleCollector) -> MeasuredSample:
    """The sample of a side without its transformation."""
    taken = side_of(replace(side, transformation=syntax.Observed()), book)
    assert isinstance(taken, MeasuredSample)
    return taken


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
    tests = f"{counted(count, 'test')} on {first} and {second}"
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
        *columns_of("> portability | > interval | test"),
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
        runs = f"{counted(left.runs, 'run')} of {left.benchmark} on {names[left.machine]}"
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
    return Table("Histogram", (*columns_of("portability | > tests"), Column("")), rows)


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
