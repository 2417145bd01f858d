"""An option that explains nearly all of the variance: the interim look that finds it, and the design of the rest.

At the worse setting of such an option nothing else may act. So the rest of the budget is spent at its better setting.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, cached_property, lru_cache
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hati.core import (
    Benchmark,
    Better,
    Configuration,
    Evidence,
    FloatArray,
    InputError,
    MeasurementError,
    Metric,
    Run,
    Setting,
    digest,
    generator,
    replace,
    setting_text,
)
from hati.core.wording import counted
from hati.design import Levels, from_levels, levels
from hati.document import percent
from hati.stats import f_above, f_quantile, half_normal, t_quantile
from hati.studies.screening.changes import BaseMean, EffectContrast, Readable
from hati.studies.screening.conclusion import (
    DominatingOption,
    Effect,
    EffectScale,
    Narrowing,
    ScreeningConclusion,
    SettingEstimate,
    option_summaries,
)
from hati.studies.screening.follow_up import FollowedDesign, runs_aside
from hati.studies.screening.planning.models import ModelChoice, choose_optimal, parameters_of
from hati.studies.screening.planning.tasks import RESERVE, STAGE, drawable, followed, run_cost, with_reruns
from hati.studies.screening.runs import MeasuredDesign

if TYPE_CHECKING:
    from hati.space import Option, Space

DECISIVE = 0.95
"""The fraction of the variance that an option explains in the runs of the look: few runs overestimate a fraction."""
_TIMES = 2.0
"""The ratio between its best and its worst setting: from here on, it makes up half of a run at the worse one."""
_FEWEST_AT = 3
"""The fewest runs at each setting."""
_MISSED = 0.1
"""The part of the remaining runs by which a time may miss them without a new plan."""
_MOST_LONGER = 20
"""A time is planned for at most this multiple of the runs that the pilots expected."""
_CONFIDENCE = 0.99
_SHOWN = 0.95
_TWO_LEVEL = 2


class Dominance(Struct, frozen=True):
    """The ``option`` that explains a ``share`` of the variance, and its better ``setting``."""

    option: str
    setting: Setting
    share: float


def dominance(rows: Levels, values: FloatArray, space: Space, better: Better) -> Dominance | None:
    """The only option that explains nearly all of the variance, if its best setting is better than each other one.

    Values are compared by their logarithms; no option dominates if some are not positive. Only the values'
    distribution at each setting of the option matters, not which of them belongs to which configuration. So the
    choice says nothing of the other options' effects in these runs.

    Args:
        rows: the settings of each run by position, shape (runs, options).
        values: one per run.
        space: with the options.
        better: the good direction.
    """
    if np.min(values, initial=math.inf) <= 0.0:
        return None
    worth = -np.log(values) if better is Better.LOWER else np.log(values)
    every = (_dominance(option, rows[:, place], worth) for place, option in enumerate(space.options))
    found = [each for each in every if each is not None]
    return found[0] if len(found) == 1 else None


def _dominance(option: Option, places: Levels, worth: FloatArray) -> Dominance | None:
    """The dominance of one option; ``worth`` is the logarithm of a value, higher where a run is better."""
    groups = [worth[places == place] for place in range(len(option.settings))]
    if min(map(len, groups)) < _FEWEST_AT or len(groups) == 1 or sum(map(len, groups)) < len(worth):
        return None
    df = len(worth) - len(groups)
    variance = sum(float(np.sum((group - group.mean()) ** 2)) for group in groups) / df
    total = float(np.var(worth, ddof=1))
    means = np.array([group.mean() for group in groups])
    best = int(np.argmax(means))
    lead = np.delete(means[best] - means, best)
    errors = np.sqrt(variance * (1.0 / len(groups[best]) + np.delete(1.0 / np.array(list(map(len, groups))), best)))
    share = 1.0 - variance / total if total > 0.0 else 0.0
    decided = lead > t_quantile(1.0 - (1.0 - _CONFIDENCE) / len(lead), df) * errors
    if share < DECISIVE or np.max(lead) < math.log(_TIMES) or not np.all(decided):
        return None
    return Dominance(option.name, option.settings[best], share)


PlannedDesigns = tuple[tuple[str, ModelChoice], ...]
"""Designs that an interim look planned, by the keys of what they were searched for."""


class Rest(Struct, frozen=True, dict=True):
    """The rest of a screening after the look: its ``choice`` of a design in the ``space`` that it has.

    The space is that at the better setting of the option of a ``dominance``, if there is one. Its design and follow-up
    have ``runs`` that are still to be made, instead of the ``left`` ones of the first design. The budget has ``spare``
    ones that they cannot use: too few to repeat every configuration of the space. ``key``
    identifies what the design was searched for.
    """

    dominance: Dominance | None
    space: Space
    choice: ModelChoice
    runs: int
    left: int
    spare: int
    key: str

    def holds(self, later: Sequence[Run]) -> bool:
        """Whether these runs can be of this rest: at the better setting, or, in the same space, of its design."""
        if self.dominance is None:
            return all(run.task.configuration in self._configurations for run in later)
        return all(self.valid(run.task.configuration) for run in later)

    @cached_property
    def valid(self) -> Callable[[Configuration], bool]:
        """Whether a configuration is valid in the space, kept since each look asks it of all runs."""
        return cache(self.space.valid)

    @cached_property
    def _configurations(self) -> frozenset[Configuration]:
        return frozenset(from_levels(self.choice.levels, self.space))

    @property
    def sentence(self) -> str:
        """What was planned again, and why."""
        number = f"{counted(self.runs, 'run')} {'follows' if self.runs == 1 else 'follow'}"
        number += "" if self.runs == self.left else f", not {self.left}"
        spare = f"; the budget has {self.spare} more, too few for another repetition" if self.spare else ""
        if self.dominance is None:
            less = self.runs + self.spare > self.left
            return f"runs take {'less' if less else 'more'} time than the pilot runs: {number}{spare}"
        option, setting = self.dominance.option, setting_text(self.dominance.setting)
        share = percent(self.dominance.share)
        return f"{option} explains {share} of the variance: {number}, all at {option}={setting}{spare}"


class InterimLook(Struct, frozen=True):
    """The look at the first runs of a design in a space, for a metric.

    ``designs`` of the rest that were searched for before, by their keys, are not searched for again.
    """

    benchmark: Benchmark
    metric: Metric
    space: Space
    choice: ModelChoice
    rows: FollowedDesign
    seed: int
    designs: PlannedDesigns = ()

    def rest(self, first: Evidence) -> Rest | None:
        """The rest if it is planned again after the runs up to the look, those of pilots included.

        It is if an option dominates, or if the time that is left does not fit the runs that are left. None if neither
        holds, or if no design is possible.
        """
        return _rest(self, first)


@lru_cache(maxsize=32)
def _rest(look: InterimLook, first: Evidence) -> Rest | None:
    """The rest, cached since every later run is planned by it."""
    try:
        found = look.rows.measured(first)
    except MeasurementError:
        return None
    settings = levels([run.task.configuration for run in found.runs], look.space)
    seen = dominance(settings, found.values, look.space, look.metric.better)
    left = _total(look.choice) - len(found.runs) - len(found.failed)
    narrowed = None if seen is None else _at_better_setting(look, first, found, seen, left)
    return narrowed or _in_same_space(look, first, found, left)


def _at_better_setting(
    look: InterimLook, first: Evidence, found: MeasuredDesign, seen: Dominance, left: int
) -> Rest | None:
    """The rest at the better setting; None if it has fewer runs than the look."""
    from hati.space import narrowed, parse_template

    template = parse_template([f"`{seen.option}`={setting_text(seen.setting)}"], look.space)
    try:
        space = narrowed(look.space, template.formulas)
    except InputError:
        return None
    runs = _runs_left(look, first, found, space, left)
    return _rest_of(look, found, space, seen, (runs, left)) if runs >= look.choice.look else None


def _in_same_space(look: InterimLook, first: Evidence, found: MeasuredDesign, left: int) -> Rest | None:
    """The rest in the same space if the time that is left does not fit the runs that are left."""
    runs = _runs_left(look, first, found, look.space, left)
    return _rest_of(look, found, look.space, None, (runs, left)) if abs(runs - left) > _MISSED * left else None


def _runs_left(look: InterimLook, first: Evidence, found: MeasuredDesign, space: Space, left: int) -> int:
    """The runs that may follow in a space, where those of the first design that are ``left`` were to follow.

    A design that is as small as possible has as many again as had settings that the space lacks, as far as its limit
    allows. A time buys runs at the cost of earlier ones in the space: any number, or those of a design with a limit.
    """
    if look.choice.limit:
        others = sum(not space.valid(run.task.configuration) for run in found.runs)
        left = min(left + others, look.choice.limit - len(found.runs) - len(found.failed))
    known = [run for run in first.stage(STAGE).done if space.valid(run.task.configuration)]
    cost = run_cost(known, look.benchmark, space)
    if not look.choice.seconds or cost is None:
        return left
    runs = cost.runs_within((1.0 - RESERVE) * look.choice.seconds - first.seconds)
    return int(min(max(runs, 0.0), left if look.choice.limit else _MOST_LONGER * _total(look.choice)))


def _rest_of(
    look: InterimLook, found: MeasuredDesign, space: Space, seen: Dominance | None, number: tuple[int, int]
) -> Rest | None:
    """The rest that a number of runs buys instead of those that were left; its design has the look's configurations.

    None if the runs are too few.
    """
    runs, left = number
    known = tuple(dict.fromkeys(each for run in found.runs if space.valid(each := run.task.configuration)))
    flips = look.choice.follow_up if look.choice.limit else runs_aside(runs + len(known), parameters_of(space))
    key = digest([list(map(str, space.template)), look.seed, runs, flips, levels(known, space).tolist()])
    made = dict(look.designs).get(key) or _searched(look, space, known, runs, flips)
    if made is None:
        return None
    following = made.runs + made.follow_up - len(known)
    return Rest(seen, space, made, following, left, max(0, runs - following), key)


def _searched(
    look: InterimLook, space: Space, known: Sequence[Configuration], runs: int, flips: int
) -> ModelChoice | None:
    """The design of further runs, with as many of these set aside for flips; None if they are too few."""
    whole = runs + len(known)
    aside = flips if drawable(space) > whole else 0
    try:
        choice = choose_optimal(space, runs - aside, generator(look.seed, "rest of the design"), known=known)
    except InputError:
        return None
    made = with_reruns(followed(choice, aside) if aside else choice, whole)
    assert isinstance(made, ModelChoice)
    return made


def _total(choice: ModelChoice) -> int:
    """All runs of a choice: repeats of suspect runs take the place of flips, or of the runs that are held back."""
    return choice.runs + max(choice.follow_up, choice.again - choice.held_back)


def runs_until(due: Sequence[frozenset[str]], evidence: Evidence) -> tuple[Evidence, tuple[Run, ...]] | None:
    """The runs up to the look, and those of the design after it; None before it, and if there is none.

    Args:
        due: the ids of the tasks before it; for several machines those of each, the first of which to be complete
            decides.
        evidence: of the campaign.
    """
    made = evidence.runs
    ends = [
        places[-1] + 1
        for own in due
        if len(places := [place for place, run in enumerate(made) if run.task.id in own]) == len(own)
    ]
    end = min(ends, default=0)
    return (Evidence(made[:end]), Evidence(made[end:]).stage(STAGE).runs) if end else None


def dominating_effect(found: Dominance, space: Space, rows: MeasuredDesign, rest: ScreeningConclusion) -> Effect:
    """The effect of a dominating option by Welch's test, since the spreads at its settings differ.

    The p-value is corrected for the choice of the option, and for more than two settings for that of two of them
    (Scheffe 1953).

    Args:
        found: the dominating option.
        space: with all options.
        rows: the runs of the design, those before the look included.
        rest: the conclusion at the better setting, with the scale, the level and the relevant fraction.
    """
    option = space.option(found.option)
    decided = np.log(rows.values) if rest.scale is EffectScale.LOG else rows.values
    readable = Readable(decided, rest.scale, float(np.mean(np.abs(rows.values))))
    at = [run.task.configuration[option.name] for run in rows.runs]
    decided_at, own_at = (
        [values[[each == setting for each in at]] for setting in option.settings] for values in (decided, rows.values)
    )
    means = [float(values.mean()) for values in decided_at]
    low, high = (0, 1) if len(means) == _TWO_LEVEL else (int(np.argmin(means)), int(np.argmax(means)))
    tested, shown = (_Welch.of(groups[low], groups[high], len(means) - 1) for groups in (decided_at, own_at))
    contrast, own = tested.difference, shown.difference
    p_value = min(1.0, len(space.options) * tested.p_value)
    change = readable.change(contrast)
    significant = p_value <= rest.alpha and abs(contrast.estimate) > readable.limit(rest.relevant, contrast)
    middle = BaseMean(fmean(means))
    return Effect(
        options=(option.name,),
        estimate=own.estimate,
        interval=own.interval,
        standard_error=own.standard_error,
        relative=change.relative,
        relative_interval=change.interval,
        contrast=contrast.estimate,
        share=found.share,
        p_value=p_value,
        important=significant,
        half_normal=0.0,
        aliases=(),
        settings=tuple(
            SettingEstimate(
                setting,
                float(values.mean()),
                None,
                readable.change(EffectContrast(mean - middle.mean, None, None, middle)).relative,
            )
            for setting, values, mean in zip(option.settings, own_at, means, strict=True)
        )
        if len(means) > _TWO_LEVEL
        else (),
    )


class _Welch(Struct, frozen=True):
    """A difference of two means with its standard error and 95 % interval, and its p-value, for spreads that differ."""

    difference: EffectContrast
    p_value: float

    @classmethod
    def of(cls, low: FloatArray, high: FloatArray, dimensions: int) -> _Welch:
        """The difference between two settings, chosen among all differences in ``dimensions`` dimensions."""
        parts = [float(np.var(values, ddof=1)) / len(values) for values in (low, high)]
        estimate, variance = float(high.mean() - low.mean()), sum(parts)
        base = BaseMean(float(low.mean()), parts[0], -parts[0])
        if variance == 0.0:
            return cls(EffectContrast(estimate, 0.0, 0.0, base), 0.0)
        freedom = variance**2 / sum(part**2 / (len(v) - 1) for part, v in zip(parts, (low, high), strict=True))
        error = math.sqrt(variance)
        margin = error * math.sqrt(dimensions * f_quantile(_SHOWN, dimensions, freedom))
        ratio = np.array([estimate**2 / variance / dimensions])
        return cls(EffectContrast(estimate, error, margin, base), float(f_above(ratio, dimensions, freedom)[0]))


def with_dominating(
    rest: ScreeningConclusion,
    effect: Effect,
    found: Dominance,
    space: Space,
    looked: MeasuredDesign,
    everything: MeasuredDesign,
) -> ScreeningConclusion:
    """The conclusion at the better setting of a dominating option, together with this option's effect.

    Args:
        rest: the conclusion of the narrowed space.
        effect: of the dominating option.
        found: the dominating option.
        space: with all options.
        looked: the runs of the look.
        everything: all runs of the design and its follow-up.
    """
    from hati.space import count

    option = space.option(found.option)
    others = sum(run.task.configuration.get(option.name) != found.setting for run in looked.runs)
    narrowing = Narrowing(found.setting, len(looked.runs) + len(looked.failed), others)
    effects = sorted((effect, *rest.effects), key=lambda each: -abs(each.contrast))
    places = half_normal(np.array([abs(each.contrast) for each in effects]))
    named = (option.name, *rest.ranking)
    return replace(
        rest,
        options=option_summaries(space),
        configurations=count(space),
        design=replace(rest.design, runs=rest.design.runs + others),
        effects=tuple(replace(each, half_normal=float(own)) for each, own in zip(effects, places, strict=True)),
        ranking=(*named, *(name for name in space.names if name not in named)),
        important=(*((option.name,) if effect.important else ()), *rest.important),
        points=everything.points,
        done=len(everything.values),
        failed=len(everything.failed),
        template=tuple(map(str, space.template)),
        dominating=DominatingOption(option.name, found.share, option.default, tuple(space.fixed.items()), narrowing),
    )
