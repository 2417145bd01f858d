"""Results of earlier studies of a subject, a benchmark and a metric; later studies are planned from them.

From a benchmark's runs: cost, variance and warm-up, with their source. From screenings: the most informative one, the
important options, and configurations that represent a space.

Concluded values come in as plain types, entries come out: each with the study that it is from, its age, and why it is
preferred to others. Nothing here reads a store or a clock.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from itertools import zip_longest
from statistics import median
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np
from msgspec import Struct

from hati.core import Configuration, FloatArray, InputError, replace
from hati.core.wording import runs_of_study, span_text
from hati.harness import State, steadiness

if TYPE_CHECKING:
    from numpy.random import Generator

    from hati.design.suite import Suite
    from hati.space import Space


T = TypeVar("T")

_SHORT = 12
_MINUTE = 60.0


class Provenance(Struct, frozen=True):
    """The source of an entry: a study's key, the number of its runs with a value, and when the last of them started.

    ``revision`` and ``machine`` are set where they differ from the present ones, else empty; so is ``space``, in words.
    The study has ``made`` runs in all, of any purpose and outcome; 0 where these are ``runs``.

    Raises:
        InputError: for a time without a time zone.
    """

    study: str
    runs: int
    measured: datetime
    revision: str = ""
    machine: str = ""
    space: str = ""
    made: int = 0

    def __post_init__(self) -> None:
        if self.measured.tzinfo is None:
            raise InputError(f"the time at which {self.study} was measured needs a time zone")


class Entry(Struct, Generic[T], frozen=True):
    """A known value, with its ``provenance``, its ``age``, and why it is ``preferred`` to others."""

    value: T
    provenance: Provenance
    age: timedelta
    preferred: str

    @property
    def source(self) -> str:
        """The study, all its runs and its age, in words, and its revision, machine or space where it is another."""
        origin = self.provenance
        parts = [runs_of_study(origin.study, origin.made or origin.runs), age_text(self.age)]
        parts += [f"at another revision ({origin.revision[:_SHORT]})"] if origin.revision else []
        parts += [f"on another machine ({origin.machine})"] if origin.machine else []
        parts += [f"over {origin.space}"] if origin.space else []
        return ", ".join(parts)


def age_text(age: timedelta) -> str:
    """An age in the largest unit that it reaches.

    >>> age_text(timedelta(hours=50)), age_text(timedelta(seconds=90)), age_text(timedelta(seconds=3))
    ('2 days ago', '1 minute ago', 'just now')
    """
    seconds = age.total_seconds()
    return "just now" if seconds < _MINUTE else f"{span_text(seconds)} ago"


_ENOUGH = 8
"""The number of runs from which a study's cost counts; with fewer, the newest may cover few configurations."""


class TimedRuns(Struct, frozen=True):
    """The ``seconds`` of a study's runs that succeeded.

    Raises:
        InputError: without any.
    """

    provenance: Provenance
    seconds: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.seconds:
            raise InputError(f"{self.provenance.study} has no run that worked")

    @property
    def median(self) -> float:
        """The cost of a run."""
        return median(self.seconds)


def by_cost(studies: Sequence[TimedRuns]) -> tuple[TimedRuns, str] | None:
    """The study that estimates a run's cost, and the reason: the newest on this machine with at least eight runs.

    Without such a study, the one with the most runs; studies of other machines only where this one has none.
    """
    if not studies:
        return None
    here = [one for one in studies if not one.provenance.machine] or studies
    enough = [one for one in here if len(one.seconds) >= _ENOUGH]
    if enough:
        return max(enough, key=lambda one: one.provenance.measured), f"the newest study with {_ENOUGH} runs or more"
    most = max(here, key=lambda one: (len(one.seconds), one.provenance.measured))
    return most, "the study with the most runs"


FEWEST_LEFT = 4
"""Degrees of freedom from which the variance of interactions is estimated."""


class Variation(Struct, frozen=True):
    """Variances of logarithms (of fractions of the mean size, where a value is not above zero).

    ``interactions`` is that between configurations after main effects, ``noise`` that between runs of one.
    """

    interactions: float
    noise: float

    def deviation(self, repetitions: int) -> float:
        """The standard deviation of a run about main effects, as a design of ``repetitions`` counts it.

        The error of a main effect is 2 / sqrt(runs) times it: repetitions average the noise, not the interactions.
        """
        return math.sqrt(self.noise + repetitions * self.interactions)


