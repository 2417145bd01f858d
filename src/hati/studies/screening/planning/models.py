"""The design that a budget of runs buys on any space, and the effects that a design can detect, before it starts.

Configurations come before repetitions.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from hati.core import Configuration, InputError, canonical_json, replace
from hati.core.wording import counted
from hati.design import (
    Candidates,
    Criterion,
    Fit,
    Levels,
    Model,
    Reach,
    Replication,
    balanced_design,
    candidates,
    fitted,
    levels,
    optimal_design,
)
from hati.stats import (
    POWER,
    Shares,
    contrasts,
    degrees_of_freedom,
    detectable_by_lenth,
    detectable_by_pure_error,
    detectable_contrast,
    lenth_reference,
    power_by_lenth,
    power_by_pure_error,
    power_of_contrast,
    step_critical,
)
from hati.stats.distributions import t_cdf
from hati.stats.terms import LEAST_LEFT
from hati.studies.screening.contrasts import FEWEST_CONTRASTS
from hati.studies.screening.planning.fractions import Choice
from hati.studies.screening.runs import configurations_are_units

if TYPE_CHECKING:
    from hati.space import Space


KIND = "Bayesian D-optimal"
BALANCED = "balanced random"
PARTIAL = "partial"
"""A design of earlier runs, used if the budget that is left does not suffice for another design."""
PER_PARAMETER = 4
"""The configurations per main-effect parameter, if the budget allows."""
_STARTS = 8
_TWO_LEVEL = 2
_FEWEST_BALANCED = 2
_MOST_WORK = 3e7
"""Above this product of runs and squared parameters, about 30 options, the search for an optimal design is slow."""
_WHOLE_RUNS = 6
"""How many times as long an exchange takes that is one of whole runs, as constraints and nested options require.

