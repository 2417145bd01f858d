"""Figure data of effects: what the half-normal plot and the Pareto chart show."""

from __future__ import annotations

from typing import NamedTuple

from hati.report.quantities import tidy
from hati.report.words import effect_name
from hati.studies.screening import Effect, Scale, ScreeningConclusion


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
    scale: Scale
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
    if conclusion.scale is Scale.LOG:
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
