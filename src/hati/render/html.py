"""A screening conclusion as one HTML file that works offline: it holds all that it needs and loads nothing.

Charts are drawn as SVG when the file is made; where scripts may run they are replaced by interactive ones.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from hati.render.chart_library import missing_charts
from hati.render.charts import screening_charts, specification
from hati.render.drawing import Drawing, ImageKind, draw
from hati.render.scripts import chart_script
from hati.render.visible import visible
from hati.report import (
    Align,
    answer,
    cell_text,
    changes_table,
    conditional_table,
    design_summary,
    detection,
    dominating_sentence,
    follow_up_table,
    left_out_table,
    noise_summary,
    recommendation_answer,
    recommendation_table,
    run_summary,
    scale_sentence,
    screening_tables,
    space_size,
    suspects_table,
)
from hati.studies.recalibration import EffectChanges
from hati.studies.recommendation import RecommendationConclusion
from hati.studies.screening import ScreeningConclusion

if TYPE_CHECKING:
    import jinja2

    from hati.render.chart_style import Chart

_CAPTIONS = {
    "pareto": "Effects by size. The table of effects has the same numbers.",
    "half_normal": "Half-normal plot: each effect's size against where it would be if all were noise.",
    "main_effects": "The metric's mean at the two settings of each option.",
    "interactions": "The metric's mean at the four combinations of the strongest pairs of options.",
    "run_order": "The value of every run in the order in which the runs were made.",
}


class _Figure(NamedTuple):
    name: str
    svg: str
    reason: str
    caption: str


def screening_html(
    conclusion: ScreeningConclusion,
    advice: RecommendationConclusion | None = None,
    changes: EffectChanges | None = None,
) -> str:
    """The report of a screening, of what it recommends and of what it changed, as one file that holds all it needs."""
    return page(
        "screening.html.j2",
        lambda: screening_charts(conclusion),
        _CAPTIONS,
        conclusion=conclusion,
        answer=answer(conclusion),
        tables=screening_tables(conclusion),
        facts=(
            ("Subject", f"{conclusion.subject} {conclusion.revision}, benchmark {conclusion.benchmark}"),
            ("Space", space_size(conclusion)),
            ("Design", design_summary(conclusion)),
            ("Runs", run_summary(conclusion)),
            ("Scale", scale_sentence(conclusion)),
            *((("Noise", noise),) if (noise := noise_summary(conclusion)) else ()),
            ("Study", conclusion.study),
        ),
        detection=detection(conclusion),
        follow_up=follow_up_table(conclusion),
        suspects=suspects_table(conclusion),
        conditional=conditional_table(conclusion),
        dominating=dominating_sentence(conclusion),
        advice=advice and recommendation_answer(advice),
        recommendation=advice and recommendation_table(advice),
        left_out=advice and left_out_table(advice),
        changes=changes and changes_table(changes),
    )


def page(
    template: str,
    drawing: Callable[[], Mapping[str, Chart]],
    captions: Mapping[str, str],
    *,
    facts: Iterable[tuple[str, str]],
    **values: object,
) -> str:
    """A template's page with charts, each with its caption, and all that they need.

    Without the extra ``charts`` it has none, and a fact says so.
    """
    missing = missing_charts()
    charts = {} if missing else {name: specification(chart) for name, chart in drawing().items()}
    scripts = [chart_script(), _template_text("interactive.js")] if charts else []
    return (
        _environment()
        .get_template(template)
        .render(
            **values,
            facts=(*facts, *((("Charts", f"none: {missing}"),) if missing else ())),
            figures=_figures(charts, captions),
            specifications=_script_safe(charts),
            scripts=[_markup(script) for script in scripts],
            hashes=[_hash(script) for script in scripts],
            style=_markup(_template_text("style.css")),
        )
    )


def _figures(charts: Mapping[str, dict[str, Any]], captions: Mapping[str, str]) -> list[_Figure]:
    drawings = zip(charts, draw(list(charts.values()), ImageKind.SVG), strict=True)
    return [_Figure(name, _svg(name, drawing), drawing.reason, captions[name]) for name, drawing in drawings]


def _svg(name: str, drawing: Drawing) -> str:
    return _markup(_own_ids(name, drawing.image.decode()))


def _own_ids(name: str, svg: str) -> str:
    """The drawing with its ids made its own: several drawings in one page would otherwise share them."""
    svg = re.sub(r'(?<=\sid=")([\w-]+)(?=")', rf"{name}-\1", svg)
    return re.sub(r"(?<=url\(#)([\w-]+)(?=\))", rf"{name}-\1", svg)


def _script_safe(value: object) -> str:
    """JSON that neither ends nor opens a script element, whatever strings it holds."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return _markup(text)


def _hash(script: str) -> str:
    """The source expression that lets a browser run this script and no other (Content Security Policy)."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")


def _markup(text: str) -> str:
    """Text of our own making that the template must not escape."""
    import markupsafe

    return markupsafe.Markup(text)  # noqa: S704 - scripts, style and drawings made here; names in them are escaped


def _template_text(name: str) -> str:
    environment = _environment()
    assert environment.loader is not None
    source, _, _ = environment.loader.get_source(environment, name)
    return source.strip()


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hati.render"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters["cell_text"] = cell_text
    environment.tests["right"] = lambda column: column.align is Align.RIGHT
    return environment


def _shown(value: object) -> object:
    return visible(value) if type(value) is str else value
