"""A screening as a document, with its recommendations, its recalibration, and later knowledge."""

from __future__ import annotations

from collections.abc import Iterator

from hati.core import replace
from hati.report.document import Aside, Chart, ChartKind, Document, Facts, Section
from hati.report.known import Knowledge, known_facts
from hati.report.recalibration import changes_table
from hati.report.recommendation import recommendation_part
from hati.report.screening_figures import (
    half_normal,
    interactions,
    main_effects,
    means_table,
    pareto,
    run_order,
)
from hati.report.screening_parts import conditional_table, dominating_sentence, follow_up_table, suspects_table
from hati.report.screening_tables import screening_tables
from hati.report.screening_words import (
    answer,
    design_summary,
    detection,
    machines_summary,
    noise_summary,
    run_summary,
    scale_sentence,
    settings_summary,
    space_size,
)
from hati.report.table import Table
from hati.studies.recalibration import EffectChanges
from hati.studies.recommendation import RecommendationConclusion
from hati.studies.screening import ScreeningConclusion


def screening_document(
    conclusion: ScreeningConclusion,
    advice: RecommendationConclusion | None = None,
    changes: EffectChanges | None = None,
    known: Knowledge | None = None,
) -> Document:
    """What a screening found, complete or not."""
    dominating = dominating_sentence(conclusion)
    now = known_facts(known) if known else ()
    return Document(
        f"{conclusion.subject}: which options matter for {conclusion.metric.name}",
        " ".join(filter(None, (answer(conclusion), dominating))),
        facts=_facts(conclusion),
        sections=(
            *_tables(conclusion),
            *screening_charts(conclusion),
            *((changes_table(changes),) if changes else ()),
            *((recommendation_part(advice),) if advice else ()),
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
    """The document of a screening with a table of the means that its chart of main effects draws."""
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
            "setting, averaged over all settings of the other options. The effect of a pair is half of how much one "
            "option's effect changes with the other.",
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
