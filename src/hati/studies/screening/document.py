"""A screening as a document, with its tables, its recommendations, its recalibration, and later knowledge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hati.core import replace, setting_text
from hati.core.wording import effect_name
from hati.document.document import (
    Aside,
    Cell,
    Chart,
    ChartKind,
    Document,
    Facts,
    Section,
    Shown,
    Table,
    change_number,
    columns_of,
    decimals,
    fixed,
    roman,
    tidy,
)
from hati.studies.known import Knowledge, known_facts
from hati.studies.recalibration import EffectChanges
from hati.studies.recalibration.document import changes_table
from hati.studies.recommendation import RecommendationConclusion
from hati.studies.recommendation.document import recommendation_answer, recommendation_part
from hati.studies.screening import Effect, ScreeningConclusion
from hati.studies.screening.figures import half_normal, interactions, main_effects, means_table, pareto, run_order
from hati.studies.screening.support import (
    conditional_table,
    dominating_sentence,
    follow_up_table,
    interval_cell,
    narrowed_note,
    suspects_table,
    unbounded_note,
)
from hati.studies.screening.words import (
    adjustment,
    aliased_with,
    answer,
    design_summary,
    detection,
    estimate_meaning,
    interaction_meaning,
    interval_meaning,
    judgement,
    machines_summary,
    noise_summary,
    not_listed,
    option_summary,
    run_summary,
    scale_sentence,
    settings_summary,
    space_size,
    verdict,
)

_OTHERS = 8
"""The number of effects that are not important in the short table."""
_ALIASES = 4
"""The number of aliases that a note names."""
_PAIR = 2
"""Aliases of pairs and single options are worth a note; those of three options rarely have an effect."""


class ScreeningTables(NamedTuple):
    """All tables of a screening conclusion.

    ``effects`` is short enough for a terminal, ``all_effects`` has every effect with all that is known about it,
    ``dispersion`` is None if ln s^2 was not analysed.
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


def effects_table(conclusion: ScreeningConclusion) -> Table:
    """The important effects and the largest of the others, narrow enough for 80 columns."""
    shown = _important_first(conclusion.effects)[: sum(e.shown for e in conclusion.effects) + _OTHERS]
    left_out = len(conclusion.effects) - len(shown)
    notes = [not_listed(left_out)] if left_out else []
    if conclusion.effects:
        notes += [estimate_meaning(conclusion), *interaction_meaning(conclusion, shown)]
        notes += [*adjustment(conclusion), judgement(conclusion)]
        notes += interval_meaning(conclusion)
        notes.append(detection(conclusion))
    notes += unbounded_note(e.relative_interval for e in shown)
    notes += [*narrowed_note(conclusion), *_signs(shown)]
    notes += [_sharing(e) for e in shown if e.shown and _noted(e)]
    if conclusion.missing:
        notes.append(f"Can no longer be estimated: {', '.join(map(effect_name, conclusion.missing))}.")
    unit, factor = tidy(conclusion.metric.unit, [e.estimate for e in shown])
    places = decimals([e.estimate * factor for e in shown])
    return Table(
        f"Effects on {conclusion.metric.name}",
        columns_of(f"effect of | > effect ({unit}) | > change (%)", "> 95 % interval (%) | > share (%) | verdict"),
        tuple(
            (
                Shown(_effect_of(conclusion, e), effect_name(e.options)),
                Shown(fixed(e.estimate * factor, places), e.estimate * factor),
                Shown(change_number(e.relative), 100 * e.relative),
                interval_cell(e.relative_interval),
                Shown(fixed(100 * e.share, 1), 100 * e.share),
                verdict(e),
            )
            for e in shown
        ),
        tuple(notes),
    )


