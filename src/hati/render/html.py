"""A document as one self-contained HTML file that works offline, and its charts, drawn by Altair and vl-convert.

Charts are SVG when the file is written; if scripts may run, interactive ones replace them. Without the extra ``charts``
a report has its tables. Images are drawn in a separate process. Altair takes most of a second to load: it is imported
only when a chart is drawn, here and in the modules with charts.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import platformdirs
from msgspec import Struct

from hati.core import NotInstalledError
from hati.core.wording import visible
from hati.document import (
    Align,
    Aside,
    Chart,
    ChartKind,
    Document,
    Part,
    Section,
    cell_text,
    with_commands,
)
from hati.whole_files import replace_file

if TYPE_CHECKING:
    import jinja2

    from hati.document import Fact
    from hati.render.chart_style import Chart as Drawn


def charts_of(document: Document) -> dict[str, Chart]:
    """The charts of a document and its parts, by their names."""
    return {chart.name: chart for chart in _charts(document.sections)}


def specification(chart: Chart) -> Mapping[str, Any]:
    """The chart in Vega-Lite, not validated, nor are its parts: it takes longer than drawing, and only data differ."""
    from altair.utils.schemapi import debug_mode

    with debug_mode(arg=False):
        found: dict[str, Any] = chart_in_altair(chart).to_dict(validate=False)
    return found


def chart_in_altair(chart: Chart) -> Drawn:
    """The chart in Altair; its figure has the type of the chart's kind."""
    return _drawers()[chart.kind](chart.figure)


def chart_images(charts: Mapping[str, Chart], kind: ImageKind) -> dict[str, Drawing]:
    """Images of charts by their names: PNG at twice the nominal size, or SVG.

    Raises:
        NotInstalledError: without the extra ``charts``.
    """
    require_charts()
    return dict(zip(charts, draw([specification(chart) for chart in charts.values()], kind), strict=True))


def _charts(sections: Iterable[Section]) -> Iterator[Chart]:
    for section in sections:
        if isinstance(section, Chart):
            yield section
        elif isinstance(section, Aside | Part):
            yield from _charts(section.sections)


def _drawers() -> Mapping[ChartKind, Callable[[Any], Drawn]]:
    from hati.render import effect_charts, sample_charts

    return {
        ChartKind.PARETO: effect_charts.pareto_chart,
        ChartKind.HALF_NORMAL: effect_charts.half_normal_chart,
        ChartKind.MAIN_EFFECTS: effect_charts.main_effects_chart,
        ChartKind.INTERACTIONS: effect_charts.interactions_chart,
        ChartKind.RUN_ORDER: effect_charts.run_order_chart,
        ChartKind.QUANTILES: sample_charts.quantile_chart,
        ChartKind.BOXES: sample_charts.box_chart,
        ChartKind.HISTORY: sample_charts.history_chart,
        ChartKind.RELATION: sample_charts.relation_chart,
        ChartKind.HISTOGRAM: sample_charts.portability_chart,
        ChartKind.DISTRIBUTION: sample_charts.distribution_chart,
        ChartKind.TIMELINE: sample_charts.timeline_chart,
        ChartKind.LOADS: sample_charts.load_chart,
        ChartKind.TREE: sample_charts.tree_chart,
    }


_LIBRARIES = ("altair", "vl_convert")
_WHY = "charts need Altair and vl-convert"
_FIX = "install them: pip install 'hati[charts]'"


def missing_charts() -> str:
    """Why reports have no charts, and the command to fix it; empty if charts are drawn."""
    return "" if all(find_spec(name) is not None for name in _LIBRARIES) else f"{_WHY}; {_FIX}"


def require_charts() -> None:
    """Check that charts can be drawn.

    Raises:
        NotInstalledError: without the extra ``charts``.
    """
    if missing_charts():
        raise NotInstalledError(_WHY, fix=_FIX)


@functools.cache
def chart_script() -> str:
    """JavaScript that defines ``vegaEmbed`` with all its dependencies; it loads nothing from elsewhere."""
    import vl_convert

    file = platformdirs.user_cache_path("hati") / f"vega-{vega_lite_version()}-{version('vl-convert-python')}.js"
    kept = _kept(file)
    if kept is not None:
        return kept
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=vega_lite_version())
    with contextlib.suppress(OSError):  # without a cache it only takes longer
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, [_digest(script.encode()), b"\n", script.encode()])
    return script


