"""The tables of a screening conclusion."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from hati.core import setting_text
from hati.report.quantities import change_number, decimals, fixed, tidy
from hati.report.screening_words import (
    aliased_with,
    detection,
    effect_name,
    estimate_meaning,
    interval_meaning,
    judgement,
    not_listed,
    option_summary,
    roman,
    scale_sentence,
    verdict,
)
from hati.report.table import Align, Cell, Column, Shown, Table
from hati.studies.screening import Effect, ScreeningConclusion

_RIGHT = Align.RIGHT
_OTHERS = 8
"""How many effects that are not important the short table lists."""
_ALIASES = 4
"""How many aliases a note names."""
_PAIR = 2
"""Aliases of pairs and single options are worth a note; those of three options rarely have an effect."""


class ScreeningTables(NamedTuple):
    """All tables of a screening conclusion.

    ``effects`` is short enough for a terminal, ``all_effects`` has every effect with all that is known of it,
    ``dispersion`` is None where ln s^2 was not analysed.
    """

    effects: Table
    all_effects: Table
    options: Table
    design: Table
    aliases: Table
    runs: Table
    dispersion: Table | None


def screening_tables(conclusion: ScreeningConclusion) -> ScreeningTables:
    """The tables of a screening conclusion, complete or not."""
    return ScreeningTables(
        effects=effects_table(conclusion),
        all_effects=all_effects_table(conclusion),
        options=_options_table(conclusion),
        design=_design_table(conclusion),
        aliases=_alias_table(conclusion),
        runs=_runs_table(conclusion),
        dispersion=_dispersion_table(conclusion),
    )


def effects_table(conclusion: ScreeningConclusion, others: int = _OTHERS) -> Table:
    """The important effects and the largest of the others, narrow enough for 80 columns."""
    shown = _important_first(conclusion.effects)[: sum(e.shown for e in conclusion.effects) + others]
    left_out = len(conclusion.effects) - len(shown)
    notes = [not_listed(left_out)] if left_out else []
    if conclusion.effects:
        notes += [estimate_meaning(conclusion), judgement(conclusion), *interval_meaning(conclusion)]
        notes.append(detection(conclusion))
    notes += _signs(shown)
    notes += [_sharing(e) for e in shown if e.shown and _noted(e)]
    if conclusion.missing:
        notes.append(f"Can no longer be estimated: {', '.join(map(effect_name, conclusion.missing))}.")
    unit, factor = tidy(conclusion.metric.unit, [e.estimate for e in shown])
    places = decimals([e.estimate * factor for e in shown])
    return Table(
        f"Effects on {conclusion.metric.name}",
        (
            Column("effect of"),
            Column("effect", unit or None, _RIGHT),
            Column("change", "%", _RIGHT),
            Column("95 % interval", "%", _RIGHT),
            Column("share", "%", _RIGHT),
            Column("verdict"),
        ),
        tuple(
            (
                Shown(_effect_of(conclusion, e), effect_name(e.options)),
                Shown(fixed(e.estimate * factor, places), e.estimate * factor),
                Shown(change_number(e.relative), 100 * e.relative),
                _interval_cell(e),
                Shown(fixed(100 * e.share, 1), 100 * e.share),
                verdict(e),
            )
            for e in shown
        ),
        tuple(notes),
    )


def all_effects_table(conclusion: ScreeningConclusion) -> Table:
    """Every effect, important ones first, with all that is known of it."""
    effects = _important_first(conclusion.effects)
    unit, factor = tidy(conclusion.metric.unit, [e.estimate for e in effects])
    places = decimals([e.estimate * factor for e in effects])

    def row(e: Effect) -> tuple[Cell, ...]:
        low, high = e.interval or (None, None)
        return (
            Shown(_effect_of(conclusion, e), effect_name(e.options)),
            *(_number(v, factor, places) for v in (e.estimate, low, high, e.standard_error)),
            Shown(change_number(e.relative), 100 * e.relative),
            _interval_cell(e),
            Shown(fixed(100 * e.share, 1), 100 * e.share),
            _probability(e.p_value),
            verdict(e),
        )

    return Table(
        f"Effects on {conclusion.metric.name}",
        (
            Column("effect of"),
            Column("effect", unit or None, _RIGHT),
            Column("from", unit or None, _RIGHT),
            Column("to", unit or None, _RIGHT),
            Column("standard error", unit or None, _RIGHT),
            Column("change", "%", _RIGHT),
            Column("95 % interval", "%", _RIGHT),
            Column("share", "%", _RIGHT),
            Column("p", None, _RIGHT),
            Column("verdict"),
        ),
        tuple(map(row, effects)),
        (
            estimate_meaning(conclusion),
            *_signs(effects),
            judgement(conclusion),
            *interval_meaning(conclusion),
            scale_sentence(conclusion),
            detection(conclusion),
        ),
    )


def _options_table(conclusion: ScreeningConclusion) -> Table:
    ranks = {name: rank for rank, name in enumerate(conclusion.ranking, 1)}
    return Table(
        "Options",
        (
            Column("letter"),
            Column("option"),
            Column("settings"),
            Column("rank", None, _RIGHT),
            Column("meaning"),
        ),
        tuple(
            (o.letter, o.name, ", ".join(map(setting_text, o.settings)), ranks.get(o.name), o.doc)
            for o in conclusion.options
        ),
        ("The rank is by the main effect and the interactions of an option.",) if conclusion.effects else (),
    )


def _design_table(conclusion: ScreeningConclusion) -> Table:
    design = conclusion.design
    rows: list[tuple[Cell, ...]] = [
        ("kind", design.kind),
        ("configurations", design.configurations),
        ("repetitions", design.repetitions),
        ("runs", design.runs),
        ("resolution", Shown(roman(design.resolution), design.resolution) if design.resolution else None),
        ("generators", ", ".join(design.generators)),
    ]
    if design.d_efficiency is not None:
        rows.append(("D-efficiency", Shown(fixed(design.d_efficiency, 3), design.d_efficiency)))
    return Table("Design", (Column("property"), Column("value")), tuple(rows))


def _alias_table(conclusion: ScreeningConclusion) -> Table:
    return Table(
        "Alias structure",
        (Column("effect"), Column("aliased with")),
        tuple(
            (effect_name(e.options), Shown(aliased_with(e, len(e.aliases)), aliased_with(e, len(e.aliases))))
            for e in sorted(conclusion.effects, key=lambda e: (len(e.options), _letters(conclusion, e)))
            if e.aliases
        ),
        ("Up to third order. An estimate is the sum of the effect and its aliases.",),
    )


def _letters(conclusion: ScreeningConclusion, effect: Effect) -> tuple[int, ...]:
    names = [option.name for option in conclusion.options]
    return tuple(names.index(option) for option in effect.options)


def _runs_table(conclusion: ScreeningConclusion) -> Table:
    return Table(
        "Runs",
        (Column("outcome"), Column("runs", None, _RIGHT)),
        (
            ("planned", conclusion.design.runs),
            ("done", conclusion.done),
            ("failed", conclusion.failed),
        ),
        conclusion.failures,
    )


def _dispersion_table(conclusion: ScreeningConclusion) -> Table | None:
    dispersion = conclusion.dispersion
    if dispersion is None:
        return None
    shown = _important_first(dispersion.effects)[: sum(e.shown for e in dispersion.effects) + _OTHERS]
    left_out = len(dispersion.effects) - len(shown)
    places = decimals([e.estimate for e in shown])
    return Table(
        f"Effects on the variation of {conclusion.metric.name} (ln s^2 of {dispersion.of})",
        (Column("effect of"), Column("effect", None, _RIGHT), Column("share", "%", _RIGHT), Column("verdict")),
        tuple(
            (
                Shown(_effect_of(conclusion, e), effect_name(e.options)),
                Shown(fixed(e.estimate, places), e.estimate),
                Shown(fixed(100 * e.share, 1), 100 * e.share),
                verdict(e),
            )
            for e in shown
        ),
        (not_listed(left_out),) if left_out else (),
    )


def _noted(effect: Effect) -> bool:
    """Whether its aliases are named: those of an option in doubt, and pairs."""
    alone = effect.aliased and len(effect.options) == 1
    return alone or any(len(alias) <= _PAIR for alias in effect.aliases)


def _important_first(effects: Iterable[Effect]) -> list[Effect]:
    return sorted(effects, key=lambda effect: not effect.shown)


def _effect_of(conclusion: ScreeningConclusion, effect: Effect) -> str:
    if len(effect.options) > 1:
        return effect_name(effect.options)
    (name,) = effect.options
    if not option_summary(conclusion, name).two_level:
        return name
    return f"{name}={setting_text(option_summary(conclusion, name).second)}"


def _signs(shown: Iterable[Effect]) -> list[str]:
    if not any(effect.estimate * effect.contrast < 0 for effect in shown):
        return []
    return [
        "Effects are differences of means, changes are ratios (the scale that decides): "
        "the two can differ in sign where options act by factors."
    ]


def _sharing(effect: Effect) -> str:
    return f"One estimate for {effect_name(effect.options)} and its aliases {aliased_with(effect, _ALIASES)}."


def _interval_cell(effect: Effect) -> Cell:
    if effect.relative_interval is None:
        return None
    low, high = effect.relative_interval
    text = f"{change_number(low)} to {change_number(high)}"
    return Shown(text, text)


def _number(value: float | None, factor: float, places: int) -> Cell:
    return None if value is None else Shown(fixed(value * factor, places), value * factor)


def _probability(p: float | None) -> Cell:
    if p is None:
        return None
    return Shown("<0.0001" if p < 1e-4 else fixed(p, 4), p)
