"""Which optimal design a budget of runs buys on a space that no fraction suits."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hati.core import InputError, canonical_json
from hati.design import Candidates, Criterion, Levels, Replication, candidates, optimal_design
from hati.studies.screening.wording import counted

if TYPE_CHECKING:
    from hati.space import Space

KIND = "Bayesian D-optimal"
PER_PARAMETER = 4
"""So many configurations for every parameter of the main effects, where the budget allows."""
_LEAST_LEFT = 3
_REPETITIONS = 3
_STARTS = 8
_ORDER = 2
_MOST_PARAMETERS = 2_000


@dataclass(frozen=True)
class ModelChoice:
    """An optimal design and its repetitions, whole: stored, so that a resumed campaign repeats it.

    ``rows`` holds the positions of every configuration's settings, -1 where an option is inactive; interactions up to
    ``order`` are looked for. ``standard_error`` is the largest of a main effect's coefficients, in standard deviations
    of a run, were every configuration run once.
    """

    rows: tuple[tuple[int, ...], ...]
    repetitions: int
    order: int
    parameters: int
    d_efficiency: float
    standard_error: float
    reason: str

    def __post_init__(self) -> None:
        if not self.rows or self.repetitions < 1:
            raise InputError("a design has at least one configuration and one repetition")

    @property
    def configurations(self) -> int:
        """How many there are, each different."""
        return len(self.rows)

    @property
    def settings(self) -> int:
        """The most settings of an option that the rows have, and at least two."""
        return max(2, int(self.levels.max()) + 1)

    @property
    def runs(self) -> int:
        """Configurations times repetitions."""
        return self.configurations * self.repetitions

    @cached_property
    def levels(self) -> Levels:
        """The rows as an array."""
        return np.array(self.rows, dtype=np.int16)

    def to_json(self) -> str:
        """The choice as canonical JSON."""
        return canonical_json(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ModelChoice:
        """Read what ``to_json`` wrote.

        Raises:
            InputError: for anything else.
        """
        try:
            fields = json.loads(text)
            return cls(**{**fields, "rows": tuple(tuple(row) for row in fields["rows"])})
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"no stored choice of a design: {text[:60]!r}", fix="start afresh with --fresh") from error


def choose_optimal(space: Space, runs: int, rng: np.random.Generator, most: float = math.inf) -> ModelChoice:
    """The design and the repetitions that so many runs buy on any space.

    Bayesian D-optimal (DuMouchel and Jones 1994): main effects are estimated, interactions of two options are potential
    terms. About four configurations for every main-effect parameter come first, then up to three repetitions, then
    more configurations. Where a configuration has at ``most`` one run, as in a table, there are no repetitions.

    Raises:
        InputError: where the runs cannot estimate the main effects.
    """
    among = candidates(space, rng)
    parameters = 1 + sum(len(option.settings) - 1 for option in space.options)
    if runs < parameters + _LEAST_LEFT:
        raise InputError(
            f"{counted(runs, 'run')} {'is' if runs == 1 else 'are'} too few to screen "
            f"{counted(len(space.options), 'option')} with {parameters} settings to tell apart",
            fix=f"give at least {parameters + _LEAST_LEFT}, better {PER_PARAMETER * parameters}",
        )
    wanted = PER_PARAMETER * parameters
    repetitions = int(min(_REPETITIONS, most, max(1, runs // wanted)))
    distinct = _distinct(among)
    if runs // repetitions > distinct:
        repetitions = int(min(runs // distinct, most))
    configurations = min(runs // repetitions, distinct)
    order = _ORDER if _pairs(space) <= _MOST_PARAMETERS else 1
    made = optimal_design(
        space,
        configurations,
        rng,
        criterion=Criterion.BAYES,
        order=order,
        replication=Replication.NONE,
        starts=_STARTS,
        among=among,
    )
    return ModelChoice(
        rows=tuple(tuple(row) for row in made.levels.tolist()),
        repetitions=repetitions,
        order=order,
        parameters=made.fit.parameters,
        d_efficiency=made.fit.d_efficiency,
        standard_error=made.fit.largest_standard_error,
        reason=_why(configurations, repetitions, parameters),
    )


def _distinct(among: Candidates) -> int:
    return len(among.levels) or math.prod(among.sizes)


def _pairs(space: Space) -> int:
    contrasts = [len(option.settings) - 1 for option in space.options]
    return (sum(contrasts) ** 2 - sum(c * c for c in contrasts)) // 2


def _why(configurations: int, repetitions: int, parameters: int) -> str:
    times = {1: "once", 2: "twice"}.get(repetitions, f"{repetitions} times")
    return (
        f"{configurations} configurations, {KIND}, {times}: {configurations / parameters:.1f} for each of "
        f"{parameters} main-effect parameters"
    )