class SumsOfSquares(Struct, frozen=True):
    """Sums of squares with their degrees of freedom: between runs of a configuration, and left by main effects.

    They are from ``runs`` of ``configurations``.
    """

    within: float
    within_df: int
    left: float
    left_df: int
    runs: int
    configurations: int

    @classmethod
    def of(cls, configurations: Sequence[Configuration], values: FloatArray) -> SumsOfSquares:
        """The sums from a value for each run, shape (runs,), any unit.

        Raises:
            InputError: where not every value has a configuration, or there is none.
        """
        if not len(configurations) == len(values) > 0:
            raise InputError("there is a configuration for every value, and one value at least")
        responses = _responses(values)
        places = {configuration: place for place, configuration in enumerate(dict.fromkeys(configurations))}
        owners = np.array([places[configuration] for configuration in configurations])
        sizes = np.bincount(owners)
        means = np.bincount(owners, weights=responses) / sizes
        within = float(((responses - means[owners]) ** 2).sum())
        columns, weights = _main_effects(tuple(places)), np.sqrt(sizes)
        solved, _, rank, _ = np.linalg.lstsq(columns * weights[:, None], means * weights, rcond=None)
        left = float((sizes * (means - columns @ solved) ** 2).sum())
        return cls(within, len(owners) - len(sizes), left, len(sizes) - int(rank), len(owners), len(sizes))

    @classmethod
    def by_machine(
        cls, configurations: Sequence[Configuration], values: FloatArray, machines: Sequence[str]
    ) -> tuple[SumsOfSquares, ...]:
        """The sums of squares of each machine: a difference between machines is not variance.

        Raises:
            InputError: as ``of``.
        """
        places = {machine: [i for i, own in enumerate(machines) if own == machine] for machine in machines}
        return tuple(cls.of([configurations[i] for i in own], values[own]) for own in places.values())


def variation(sums: Iterable[SumsOfSquares], fewest: int = 1) -> Variation | None:
    """Both variances, pooled; None where main effects leave fewer than ``fewest`` degrees of freedom.

    Where no configuration was repeated, all that main effects leave counts as interactions.
    """
    every = list(sums)
    left_df, within_df = sum(one.left_df for one in every), sum(one.within_df for one in every)
    if left_df < fewest:
        return None
    left = sum(one.left for one in every) / left_df
    if not within_df:
        return Variation(left, 0.0)
    noise = sum(one.within for one in every) / within_df
    repetitions = sum(one.runs for one in every) / sum(one.configurations for one in every)
    return Variation(max(0.0, (left - noise) / repetitions), noise)


def _responses(values: FloatArray) -> FloatArray:
    """Logarithms of the values, or fractions of their mean size where a value is not above zero."""
    if (values > 0.0).all():
        return np.asarray(np.log(values), dtype=np.float64)
    return np.asarray(values / (float(np.abs(values).mean()) or 1.0), dtype=np.float64)


def _main_effects(configurations: Sequence[Configuration]) -> FloatArray:
    """An intercept and one column per option and setting, an inactive option being a setting, shape (n, columns)."""
    names = sorted({name for configuration in configurations for name in configuration})
    columns = [np.ones(len(configurations))]
    for name in names:
        own = [configuration.get(name) for configuration in configurations]
        columns += [np.array([value == setting for value in own], dtype=np.float64) for setting in dict.fromkeys(own)]
    return np.column_stack(columns)


_MOSTLY = 0.9
"""The fraction of assessed runs that must be steady, and the fraction of steady runs that the warm-up suffices for."""
_LONGEST = 0.5
"""The largest warm-up, as a fraction of the shortest run: a longer one may not be over."""


class KnownWarmUp(Struct, frozen=True):
    """The first ``observations`` of a run are its warm-up: ``steady`` of ``runs`` runs are steady after them.

    Raises:
        InputError: for no observation.
    """

    observations: int
    steady: int
    runs: int

    def __post_init__(self) -> None:
        if self.observations < 1:
            raise InputError(f"a warm-up has one observation or more, not {self.observations}")


def warm_up_of(runs: Sequence[FloatArray]) -> KnownWarmUp | None:
    """The warm-up that suffices for nine in ten of the steady runs; None where there is none, or it is not known.

    Args:
        runs: all observations of each run in order, shape (n,) each.
    """
    found = [(steadiness(values), len(values)) for values in runs]
    judged = [(one, size) for one, size in found if one.state is not State.SHORT]
    starts = [one.start for one, _ in judged if one.start is not None]
    if len(judged) < _ENOUGH or len(starts) < _MOSTLY * len(judged):
        return None
    observations = int(np.quantile(starts, _MOSTLY, method="higher"))
    if not 0 < observations <= _LONGEST * min(size for _, size in judged):
        return None
    return KnownWarmUp(observations, sum(start <= observations for start in starts), len(judged))


