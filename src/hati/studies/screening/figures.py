"""Figure data of a screening: half-normal plot and Pareto chart, and each option's and pair's means."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from statistics import fmean
from typing import NamedTuple

from hati.core import Configuration, Setting, setting_text
from hati.core.wording import counted, effect_name
from hati.document.document import Shown, Table, columns_of, general, tidy
from hati.studies.screening import Effect, EffectScale, Options, OptionSummary, ScreeningConclusion, SettingEstimate
from hati.studies.screening.words import main_effect, option_summary


class EffectPoint(NamedTuple):
    """An effect's size (absolute contrast on the deciding scale) against its half-normal coordinate."""

    label: str
    coordinate: float
    size: float
    relative: float
    important: bool
    verdict: str


class EffectFigure(NamedTuple):
    """Effects by size, and ``threshold``: the size above which one is significant (None: unknown).

    On the logarithmic scale sizes are differences of natural logarithms and ``unit`` is empty; on the raw
    scale they are in ``unit``, the metric's own tidied. ``left_out`` counts smaller effects that are not among them.
    """

    metric: str
    scale: EffectScale
    unit: str
    points: tuple[EffectPoint, ...]
    threshold: float | None
    left_out: int


def half_normal(conclusion: ScreeningConclusion) -> EffectFigure:
    """All effects, for the half-normal plot (RES paper, equation 4): those of noise alone lie on a line near zero."""
    return _figure(conclusion, conclusion.effects, conclusion.threshold)


def pareto(conclusion: ScreeningConclusion, most: int = 20) -> EffectFigure:
    """The largest effects, largest first; all important ones are among them."""
    shown = tuple(e for rank, e in enumerate(conclusion.effects) if rank < most or e.shown)
    return _figure(conclusion, shown, conclusion.threshold)


def _figure(conclusion: ScreeningConclusion, effects: tuple[Effect, ...], threshold: float | None) -> EffectFigure:
    if conclusion.scale is EffectScale.LOG:
        unit, factor = "", 1.0
    else:
        unit, factor = tidy(conclusion.metric.unit, [e.contrast for e in effects])
    return EffectFigure(
        metric=conclusion.metric.name,
        scale=conclusion.scale,
        unit=unit,
        points=tuple(
            EffectPoint(
                effect_name(e.options), e.half_normal, abs(e.contrast) * factor, e.relative, e.shown, e.verdict.value
            )
            for e in effects
        ),
        threshold=None if threshold is None else threshold * factor,
        left_out=len(conclusion.effects) - len(effects),
    )


class SettingMean(NamedTuple):
    """The mean of the metric at one setting of an option, with a 95 % interval if the noise is known."""

    setting: str
    mean: float
    interval: tuple[float, float] | None


class MainEffect(NamedTuple):
    """An option's means at its settings, in their order."""

    option: str
    settings: tuple[SettingMean, ...]
    important: bool


class MainEffectsFigure(NamedTuple):
    """The options as ranked, without the ``left_out`` that were not estimated; means in ``unit``, tidied."""

    metric: str
    unit: str
    mean: float
    options: tuple[MainEffect, ...]
    left_out: int


class Interaction(NamedTuple):
    """The means of a pair's four combinations: ``means[i][j]`` is at setting ``i`` of ``x`` and ``j`` of ``line``."""

    x: str
    x_settings: tuple[str, str]
    line: str
    line_settings: tuple[str, str]
    means: tuple[tuple[float, float], tuple[float, float]]
    important: bool
    aliases: tuple[str, ...]


class Interactions(NamedTuple):
    """The strongest pairs, strongest first; means in ``unit``, the metric's own tidied."""

    metric: str
    unit: str
    pairs: tuple[Interaction, ...]


class RunPoint(NamedTuple):
    """One run: its place in the order from 1, its value, which repetition of its configuration it was from 1."""

    order: int
    value: float
    repetition: int
    configuration: str


class RunOrder(NamedTuple):
    """The runs that yielded a value, in order; values in ``unit``. ``scale`` is the deciding one."""

    metric: str
    unit: str
    scale: EffectScale
    runs: tuple[RunPoint, ...]


def main_effects(conclusion: ScreeningConclusion) -> MainEffectsFigure:
    """Means at the settings of each option whose effect was estimated, as ranked.

    For options with more than two settings they are those of the model. For the others they are the overall mean minus
    and plus half the effect: the plain means in a balanced design. Otherwise (runs failed, or are not done yet) they
    are free of the other options' effects, which plain means would not be. A mean of half the runs has the standard
    error of the effect divided by sqrt(2), which gives the intervals.
    """
    means = _configuration_means(conclusion)
    fixed = conclusion.dominating.name if conclusion.dominating and conclusion.dominating.narrowed else None
    names = (name for name in conclusion.ranking if name != fixed)
    effects = [effect for name in names if (effect := main_effect(conclusion, name))]
    if not means or not effects:
        return MainEffectsFigure(conclusion.metric.name, conclusion.metric.unit, math.nan, (), len(conclusion.ranking))
    centre = fmean(means.values())
    unit, factor = tidy(conclusion.metric.unit, means.values())
    rows = []
    for effect in effects:
        option = option_summary(conclusion, effect.options[0])
        found = tuple(_modelled(at, factor) for at in effect.means) or tuple(
            _setting_mean(setting, centre + sign * effect.estimate / 2, effect.interval, factor)
            for setting, sign in ((option.first, -1), (option.second, +1))
        )
        rows.append(MainEffect(option.name, found, effect.shown))
    return MainEffectsFigure(
        conclusion.metric.name, unit, centre * factor, tuple(rows), len(conclusion.ranking) - len(rows)
    )


