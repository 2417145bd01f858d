"""Judged formulas as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hati.render.html import page
from hati.report import FormulaSection, assertion_answer, assertion_table, duration, figures_left_out, formula_sections
from hati.studies.assertion import Assured, Standard

if TYPE_CHECKING:
    from hati.render.chart_style import Chart


def assertion_html(found: Assured, standard: Standard) -> str:
    """The formulas in a table, and each with how its verdict arose and what was measured for it, as one file."""
    sections = formula_sections(found)
    captions = {
        relation.chart: f"The observations of {relation.title.rpartition(':')[0]}, and the means of their runs."
        for section in sections
        for relation in section.relations
    }
    return page(
        "assertion.html.j2",
        lambda: _charts(sections),
        captions,
        title="Performance requirements",
        answer=assertion_answer(found.answers),
        warnings=found.failures,
        facts=_facts(found),
        table=assertion_table(found, standard),
        formulas=sections,
    )


def _charts(sections: Sequence[FormulaSection]) -> dict[str, Chart]:
    figures = {each.chart: each.figure for section in sections for each in section.relations if each.figure}
    if not figures:
        return {}
    from hati.render.relation_charts import relation_chart

    return {name: relation_chart(figure) for name, figure in figures.items()}


def _facts(found: Assured) -> tuple[tuple[str, str], ...]:
    measured = (
        ("Runs", f"{found.runs:,}, {duration(found.seconds)} in all"),
        ("Study", found.study),
    )
    left_out = figures_left_out(found)
    drawn = ("Charts", f"{left_out:,} relations are not drawn; give their formulas alone")
    return (
        ("Interpretation", found.standard.interpretation.value),
        *(measured if found.study else ()),
        *((drawn,) if left_out else ()),
    )
