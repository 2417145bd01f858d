"""Known properties of a benchmark's runs, with their source: cost, variance and warm-up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import Generic, TypeVar

import numpy as np
from msgspec import Struct

from hati.core import Configuration, FloatArray, InputError
from hati.harness import State, steadiness

T = TypeVar("T")

_SHORT = 12
_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))


class Provenance(Struct, frozen=True):
    """Where an entry is from: a study's key, the number of its runs with a value, and when the last of them started.

    ``revision`` and ``machine`` are those of then where they are others than those of now, else empty; so is ``space``,
    in words.

    Raises:
        InputError: for a time without a time zone.
    """

    study: str
    runs: int
    measured: datetime
    revision: str = ""
    machine: str = ""
    space: str = ""

    def __post_init__(self) -> None:
        if self.measured.tzinfo is None:
            raise InputError(f"the time at which {self.study} was measured needs a time zone")


class Entry(Struct, Generic[T], frozen=True):
    """A value that is known, with its ``provenance``, its ``age``, and why it is ``preferred`` to others."""

    value: T
    provenance: Provenance
    age: timedelta
    preferred: str

    @property
    def source(self) -> str:
        """The study, its runs and its age, in words, and whether it is of another revision or machine."""
        origin = self.provenance
        parts = [f"{origin.study}: {origin.runs:,} run{'' if origin.runs == 1 else 's'}", age_text(self.age)]
        parts += [f"at another revision ({origin.revision[:_SHORT]})"] if origin.revision else []
        parts += [f"on another machine ({origin.machine})"] if origin.machine else []
        parts += [f"over {origin.space}"] if origin.space else []
        return ", ".join(parts)


def age_text(age: timedelta) -> str:
    """An age in the largest unit of which it has one.

    >>> age_text(timedelta(hours=50)), age_text(timedelta(seconds=90)), age_text(timedelta(seconds=3))
    ('2 days ago', '1 minute ago', 'just now')
    """
    seconds = int(age.total_seconds())
    for name, size in _UNITS:
        number = seconds // size
        if number > 0:
            return f"{number:,} {name}{'' if number == 1 else 's'} ago"
    return "just now"


_ENOUGH = 8
"""Runs from which a study's cost counts; with fewer, the newest may cover few configurations."""


class TimedRuns(Struct, frozen=True):
    """The ``seconds`` of the runs of a study that worked.

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
        """What a run costs."""
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
"""Degrees of freedom from which on the variance of interactions is estimated."""


class Variation(Struct, frozen=True):
    """Variances of logarithms (of fractions of the mean size, where a value is not above zero).

    ``interactions`` is that between configurations which main effects leave, ``noise`` that between runs of one.
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

    ``runs`` of ``configurations`` were made.
    """

    within: float
    within_df: int
    left: float
    left_df: int
    runs: int
    configurations: int

    @classmethod
    def of(cls, configurations: Sequence[Configuration], values: FloatArray) -> SumsOfSquares:
        """Of a value for each run, shape (runs,), any unit.

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
    """Logarithms, or where a value is not above zero fractions of the mean size."""
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


"""Runs that are long enough for an estimate."""
_MOSTLY = 0.9
"""The part of these that are steady, and the part of the steady ones that are so from the number of observations on."""
_LONGEST = 0.5
"""A warm-up of a larger part of the shortest run is not known to be over."""


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
    """The warm-up of nine in ten of the runs that are steady; None where there is none, or it is not known.

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