def means_table(figure: MainEffectsFigure) -> Table:
    """A row for each setting of each option."""
    columns = columns_of(f"option | setting | > mean ({figure.unit})", f"> 95 % interval ({figure.unit})")
    rows = tuple(
        (
            option.option,
            at.setting,
            Shown(general(at.mean, 4), at.mean),
            None if at.interval is None else f"{general(at.interval[0], 4)} to {general(at.interval[1], 4)}",
        )
        for option in figure.options
        for at in option.settings
    )
    measured = f"{general(figure.mean, 4)} {figure.unit} over the measured ones"
    notes = [f"The mean over all valid configurations with that setting; {measured}."]
    if figure.left_out:
        notes.append(f"{counted(figure.left_out, 'option')} could not be estimated.")
    return Table(f"Means of {figure.metric} at each setting", columns, rows, tuple(notes))


def interactions(conclusion: ScreeningConclusion, most: int = 6) -> Interactions:
    """The means of the four combinations of the strongest pairs.

    Pairs with a combination without runs, and pairs of options with more than two settings, are left out.
    """
    means = _configuration_means(conclusion)
    unit, factor = tidy(conclusion.metric.unit, means.values())
    pairs = []
    for effect in (e for e in conclusion.effects if len(e.options) == 2):
        pair = _interaction(conclusion, effect, means, factor)
        if pair is not None:
            pairs.append(pair)
        if len(pairs) == most:
            break
    return Interactions(conclusion.metric.name, unit, tuple(pairs))


def run_order(conclusion: ScreeningConclusion) -> RunOrder:
    """The value of every run that yielded one, in the order of the runs."""
    points = sorted(conclusion.points, key=lambda point: point.order)
    unit, factor = tidy(conclusion.metric.unit, [point.value for point in points])
    seen: dict[Configuration, int] = defaultdict(int)
    runs = []
    for point in points:
        seen[point.configuration] += 1
        repetition = seen[point.configuration]
        runs.append(RunPoint(point.order + 1, point.value * factor, repetition, str(point.configuration)))
    return RunOrder(conclusion.metric.name, unit, conclusion.scale, tuple(runs))


def _configuration_means(conclusion: ScreeningConclusion) -> dict[Configuration, float]:
    values: dict[Configuration, list[float]] = defaultdict(list)
    found = conclusion.dominating
    for point in conclusion.points:
        if not (found and found.narrowed) or point.configuration.get(found.name) == found.narrowed.setting:
            values[point.configuration].append(point.value)
    return {configuration: fmean(of) for configuration, of in values.items()}


def _modelled(at: SettingEstimate, factor: float) -> SettingMean:
    interval = None if at.interval is None else (at.interval[0] * factor, at.interval[1] * factor)
    return SettingMean(setting_text(at.setting), at.estimate * factor, interval)


def _setting_mean(
    setting: Setting, mean: float, effect_interval: tuple[float, float] | None, factor: float
) -> SettingMean:
    if effect_interval is None:
        return SettingMean(setting_text(setting), mean * factor, None)
    half = (effect_interval[1] - effect_interval[0]) / 2 / math.sqrt(2)
    return SettingMean(setting_text(setting), mean * factor, ((mean - half) * factor, (mean + half) * factor))


def _interaction(
    conclusion: ScreeningConclusion, effect: Effect, means: Mapping[Configuration, float], factor: float
) -> Interaction | None:
    x, line = _by_influence(conclusion, effect.options)
    if not (x.two_level and line.two_level):
        return None
    cells = [
        [_mean_where(means, {x.name: a, line.name: b}) for b in (line.first, line.second)] for a in (x.first, x.second)
    ]
    (low_low, low_high), (high_low, high_high) = cells
    if low_low is None or low_high is None or high_low is None or high_high is None:
        return None
    return Interaction(
        x=x.name,
        x_settings=(setting_text(x.first), setting_text(x.second)),
        line=line.name,
        line_settings=(setting_text(line.first), setting_text(line.second)),
        means=((low_low * factor, low_high * factor), (high_low * factor, high_high * factor)),
        important=effect.shown,
        aliases=tuple(effect_name(alias) for alias in effect.aliases),
    )


def _by_influence(conclusion: ScreeningConclusion, pair: Options) -> tuple[OptionSummary, OptionSummary]:
    one, other = sorted(pair, key=conclusion.ranking.index)
    return option_summary(conclusion, one), option_summary(conclusion, other)


def _mean_where(means: Mapping[Configuration, float], settings: Mapping[str, Setting]) -> float | None:
    chosen = [mean for configuration, mean in means.items() if _has(configuration, settings)]
    return fmean(chosen) if chosen else None


def _has(configuration: Configuration, settings: Mapping[str, Setting]) -> bool:
    return all(
        name in configuration
        and type(configuration[name]) is type(setting)  # 1 is neither true nor 1.0, as in Assignment
        and configuration[name] == setting
        for name, setting in settings.items()
    )