def vega_lite_version() -> str:
    """The version of Vega-Lite for charts, in vl-convert's format."""
    import altair

    return ".".join(altair.VEGALITE_VERSION.split(".")[:2])


def _kept(file: Path) -> str | None:
    try:
        digest, _, script = file.read_bytes().partition(b"\n")
    except OSError:
        return None
    return script.decode() if digest == _digest(script) else None


def _digest(script: bytes) -> bytes:
    return hashlib.sha256(script).hexdigest().encode()


_SECONDS = 300.0
_SCALE = 2.0
# Each drawing is written at once, after its length; a negative length is that of the reason why there is none.
_DRAWING = """
import json, sys, vl_convert
for request in json.load(sys.stdin):
    about = {"vl_version": request["version"], "allowed_base_urls": []}
    try:
        if request["kind"] == "png":
            drawn = bytes(vl_convert.vegalite_to_png(request["chart"], scale=request["scale"], **about))
        else:
            drawn = vl_convert.vegalite_to_svg(request["chart"], **about).encode()
        size = len(drawn)
    except Exception as error:  # the parent reports it, whatever it is
        drawn = str(error).encode()
        size = -len(drawn)
    sys.stdout.buffer.write(size.to_bytes(8, "big", signed=True) + drawn)
    sys.stdout.buffer.flush()
"""


class ImageKind(StrEnum):
    """The formats of images."""

    PNG = "png"
    SVG = "svg"


class Drawing(Struct, frozen=True):
    """An image, or the reason why there is none."""

    image: bytes
    reason: str = ""


def draw(charts: Sequence[Mapping[str, Any]], kind: ImageKind) -> tuple[Drawing, ...]:
    """Images of charts in Vega-Lite: SVG in UTF-8, or PNG at twice the nominal size.

    If a chart ends the drawing process, only its own image is missing.
    """
    found = list[Drawing]()
    while len(found) < len(charts):
        found += _drawn(charts[len(found) :], kind)
    return tuple(found)


def _drawn(charts: Sequence[Mapping[str, Any]], kind: ImageKind) -> list[Drawing]:
    """The images up to and including the first chart that ends the process, which has none."""
    version = vega_lite_version()
    requests = [{"chart": chart, "kind": kind, "version": version, "scale": _SCALE} for chart in charts]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-P", "-c", _DRAWING],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            output, _ = process.communicate(json.dumps(requests).encode(), _SECONDS)
            ended = _ending(process.returncode)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            ended = f"did not end within {_SECONDS:g} s"
        except BaseException:
            process.kill()
            raise
    found = _images(output)
    return found if len(found) == len(charts) else [*found, Drawing(b"", f"the process that draws it {ended}")]


def _images(output: bytes) -> list[Drawing]:
    found, start = list[Drawing](), 0
    while start + 8 <= len(output):
        size = int.from_bytes(output[start : start + 8], "big", signed=True)
        image = output[start + 8 : start + 8 + abs(size)]
        if len(image) < abs(size):
            break
        found.append(Drawing(image) if size >= 0 else Drawing(b"", image.decode("utf-8", "replace")))
        start += 8 + abs(size)
    return found


def _ending(status: int) -> str:
    try:
        return f"ended with signal {signal.Signals(-status).name}" if status < 0 else f"ended with exit status {status}"
    except ValueError:
        return f"ended with signal {-status}"


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
    environment.filters["with_commands"] = _with_commands
    environment.tests["right"] = lambda column: column.align is Align.RIGHT
    environment.filters["kind"] = lambda section: type(section).__name__
    environment.filters["named"] = lambda name: f"{name[:1].upper()}{name[1:]}"
    return environment


def _with_commands(text: str) -> str:
    """The text with its commands as code, for the content of an element."""
    import markupsafe

    escape = markupsafe.escape
    return _markup(with_commands(visible(text), escape, lambda command: f"<code>{escape(command)}</code>"))


def _shown(value: object) -> object:
    return visible(value) if type(value) is str else value