Not counted for designs with known runs: campaigns of earlier versions compute that after their interim look again.
"""
_RUNS_PER_REPLICATE = 24
_FEWEST_REPLICATES = 2
_MOST_REPLICATES = 8
_ORDER = 2
_MOST_PARAMETERS = 2_000


class ModelChoice(Struct, frozen=True, dict=True):
    """A design and its repetitions, in full: stored, so that a resumed campaign uses it again.

    ``rows`` holds the positions of every configuration's settings, -1 where an option is inactive; interactions up to
    ``order`` are sought. ``standard_error`` is the largest standard error of a main effect's coefficient, in standard
    deviations of a run, if every configuration is run once. The first ``replicated`` configurations have one run more,
    to distinguish noise from lack of fit. Up to ``follow_up`` further runs may refute what the design finds.
    Up to ``again`` runs, taken from the follow-up's if there are any, repeat suspect runs. They may take the place of
    the last ``held_back`` of the design's own runs. Repeats of suspect flips may take the place of the last
    ``flips_held_back`` of the follow-up's.

    After the first ``look`` runs, an option that explains nearly all of the variance is fixed for the rest; 0 if none
    ever is. Of several ``machines`` that share the design, the first with that many runs of its own looks; 0 if one
    machine or workers run it. The rest is also planned again there if the whole campaign has a time: its ``seconds``, 0
    without one. A design that is as small as an effect to find allows has at most ``limit`` runs, those after it
    included; others have 0 and take their whole budget.

    Of that number of random ``orders`` of runs the one that a linear trend disturbs least is taken; 0 for one random
    order, as that of earlier versions.
    """

    rows: tuple[tuple[int, ...], ...]
    repetitions: int
    order: int
    parameters: int
    d_efficiency: float
    standard_error: float
    reason: str
    kind: str = KIND
    replicated: int = 0
    follow_up: int = 0
    again: int = 0
    held_back: int = 0
    flips_held_back: int = 0
    look: int = 0
    seconds: float = 0.0
    limit: int = 0
    machines: int = 0
    orders: int = 0

    def __post_init__(self) -> None:
        if not self.rows or self.repetitions < 1:
            raise InputError("a design has at least one configuration and one repetition")
        if not 0 <= self.replicated <= len(self.rows):
            raise InputError(f"{self.replicated} of {len(self.rows)} configurations cannot be replicated")
        if not 0 <= self.held_back < self.runs:
            raise InputError(f"{self.held_back} of {self.runs} runs cannot be held back")
        if min(self.follow_up, self.again) < 0:
            raise InputError(f"{min(self.follow_up, self.again)} runs cannot follow up")
        if self.machines < 0 or self.look * max(1, self.machines) > self.runs - self.held_back or self.look < 0:
            raise InputError(f"no interim look is possible after {self.look} of {self.runs} runs")
        if not 0.0 <= self.seconds < math.inf:
            raise InputError(f"a campaign cannot take {self.seconds} s")
        if self.limit < 0:
            raise InputError(f"a design cannot have {self.limit} runs")
        if self.orders < 0:
            raise InputError(f"an order cannot be chosen among {self.orders}")
        if not 0 <= self.flips_held_back <= self.follow_up:
            raise InputError(f"{self.flips_held_back} of {self.follow_up} runs of flips cannot be held back")

    @property
    def configurations(self) -> int:
        """The number of configurations, all different."""
        return len(self.rows)

    @property
    def settings(self) -> int:
        """The largest number of settings that an option has in the rows, at least two."""
        return max(2, int(self.levels.max()) + 1)

    @property
    def runs(self) -> int:
        """Configurations times repetitions, plus the replicated ones."""
        return self.configurations * self.repetitions + self.replicated

    @cached_property
    def levels(self) -> Levels:
        """The rows as an array."""
        return np.array(self.rows, dtype=np.int16)

    def to_json(self) -> str:
        """The choice as canonical JSON, without the fields that earlier versions lack where these are 0."""
        later = ("flips_held_back", "look", "seconds", "limit", "machines", "orders")
        return canonical_json({name: own for name, own in asdict(self).items() if own or name not in later})

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


def choose_optimal(
    space: Space,
    runs: int,
    rng: np.random.Generator,
    most: float = math.inf,
    known: Sequence[Configuration] = (),
) -> ModelChoice:
    """The design and the repetitions that a number of runs buys on any space, with a run of each ``known`` one.

    Configurations come before repetitions: configurations show what the model omits, repetitions only the noise of a
    run. A few configurations are replicated to distinguish the two; all are repeated only if the space has no others.
    If a configuration has at ``most`` one run, as in a table, there are no repetitions.

    The design is Bayesian D-optimal (DuMouchel and Jones 1994): main effects are estimated, interactions of two options
    are potential terms. Very many options with two settings and without constraints get balanced random columns.

    Raises:
        InputError: if the runs cannot estimate the main effects.
    """
    among = candidates(space, rng)
    parameters = parameters_of(space)
    given = levels(known, space)
    whole = runs + len(given)
    if whole < parameters + LEAST_LEFT:
        raise _too_few(runs, len(given), parameters, len(space.options))
    distinct = _distinct(among)
    repetitions = max(1, int(min(whole // distinct, most)))
    configurations = min(whole // repetitions, distinct)
    once = repetitions == 1 and most > 1
    replicated = max(whole - distinct, _replicated(whole, distinct, parameters)) if once else 0
    replicated = min(replicated, max(0, runs))
    configurations = max(len(given), min(configurations, whole - replicated))
    pairs, order = _pairs(space), _order(space)
    searched = configurations * (parameters + pairs) ** 2 <= _MOST_WORK
    kind = KIND if searched or not _two_level(among) else BALANCED
    more = configurations - len(given)
    if more < (_FEWEST_BALANCED if kind is BALANCED else 1) and len(given) < distinct:
        return partial_choice(space, known, replicated)
    if not more:
        rows, properties = given, fitted(given, Model.of_order(among.sizes, 1), space.names)
    elif kind is BALANCED:
        rows = _together(given, balanced_design(len(space.options), more, rng))
        properties = fitted(rows, Model.of_order(among.sizes, 1), space.names)
    else:
        columns = parameters + (pairs if order == _ORDER else 0)
        work = configurations * columns**2 * (1 if among.reach is Reach.FREE or len(given) else _WHOLE_RUNS)
        rows, properties = _optimal(space, more, rng, order, among, given, _starts(work))
    return ModelChoice(
        rows=tuple(tuple(row) for row in rows.tolist()),
        repetitions=repetitions,
        order=order,
        parameters=properties.parameters,
        d_efficiency=properties.d_efficiency,
        standard_error=properties.largest_standard_error,
        reason=_why(kind, len(rows), repetitions, replicated, parameters)
        + (f"; {len(given)} of them were run before" if len(given) else ""),
        kind=kind,
        replicated=replicated,
    )


def partial_choice(space: Space, known: Sequence[Configuration], replicated: int = 0) -> ModelChoice:
    """The configurations already run for an abandoned design, as a design of their own.

    Its efficiency is 0 if they cannot estimate all main effects.

    Raises:
        InputError: if there are none.
    """
    rows, parameters = levels(known, space), parameters_of(space)
    if not len(rows):
        raise InputError("no run was made before")
    efficiency, error = 0.0, 0.0
    with suppress(InputError):
        properties = fitted(
            rows, Model.of_order(tuple(len(option.settings) for option in space.options), 1), space.names
        )
        efficiency, error = properties.d_efficiency, properties.largest_standard_error
    return ModelChoice(
        rows=tuple(tuple(row) for row in rows.tolist()),
        repetitions=1,
        order=_order(space),
        parameters=parameters,
        d_efficiency=efficiency,
        standard_error=error,
        reason=f"{_why(PARTIAL, len(rows), 1, replicated, parameters)}; all of them were run before",
        kind=PARTIAL,
        replicated=replicated,
    )


def parameters_of(space: Space) -> int:
    """The number of parameters of the main effects, the mean included."""
    return 1 + sum(len(option.settings) - 1 for option in space.options)


def _too_few(runs: int, known: int, parameters: int, options: int) -> InputError:
    added = f" with {known} earlier ones" if known else ""
    are = "is" if (runs, known) == (1, 0) else "are"
    needed = parameters + LEAST_LEFT
    return InputError(
        f"{counted(runs, 'run')}{added} {are} too few to screen {counted(options, 'option')} with "
        f"{parameters} parameters",
        fix=f"give {needed - known - runs} more"
        if known
        else f"give at least {needed}, better {PER_PARAMETER * parameters}",
    )


def _optimal(
    space: Space, runs: int, rng: np.random.Generator, order: int, among: Candidates, given: Levels, starts: int
) -> tuple[Levels, Fit]:
    found = optimal_design(
        space,
        runs,
        rng,
        criterion=Criterion.BAYES,
        order=order,
        fixed=given,
        replication=Replication.NONE,
        starts=starts,
        among=among,
    )
    return found.levels, found.fit


def _starts(work: float) -> int:
    """The number of searches: fewer where each takes long, since the local optima of large designs hardly differ."""
    return max(1, min(_STARTS, int(_STARTS * _MOST_WORK / work)))


def _together(given: Levels, more: Levels) -> Levels:
    """The given configurations, then the others, without duplicates."""
    return np.array(list(dict.fromkeys(map(tuple, [*given.tolist(), *more.tolist()]))), dtype=more.dtype)


def _two_level(among: Candidates) -> bool:
    return among.reach is Reach.FREE and set(among.sizes) == {_TWO_LEVEL}


def _replicated(runs: int, distinct: int, parameters: int) -> int:
    """The number of configurations run once more: a few, if the model leaves enough residuals to compare them with."""
    wanted = min(runs // _RUNS_PER_REPLICATE, _MOST_REPLICATES)
    enough = configurations_are_units(min(distinct, runs - wanted), parameters)
    return wanted if wanted >= _FEWEST_REPLICATES and enough else 0


def _distinct(among: Candidates) -> int:
    return len(among.levels) or math.prod(among.sizes)


def _pairs(space: Space) -> int:
    contrasts = [len(option.settings) - 1 for option in space.options]
    return (sum(contrasts) ** 2 - sum(c * c for c in contrasts)) // 2


def _order(space: Space) -> int:
    """The highest order of the interactions that are sought."""
    return _ORDER if _pairs(space) <= _MOST_PARAMETERS else 1


def _why(kind: str, configurations: int, repetitions: int, replicated: int, parameters: int) -> str:
    times = {1: "once", 2: "twice"}.get(repetitions, f"{repetitions} times")
    again = f", {replicated} of them twice" if replicated else ""
    return (
        f"{configurations} configurations, {kind}, {times}{again}: {configurations / parameters:.1f} for each of "
        f"{parameters} main-effect parameters"
    )


ALPHA = 0.05
RELEVANT = 0.01


class Precision(Struct, frozen=True):
    """The precision of a design's main effects, and the reference that judges them.

    ``error`` is the standard error of a main effect in standard deviations of a run, ``critical`` the critical value of
    its statistic. Effects are judged with ``df`` degrees of freedom, or, if ``df`` is 0, by the adaptive standard error
    of ``contrasts`` contrasts. An option has up to ``settings`` settings; with more than two, the effect is the largest
    difference between any two of them.
    """

    error: float
    critical: float
    df: int
    contrasts: int = 0
    settings: int = 2

    def detectable(self, noise: float, least: float, power: float = POWER) -> float:
        """The effect that is found with that power, in the unit of ``noise``; none below ``least`` is important."""
        if self.df:
            found = detectable_by_pure_error(noise * self.error, self.df, self.critical, least, power)
            if self.settings == 2:
                return found
            return max(
                found, detectable_contrast(noise * self._widest, self.settings - 1, self.df, self._p_value, power)
            )
        return detectable_by_lenth(noise * self.error, self.contrasts, self.critical, least, power)

    def power(self, effect: float, noise: float, least: float) -> float:
        """The probability that an effect is found."""
        if self.df:
            found = power_by_pure_error(effect, noise * self.error, self.df, self.critical, least)
            if self.settings == 2 or noise == 0.0:
                return found
            return min(
                found, power_of_contrast(effect, noise * self._widest, self.settings - 1, self.df, self._p_value)
            )
        return power_by_lenth(effect, noise * self.error, self.contrasts, self.critical, least)

    @property
    def _widest(self) -> float:
        """The standard error of a difference of two settings, all being equally frequent."""
        return self.error * math.sqrt(self.settings / 2.0)

    @property
    def _p_value(self) -> float:
        return 2.0 * (1.0 - t_cdf(self.critical, self.df))


def expected_detectable(
    choice: Choice | ModelChoice,
    noise: float,
    *,
    alpha: float = ALPHA,
    relevant: float = RELEVANT,
) -> float | None:
    """The smallest main effect, as a fraction, that the design will find with 80 % probability.

    None if the design is too small to distinguish effects from noise. Assumes that all runs work, that effects
    multiply, and, without repetitions, that most effects are zero.

    Args:
        choice: the design and its repetitions.
        noise: the standard deviation of a run as a fraction of the mean, as a pilot estimates it.
        alpha: the study-wise error.
        relevant: the fraction below which no effect is important.
    """
    found = precision(choice, alpha=alpha)
    return None if found is None else math.expm1(found.detectable(noise, math.log1p(relevant)))


def expected_detectable_deviations(choice: Choice | ModelChoice, *, alpha: float = ALPHA) -> float | None:
    """The smallest main effect that the design will find, in standard deviations of a run, for unknown noise."""
    found = precision(choice, alpha=alpha)
    return None if found is None else found.detectable(1.0, 0.0)


def precision(choice: Choice | ModelChoice, *, alpha: float = ALPHA) -> Precision | None:
    """The precision of the design's main effects; None if it is too small to distinguish them from noise."""
    if isinstance(choice, ModelChoice):
        if not choice.d_efficiency:
            return None
        known_better = 1.0 - choice.replicated / (2.0 * choice.configurations)  # mean variance of their means
        error = choice.standard_error * math.sqrt(known_better)
        return model_precision(
            choice.configurations, choice.repetitions, choice.parameters, error, choice.settings, alpha
        )
    total, shares = _sizes(replace(choice, repetitions=1, reason=""))
    first = alpha * shares.main_effects(choice.factors)
    error = 2.0 / math.sqrt(choice.runs)
    df = (choice.configurations - 1) * (choice.repetitions - 1)
    if df and df >= degrees_of_freedom(total):
        return Precision(error, step_critical(first, choice.factors, df), df)
    if total < FEWEST_CONTRASTS:
        return None
    return Precision(error, lenth_reference(total).critical(first, choice.factors), 0, total)


def model_precision(
    configurations: int, repetitions: int, parameters: int, standard_error: float, settings: int, alpha: float = ALPHA
) -> Precision | None:
    """The precision of an optimal design's main effect with the largest error, assuming no interactions.

    ``standard_error`` is the largest of the main effects' coefficients, if every configuration is run once;
    ``settings`` is the largest number of settings of an option. None without degrees of freedom.
    """
    if configurations_are_units(configurations, parameters):
        df = configurations - parameters
    else:
        df = configurations * repetitions - parameters - (repetitions - 1)
    if df < 1:
        return None
    tests = max(1, parameters - 1)
    critical = step_critical(alpha * Shares(tests, 1).main_effects(tests), tests, df)
    return Precision(2.0 * standard_error / math.sqrt(repetitions), critical, df, settings=settings)


@lru_cache(maxsize=64)
def _sizes(choice: Choice) -> tuple[int, Shares]:
    """The number of all contrasts, and how the study-wise error is shared between those that are reported."""
    names = tuple(f"x{i}" for i in range(1, choice.factors + 1))
    found = contrasts(np.asarray(choice.design(names).matrix, dtype=np.int8))
    return len(found.terms), Shares.of([(term,) for term in found.terms if len(term) <= 2])
