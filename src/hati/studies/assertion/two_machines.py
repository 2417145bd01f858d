"""Portability: whether the comparisons in formulas agree on two machines (SPL paper, section 6.5)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from msgspec import Struct

from hati.core import InputError, parse_unit, replace
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
