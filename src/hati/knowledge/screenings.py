"""Knowledge from screenings of a subject.

It selects the most informative screening, the important options, and configurations that represent a space.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.core import Configuration, FloatArray, InputError, replace
from hati.design.suite import Suite, leading_options, runs_for, screening_suite
from hati.knowledge.runs import Provenance, SumsOfSquares, Variation, variation

if TYPE_CHECKING:
    from numpy.random import Generator

    from hati.space import Space


class MeasuredScreening(Struct, frozen=True, eq=False, dict=True):
    """The runs of a screening's design that have a value: ``values`` in run order, shape (runs,), any unit.

    ``definition`` says how the benchmark was defined; ``recalibrates`` is the key of the screening that this one
    repeats, and ``complete`` the fraction of its planned runs that were made. ``machines`` are the fingerprints of the
    runs, where these are known.

    Raises:
        InputError: where not every value has a configuration, or there is none.
    """

    provenance: Provenance
    definition: str
    configurations: tuple[Configuration, ...]
    values: FloatArray
    complete: float = 1.0
    recalibrates: str | None = None
    machines: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not len(self.configurations) == len(self.values) > 0:
            raise InputError(f"{self.provenance.study} needs a configuration for every value, and one value at least")

    @cached_property
    def distinct(self) -> int:
        """How many different configurations have a value."""
        return len(set(self.configurations))

    @cached_property
    def sums(self) -> tuple[SumsOfSquares, ...]:
        """What runs of a configuration and main effects leave of the variance, on each machine."""
        machines = self.machines or ("",) * len(self.configurations)
        return SumsOfSquares.by_machine(self.configurations, self.values, machines)


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
    pooled = variation(sums for one in left for sums in one.sums) or Variation(1.0, 1.0)

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


class KnownEffect(Struct, frozen=True):
    """An effect of one option, or of several together, as a fraction with its 95 % interval.

    ``aliases`` are the effects that it cannot be distinguished from.
    """

    options: tuple[str, ...]
    relative: float
    interval: tuple[float, float] | None
    aliases: tuple[tuple[str, ...], ...] = ()


class ImportantOptions(Struct, frozen=True):
    """The options that a screening calls important for a metric, the most influential first.

    ``options`` is empty where none was; ``ranking`` holds all options, the most influential first; ``effects`` those
    that the screening calls important.
    """

    metric: str
    options: tuple[str, ...]
    ranking: tuple[str, ...]
    effects: tuple[KnownEffect, ...] = ()

    def among(self, names: Sequence[str]) -> ImportantOptions:
        """The known importance of those options alone."""
        options, ranking = (tuple(name for name in own if name in names) for own in (self.options, self.ranking))
        effects = tuple(effect for effect in self.effects if set(effect.options) <= set(names))
        return replace(self, options=options, ranking=ranking, effects=effects)

    @property
    def leading(self) -> tuple[str, ...]:
        """The important options; where none is, the first of the ranking."""
        return self.options or self.ranking[:1]


REPRESENTATIVES = 16
"""Configurations at most, where no budget says otherwise: each is run in every round at every revision."""
FEWEST_REPRESENTATIVES = 2
"""Configurations of a suite at least: a comparison of one is not one of a space."""


def representative_suite(
    space: Space, important: Sequence[ImportantOptions], most: int, rng: Generator
) -> Suite | None:
    """A screening suite of two configurations for every combination of the important options' settings.

    ``important`` has an entry for each metric; options come in order of their ranks. Where ``most`` configurations are
    too few for all combinations, options that rank last are varied within the strata. None where fewer
    than ``FEWEST_REPRESENTATIVES`` are allowed.

    Raises:
        InputError: where the constraints are too entangled to count.
    """
    if most < FEWEST_REPRESENTATIVES or not important:
        return None
    wanted = _interleaved([one.leading for one in important])
    options = leading_options(space, wanted, most)
    runs = (runs_for(space, options) if options else None) or most
    ranking = tuple(dict.fromkeys((*wanted, *_interleaved([one.ranking for one in important]))))
    return screening_suite(space, options, min(runs, most), rng, ranking)


def _interleaved(rankings: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """All names, those that are first in any ranking first."""
    return tuple(dict.fromkeys(name for rank in zip_longest(*rankings) for name in rank if name is not None))


class Coverage(Struct, frozen=True):
    """Of a benchmark the number of ``configurations`` that are measured, of all in the ``space`` (None: uncounted).

    ``strata`` are the options all combinations of whose settings are measured, weighted by the configurations that they
    stand for; without any, nothing is known of those that are not measured. ``source`` says where the choice is from,
    ``remedy``, a sentence, what would cover the rest.
    """

    benchmark: str
    configurations: int
    space: int | None
    strata: tuple[str, ...]
    source: str
    remedy: str = ""

    def __post_init__(self) -> None:
        if self.configurations < 1 or (self.space is not None and self.space < self.configurations):
            raise InputError(f"{self.configurations} of {self.space} configurations cannot be measured")

    @property
    def partial(self) -> bool:
        """Whether there are configurations of which these say nothing."""
        return not self.strata and self.configurations != self.space
