"""Which of several screenings tells most about the effects of options."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from msgspec import Struct

from hati.core import Configuration, FloatArray, InputError
from hati.knowledge.entry import Provenance
from hati.knowledge.variation import SumsOfSquares, Variation, variation


class MeasuredScreening(Struct, frozen=True, eq=False, dict=True):
    """The runs of a screening's design that have a value: ``values`` in run order, shape (runs,), any unit.

    ``definition`` says how the benchmark was defined; ``recalibrates`` is the key of the screening that this one
    repeats, and ``complete`` the fraction of its planned runs that were made.

    Raises:
        InputError: where not every value has a configuration, or there is none.
    """

    provenance: Provenance
    definition: str
    configurations: tuple[Configuration, ...]
    values: FloatArray
    complete: float = 1.0
    recalibrates: str | None = None

    def __post_init__(self) -> None:
        if not len(self.configurations) == len(self.values) > 0:
            raise InputError(f"{self.provenance.study} needs a configuration for every value, and one value at least")

    @cached_property
    def distinct(self) -> int:
        """How many different configurations have a value."""
        return len(set(self.configurations))

    @cached_property
    def sums(self) -> SumsOfSquares:
        """What runs of a configuration and main effects leave of the variance."""
        return SumsOfSquares.of(self.configurations, self.values)


_COMPLETE = 0.5
"""From this fraction of its runs on a recalibration replaces the screening that it repeats."""


def by_information(
    screenings: Sequence[MeasuredScreening], definition: str
) -> tuple[tuple[MeasuredScreening, str], ...]:
    """The screenings, the most informative first, each with the reason for its place.

    Compared by the variance of a main effect, interactions / configurations + noise / runs, in which both components
    are pooled over all screenings: a lucky estimate of its own noise makes none of them better. Those of the benchmark
    as it is defined now precede others, then those on this machine; a screening that was recalibrated is left out.
    """
    replaced = {one.recalibrates for one in screenings if one.complete >= _COMPLETE}
    left = [one for one in screenings if one.provenance.study not in replaced]
    pooled = variation(one.sums for one in left) or Variation(1.0, 1.0)

    def variance(one: MeasuredScreening) -> float:
        return pooled.interactions / one.distinct + pooled.noise / len(one.values)

    ordered = sorted(
        left,
        key=lambda one: (
            one.definition != definition,
            bool(one.provenance.machine),
            variance(one),
            -one.provenance.measured.timestamp(),
        ),
    )
    return tuple((one, _reason(one, ordered, variance(one), definition)) for one in ordered)


def _reason(one: MeasuredScreening, ordered: Sequence[MeasuredScreening], variance: float, definition: str) -> str:
    made = f"{one.distinct:,} configurations, {len(one.values):,} runs"
    if len(ordered) == 1:
        return "the only screening of this space and metric"
    if one.definition == definition and any(other.definition != definition for other in ordered):
        return f"the benchmark is defined as it was then; {made}"
    if not one.provenance.machine and any(other.provenance.machine for other in ordered):
        return f"measured on this machine; {made}"
    return f"smallest standard error of an effect ({100.0 * variance**0.5:.2g} %) of {len(ordered)} screenings: {made}"
