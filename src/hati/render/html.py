"""A document as one self-contained HTML file that works offline.

Charts are drawn as SVG when the file is written; if scripts may run, they are replaced by interactive ones.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from hati.core.wording import visible
from hati.document import Align, Chart, cell_text
from hati.render.charts import Drawing, ImageKind, chart_script, charts_of, draw, missing_charts, specification

if TYPE_CHECKING:
    import jinja2

    from hati.document import Document, Fact


class _Figure(NamedTuple):
    name: str
    svg: str
    reason: str
    caption: str


def document_html(document: Document) -> str:
    """A document as one file with its style, charts and scripts.

    Without the extra ``charts`` it has no charts, and a fact says so.
    """
    missing = missing_charts()
    charts = {} if missing else charts_of(document)
    specifications = {name: specification(chart) for name, chart in charts.items()}
    scripts = [chart_script(), _template_text("interactive.js")] if charts else []
    return (
        _environment()
        .get_template("document.html.j2")
        .render(
            document=document,
            facts=_facts(document, missing),
            figures=_figures(specifications, charts),
            specifications=_script_safe(specifications),
            scripts=[_markup(script) for script in scripts],
            hashes=[_hash(script) for script in scripts],
            style=_markup(_template_text("style.css")),
        )
    )


def _facts(document: Document, missing: str) -> tuple[Fact, ...]:
    drawn = charts_of(document)
    return (
        *document.facts,
        *((("study", document.study),) if document.study else ()),
        *((("charts", f"none: {missing}"),) if missing and drawn else ()),
    )


def _figures(specifications: Mapping[str, Mapping[str, Any]], charts: Mapping[str, Chart]) -> dict[str, _Figure]:
    drawings = zip(charts.values(), draw(list(specifications.values()), ImageKind.SVG), strict=True)
    return {
        chart.name: _Figure(chart.name, _svg(chart.name, drawing), drawing.reason, chart.caption)
        for chart, drawing in drawings
    }


def _svg(name: str, drawing: Drawing) -> str:
    return _markup(_own_ids(name, drawing.image.decode()))


def _own_ids(name: str, svg: str) -> str:
    """The drawing with its ids prefixed by its name, so that they are unique on a page."""
    svg = re.sub(r'(?<=\sid=")([\w-]+)(?=")', rf"{name}-\1", svg)
    return re.sub(r"(?<=url\(#)([\w-]+)(?=\))", rf"{name}-\1", svg)


def _script_safe(value: object) -> str:
    """JSON that neither ends nor opens a script element, whatever its strings."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return _markup(text)


def _hash(script: str) -> str:
    """The source expression that lets a browser run this script and no other (Content Security Policy)."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")


def _markup(text: str) -> str:
    """Trusted text that the template must not escape."""
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
    environment.filters["kind"] = lambda section: type(section).__name__
    environment.filters["named"] = lambda name: f"{name[:1].upper()}{name[1:]}"
    return environment


def _shown(value: object) -> object:
    return visible(value) if type(value) is str else value