def all_effects_table(conclusion: ScreeningConclusion) -> Table:
    """Every effect, important ones first, with all that is known about it."""
    effects = _important_first(conclusion.effects)
    unit, factor = tidy(conclusion.metric.unit, [e.estimate for e in effects])
    places = decimals([e.estimate * factor for e in effects])

    def row(e: Effect) -> tuple[Cell, ...]:
        low, high = e.interval or (None, None)
        return (
            Shown(_effect_of(conclusion, e), effect_name(e.options)),
            *(_number(v, factor, places) for v in (e.estimate, low, high, e.standard_error)),
            Shown(change_number(e.relative), 100 * e.relative),
            interval_cell(e.relative_interval),
            Shown(fixed(100 * e.share, 1), 100 * e.share),
            _probability(e.p_value),
            verdict(e),
        )

    return Table(
        f"Effects on {conclusion.metric.name}",
        columns_of(
            f"effect of | > effect ({unit}) | > from ({unit})",
            f"> to ({unit}) | > standard error ({unit})",
            "> change (%) | > 95 % interval (%) | > share (%) | > p | verdict",
        ),
        tuple(map(row, effects)),
        (
            estimate_meaning(conclusion),
            *interaction_meaning(conclusion, effects),
            *adjustment(conclusion),
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
        columns_of("letter | option | settings | > rank | meaning"),
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
    return Table("Design", columns_of("property | value"), tuple(rows))


def _alias_table(conclusion: ScreeningConclusion) -> Table:
    return Table(
        "Alias structure",
        columns_of("effect | aliased with"),
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
        columns_of("outcome | > runs"),
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
        columns_of("effect of | > effect | > share (%) | verdict"),
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
    """The options of an effect; of a single one also the settings between which it is."""
    if len(effect.options) > 1:
        return effect_name(effect.options)
    (name,) = effect.options
    if option_summary(conclusion, name).two_level:
        return f"{name}={setting_text(option_summary(conclusion, name).second)}"
    return f"{name}={' to '.join(map(setting_text, effect.ends))}" if effect.ends else name


def _signs(shown: Iterable[Effect]) -> list[str]:
    if not any(effect.estimate * effect.contrast < 0 for effect in shown):
        return []
    return [
        "Effects are differences of means, changes are ratios (the scale that decides): "
        "the two can differ in sign where options act by factors."
    ]


def _sharing(effect: Effect) -> str:
    return f"One estimate for {effect_name(effect.options)} and its aliases {aliased_with(effect, _ALIASES)}."


def _number(value: float | None, factor: float, places: int) -> Cell:
    return None if value is None else Shown(fixed(value * factor, places), value * factor)


def _probability(p: float | None) -> Cell:
    if p is None:
        return None
    return Shown("<0.0001" if p < 1e-4 else fixed(p, 4), p)


def screening_document(
    conclusion: ScreeningConclusion,
    advice: RecommendationConclusion | None = None,
    changes: EffectChanges | None = None,
    known: Knowledge | None = None,
) -> Document:
    """The findings of a screening, complete or not."""
    dominating = dominating_sentence(conclusion)
    now = known_facts(known) if known else ()
    return Document(
        f"{conclusion.subject}: which options matter for {conclusion.metric.name}",
        # a command is the last thing that is said: what followed it would be copied with it
        " ".join(filter(None, (answer(conclusion), recommendation_answer(advice) if advice else "", dominating))),
        facts=_facts(conclusion),
        sections=(
            *_tables(conclusion),
            *screening_charts(conclusion),
            *((changes_table(changes),) if changes else ()),
            *filter(None, (recommendation_part(advice),) if advice else ()),
            *((Facts("Known now", now),) if now else ()),
        ),
        failures=conclusion.failures,
        warnings=conclusion.warnings,
        reading=_reading(conclusion),
        study=conclusion.study,
    )


def screening_charts(conclusion: ScreeningConclusion) -> tuple[Chart, ...]:
    """The charts for which there are data."""
    means, pairs, runs = main_effects(conclusion), interactions(conclusion), run_order(conclusion)
    effects = conclusion.effects
    charts = (
        (ChartKind.PARETO, pareto(conclusion) if effects else None),
        (ChartKind.HALF_NORMAL, half_normal(conclusion) if effects else None),
        (ChartKind.MAIN_EFFECTS, means if means.options else None),
        (ChartKind.INTERACTIONS, pairs if pairs.pairs else None),
        (ChartKind.RUN_ORDER, runs if runs.runs else None),
    )
    return tuple(Chart(kind, kind.value, _CAPTIONS[kind], figure) for kind, figure in charts if figure is not None)


def with_means(document: Document) -> Document:
    """The document of a screening, with a table of the means in its chart of main effects."""
    figures = [each.figure for each in document.sections if isinstance(each, Chart) if each.kind is _MEANS]
    tables = tuple(means_table(figure) for figure in figures)
    return replace(document, sections=(*document.sections, *tables))


_MEANS = ChartKind.MAIN_EFFECTS
_CAPTIONS = {
    ChartKind.PARETO: "Effects by size. The table of effects has the same numbers.",
    ChartKind.HALF_NORMAL: "Half-normal plot: each effect's size against where it would be if all were noise.",
    ChartKind.MAIN_EFFECTS: "The metric's mean at the two settings of each option.",
    ChartKind.INTERACTIONS: "The metric's mean at the four combinations of the strongest pairs of options.",
    ChartKind.RUN_ORDER: "The value of every run in the order in which the runs were made.",
}


def _facts(conclusion: ScreeningConclusion) -> tuple[tuple[str, str], ...]:
    noise, machines = noise_summary(conclusion), machines_summary(conclusion)
    return (
        ("subject", f"{conclusion.subject} {conclusion.revision}, benchmark {conclusion.benchmark}"),
        ("space", space_size(conclusion)),
        ("options", settings_summary(conclusion)),
        ("design", design_summary(conclusion)),
        ("runs", run_summary(conclusion)),
        ("scale", scale_sentence(conclusion)),
        *((("noise", noise),) if noise else ()),
        *((("blocks", machines),) if machines else ()),
    )


def _tables(conclusion: ScreeningConclusion) -> Iterator[Section]:
    tables = screening_tables(conclusion)
    if conclusion.effects:
        yield tables.effects
        title = f"All {len(conclusion.effects)} effects, with intervals, standard errors and p"
        yield Aside(title, (tables.all_effects,))
    optional = follow_up_table(conclusion), suspects_table(conclusion), conditional_table(conclusion)
    yield from (table for table in optional if table is not None)
    if tables.dispersion is not None:
        shown = conclusion.dispersion is not None and conclusion.dispersion.shown
        yield tables.dispersion if shown else Aside("Variation", (tables.dispersion,))
    aliases = (tables.aliases,) if tables.aliases.rows else ()
    asides: tuple[tuple[str, tuple[Table, ...]], ...] = (
        ("Design", (tables.design,)),
        ("Alias structure", aliases),
        ("Options", (tables.options,)),
        ("Runs", (tables.runs,)),
    )
    yield from (Aside(title, listed) for title, listed in asides if listed)


def _reading(conclusion: ScreeningConclusion) -> tuple[tuple[str, str], ...]:
    return (
        (
            "Effect",
            f"How much the mean of {conclusion.metric.name} changes when an option goes from its first to its second "
            "setting, averaged over all settings of the other options that allow both. The effect of a pair is half of "
            "how much one option's effect changes with the other.",
        ),
        (
            "Important",
            f"Significant at {100 * conclusion.alpha:g} % over all effects together (at most one chance in "
            f"{1 / conclusion.alpha:g} of any false alarm in the whole study) and larger than "
            f"{100 * conclusion.relevant:g} %.",
        ),
        (
            "Not shown",
            f"Not found in these runs. This does not prove that there is no effect. {detection(conclusion)}",
        ),
        (
            "95 % interval",
            "Where the effect lies, for each effect alone: it is not corrected for the number of effects, so the "
            "interval of an effect that is not shown can leave out zero.",
        ),
        ("Share", "The effect's part of the variance between configurations, on the scale that decides."),
        (
            "Alias",
            "A fraction of all configurations cannot distinguish some effects: each estimate is the sum of its effect "
            "and its aliases. It is named by the one of the lowest order; among pairs by the likeliest, whose options "
            "matter most individually (heredity). It is not the only one.",
        ),
    )