class MeasuredScreening(Struct, frozen=True, eq=False, dict=True):
    """The runs of a screening's design that have a value: ``values`` in run order, shape (runs,), any unit.

    ``definition`` says how the benchmark was defined; ``recalibrates`` is the key of the screening that this one
    repeats, and ``complete`` the fraction of its planned runs that are done. ``machines`` are the fingerprints of the
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
        """The number of different configurations with a value."""
        return len(set(self.configurations))

    @cached_property
    def sums(self) -> tuple[SumsOfSquares, ...]:
        """The sums of squares between runs of a configuration, and left by main effects, on each machine."""
        machines = self.machines or ("",) * len(self.configurations)
        return SumsOfSquares.by_machine(self.configurations, self.values, machines)


_COMPLETE = 0.5
"""The fraction of its runs from which a recalibration replaces the screening that it repeats."""


def by_information(
    screenings: Sequence[MeasuredScreening], definition: str
) -> tuple[tuple[MeasuredScreening, str], ...]:
    """The screenings, the most informative first, each with the reason for its place.

    They are compared by the variance of a main effect, interactions / configurations + noise / runs. Both components
    are pooled over all screenings, so that none gains from a lucky estimate of its own noise. Screenings of the
    benchmark as it is defined now precede others, then those on this machine; recalibrated ones are left out.
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
        """The known importance of those options only."""
        options, ranking = (tuple(name for name in own if name in names) for own in (self.options, self.ranking))
        effects = tuple(effect for effect in self.effects if set(effect.options) <= set(names))
        return replace(self, options=options, ranking=ranking, effects=effects)

    @property
    def leading(self) -> tuple[str, ...]:
        """The important options; where none is, the first of the ranking."""
        return self.options or self.ranking[:1]


REPRESENTATIVES = 16
"""The largest number of configurations without a budget: each is run in every round at every revision."""
FEWEST_REPRESENTATIVES = 2
"""The smallest number of configurations of a suite: comparing a single one does not compare a space."""


class StratumOptions(NamedTuple):
    """The important options that define strata, and those for which there are too few configurations."""

    options: tuple[str, ...]
    left_out: tuple[str, ...]


def stratum_options(space: Space, important: Sequence[ImportantOptions], most: int) -> StratumOptions:
    """The options that define the strata of a suite of at most ``most`` configurations, and those left out.

    ``important`` has an entry for each metric; options come in order of their ranks. A metric without important options
    adds none; only where no metric has any, the first of each ranking is taken.

    Raises:
        InputError: where the constraints are too entangled to count.
    """
    from hati.design.suite import leading_options  # most studies have no suite

    shown = [one for one in important if one.options]
    options = leading_options(space, _interleaved([one.leading for one in shown or important]), most)
    left_out = (name for name in _interleaved([one.options for one in shown]) if name not in options)
    return StratumOptions(options, tuple(left_out))


class WithinStrata(StrEnum):
    """What balances the configurations of a stratum.

    ``RANKING``: the ranking of all options, as in studies of earlier versions. ``LEFT_OUT``: systematic sampling over
    the important options that define no strata, and then the ranking.
    """

    RANKING = "ranking"
    LEFT_OUT = "left out"


def representative_suite(
    space: Space,
    important: Sequence[ImportantOptions],
    most: int,
    rng: Generator,
    within: WithinStrata = WithinStrata.LEFT_OUT,
) -> Suite | None:
    """A screening suite of two configurations for every combination of the important options' settings.

    Where ``most`` configurations are too few for all combinations, options that rank last are varied within the strata
    (`stratum_options`). None where fewer than ``FEWEST_REPRESENTATIVES`` are allowed.

    Raises:
        InputError: where the constraints are too entangled to count.
    """
    from hati.design.suite import runs_for, screening_suite  # most studies have no suite

    if most < FEWEST_REPRESENTATIVES or not important:
        return None
    options, left_out = stratum_options(space, important, most)
    runs = (runs_for(space, options) if options else None) or most
    shown = [one for one in important if one.options] or important
    rankings = [_interleaved(own) for own in ([one.leading for one in shown], [one.ranking for one in important])]
    ranking = tuple(dict.fromkeys(name for own in rankings for name in own))
    spread = left_out if within is WithinStrata.LEFT_OUT else ()
    return screening_suite(space, options, min(runs, most), rng, ranking, spread)


def _interleaved(rankings: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """All names, ordered by their best rank in any ranking."""
    return tuple(dict.fromkeys(name for rank in zip_longest(*rankings) for name in rank if name is not None))


class Coverage(Struct, frozen=True):
    """The number of a benchmark's ``configurations`` that are measured, and of all in its ``space`` (None: uncounted).

    ``strata`` are the options whose combinations of settings are all measured, weighted by the configurations that they
    represent; without any, nothing is known of the other configurations. ``source`` says where the choice comes from,
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
        """Whether nothing is known of some configurations."""
        return not self.strata and self.configurations != self.space
