"""The kept script: bundled once, believed only where it is whole, and not needed."""

from __future__ import annotations

import itertools
import math
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
import vl_convert
from example_screenings import empty_screening, hostile_screening, raw_screening, sqlite_screening
from hypothesis import given
from hypothesis import strategies as st

from hati.core import replace
from hati.document import Chart
from hati.render import ImageKind, chart_images, charts_of, document_html, html
from hati.render.chart_style import factor_axis, labels, plain
from hati.render.html import chart_in_altair, chart_script, specification
from hati.studies.screening import ScreeningConclusion
from hati.studies.screening.document import screening_document

NAMES = ["pareto", "half_normal", "main_effects", "interactions", "run_order"]


def texts(svg: str) -> list[str]:
    return ["".join(e.itertext()) for e in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_importing_render_loads_no_drawing_library() -> None:
    program = "import hati.render, sys; print(*{'altair', 'vl_convert', 'jinja2'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize(
    "screening", [sqlite_screening(), raw_screening(), hostile_screening()], ids=lambda s: s.subject
)
def test_charts_are_valid_vega_lite(screening: ScreeningConclusion) -> None:
    for chart in charts_of(screening_document(screening)).values():
        assert chart_in_altair(chart).to_dict(validate=True) == specification(chart)


def svg_of(chart: Chart) -> str:
    return chart_images({"c": chart}, ImageKind.SVG)["c"].image.decode()


def test_every_chart_is_an_image() -> None:
    charts = charts_of(screening_document(sqlite_screening()))
    assert list(charts) == NAMES
    for image in chart_images(charts, ImageKind.PNG).values():
        png = image.image
        assert png.startswith(b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">II", png[16:24])
        assert 800 < width < 2400
        assert 600 < height < 2400


def test_a_chart_says_what_it_shows_with_units() -> None:
    charts = charts_of(screening_document(sqlite_screening()))
    normal = texts(svg_of(charts["half_normal"]))
    assert {"synchronous", "journal_mode", "important", "not shown", "half-normal quantile", "×2"} <= set(normal)
    assert "foreign_keys" not in normal
    means = texts(svg_of(charts["main_effects"]))
    assert {"mean latency (ms)", "synchronous", "FULL", "OFF", "first setting"} <= set(means)


def test_a_chart_on_the_raw_scale_has_the_metrics_unit() -> None:
    charts = charts_of(screening_document(raw_screening()))
    assert "size of the effect (1/s)" in texts(svg_of(charts["pareto"]))


def test_hostile_names_are_text_in_a_drawing() -> None:
    svg = svg_of(charts_of(screening_document(hostile_screening()))["pareto"])
    assert "<script" not in svg
    assert "\"quoted\" & 'single'" in texts(svg)


def test_without_runs_there_are_no_charts() -> None:
    assert charts_of(screening_document(empty_screening())) == {}


@given(st.floats(1e-6, 50))
def test_factor_axes_start_at_one_and_have_few_ticks(largest: float) -> None:
    values = factor_axis(largest).to_dict()["values"]
    assert values[0] == pytest.approx(0, abs=1e-12)
    assert values == sorted(set(values))
    assert 2 <= len(values) <= 20
    assert values[1] <= max(math.log(10), largest)


@given(st.lists(st.text(max_size=80) | st.sampled_from(["x", " x", "x (2)", "x (3)"]), max_size=6))
def test_labels_are_short_printable_and_different(names: list[str]) -> None:
    made = labels(names)
    assert len(set(made)) == len(names)
    assert all(label.isprintable() and len(label) <= 64 for label in made)
    assert all(plain(name) == plain(plain(name)) for name in names)


def test_names_in_a_half_normal_plot_keep_off_each_other() -> None:
    whole = sqlite_screening()
    sizes = (1.0, 0.999, 0.998, 0.5)
    effects = tuple(replace(e, contrast=size, important=True) for e, size in zip(whole.effects[:4], sizes, strict=True))
    svg = svg_of(charts_of(screening_document(replace(whole, effects=effects, threshold=None)))["half_normal"])
    names = {"synchronous", "journal_mode", "journal_mode x synchronous", "locking_mode"}
    heights = [
        float(e.attrib["transform"].rstrip(")").split(",")[1])
        for e in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
        if "".join(e.itertext()) in names
    ]
    assert len(heights) == 4
    assert min(b - a for a, b in itertools.pairwise(sorted(heights))) > 11


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("import os; os.abort()", "ended with signal SIGABRT"),
        ("raise SystemExit(3)", "ended with exit status 3"),
        ("import time; time.sleep(60)", "did not end within 8 s"),
    ],
)
def test_a_chart_that_ends_the_process_costs_itself_only(
    monkeypatch: pytest.MonkeyPatch, fault: str, words: str
) -> None:
    faulty = html._DRAWING.replace("    try:\n", f"    if 'fatal' in request['chart']: {fault}\n    try:\n", 1)
    monkeypatch.setattr(html, "_DRAWING", faulty)
    monkeypatch.setattr(html, "_SECONDS", 8.0 if "sleep" in fault else 300.0)
    good = {"mark": "bar", "data": {"values": [{"a": 1}]}, "encoding": {"x": {"field": "a", "type": "quantitative"}}}
    drawn = html.draw([good, {**good, "fatal": True}, good], ImageKind.SVG)
    assert [each.image[:4] for each in drawn] == [b"<svg", b"", b"<svg"]
    assert words in drawn[1].reason


def test_what_cannot_be_drawn_is_said() -> None:
    (drawn,) = html.draw([{"mark": "none of these"}], ImageKind.PNG)
    assert drawn.image == b""
    assert drawn.reason


def test_a_page_without_a_drawing_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "_DRAWING", "raise SystemExit(1)")
    page = document_html(screening_document(sqlite_screening()))
    assert "This chart is not drawn: the process that draws it ended with exit status 1." in page


@pytest.fixture
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The bundles made, with a bundler that takes no time and a cache of the test's own."""
    made: list[str] = []

    def bundle(*_: object, **__: object) -> str:
        made.append(f"script {len(made)};\n\u00d7")
        return made[-1]

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    chart_script.cache_clear()
    yield made
    chart_script.cache_clear()


def in_another_process() -> str:
    chart_script.cache_clear()
    return chart_script()


def test_a_machine_bundles_once(bundled: list[str], tmp_path: Path) -> None:
    assert in_another_process() == in_another_process() == bundled[0]
    assert len(bundled) == 1
    assert len(list((tmp_path / "cache" / "hati").iterdir())) == 1


@pytest.mark.parametrize("damage", [lambda kept: kept[:-1], lambda kept: b"", lambda kept: kept + b"alert(1)"])
def test_what_is_damaged_is_bundled_again(bundled: list[str], tmp_path: Path, damage: object) -> None:
    in_another_process()
    (file,) = (tmp_path / "cache" / "hati").iterdir()
    assert callable(damage)
    file.write_bytes(damage(file.read_bytes()))
    assert in_another_process() == bundled[1]
    assert in_another_process() == bundled[1]


def test_a_cache_that_cannot_be_made_costs_only_time(bundled: list[str], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("no folder")
    assert in_another_process() == bundled[0]
    assert in_another_process() == bundled[1]
