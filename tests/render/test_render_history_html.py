"""A history as one HTML file."""

from __future__ import annotations

import json

import numpy as np
import pytest
from html_page import Page, assert_alone, assert_described

from hati.core import Assignment, Metric, Revision, RevisionKind, replace
from hati.render import document_html, document_markdown, document_text, table_text
from hati.studies.regression import HistoryConclusion, Series, histories
from hati.studies.regression.document import histories_document, history_figures
from hati.studies.replay import Replayed, RevisionSpread
from hati.studies.replay.document import replay_document, title_tables

LATENCY = Metric("latency", "s")
HOSTILE = "<script>alert(1)</script>"


def stepped(name: str, size: int = 40, step: float = 0.5, stratum: Assignment | None = None) -> Series:
    noise = np.random.default_rng(len(name)).normal(size=size)
    values = 0.002 * (1.0 + 0.01 * noise + step * (np.arange(size) >= size // 2))
    ones = np.ones(size, dtype=np.intp)
    positions = tuple(f"r{place}" for place in range(size))
    return Series(name, LATENCY, positions, values, 0 * ones, ones, stratum=stratum or Assignment())


def replayed(series: tuple[Series, ...]) -> Replayed:
    spreads = tuple(
        RevisionSpread(Revision(name, RevisionKind.SVN), (0.001, 0.0015, float(value), 0.004, 0.005), configurations=8)
        for name, value in zip(series[0].positions, series[0].values, strict=True)
    )
    key = ("main", "latency")
    return Replayed("replay-1", series, {key: spreads}, {key: LATENCY}, (), 0, 40, 0, 1.0)


def concluded(*series: Series) -> list[HistoryConclusion]:
    return histories(series)


def test_the_page_is_one_file_with_its_chart_changes_and_trend() -> None:
    series = stepped(HOSTILE)
    page = Page(document_html(histories_document((series,), concluded(series))))
    assert_alone(page)
    assert_described(page)
    assert page.count("figure") == 1
    assert "slower by" in page.words.lower()
    assert "Trend" in page.words
    assert HOSTILE in page.words


def test_box_plots_are_drawn_where_a_space_was_measured() -> None:
    series = (stepped(""), stepped("", stratum=Assignment({"cache": "on"})))
    found = replayed(series)
    first, second = history_figures(list(zip(series, concluded(*series), strict=True)), found)
    assert first is not None
    assert second is not None
    assert first.unit == "ms"
    assert first.points[0].quantiles == pytest.approx((1.0, 1.5, 1000 * series[0].values[0], 4.0, 5.0))
    assert all(point.quantiles is None for point in second.points)
    page = Page(document_html(histories_document(series, concluded(*series), found)))
    drawn = json.loads(next(text for about, text in page.scripts if about.get("id") == "charts"))
    assert "smallest" in json.dumps(drawn["series-0"])
    assert "smallest" not in json.dumps(drawn["series-1"])
    assert "1 of 1 series was shown to change its level" in page.words


def test_charts_name_revisions_as_tables_do() -> None:
    series = (stepped(""),)
    found = replace(replayed(series), names={"r1": "r1 (v1.2)"})
    [figure] = history_figures([(series[0], concluded(*series)[0])], found)
    assert figure is not None
    assert [point.position for point in figure.points[:3]] == ["r0", "r1 (v1.2)", "r2"]
    assert figure.points[1].quantiles is not None


def test_levels_and_steps_are_those_of_the_conclusion() -> None:
    series = stepped("a", size=30)
    [conclusion] = concluded(series)
    [figure] = history_figures([(series, conclusion)])
    assert figure is not None
    [change] = conclusion.change_points
    assert [(level.first, level.last) for level in figure.levels] == [(0, change.index - 1), (change.index, 29)]
    assert [step.place for step in figure.steps] == [change.index]
    assert figure.levels[1].level == pytest.approx(1000 * change.after)


def test_of_many_series_those_that_changed_are_drawn() -> None:
    series = tuple(stepped(f"s{place}", step=0.5 if place == 59 else 0.0) for place in range(60))
    figures = history_figures(list(zip(series, concluded(*series), strict=True)))
    assert figures[59] is not None
    assert sum(figure is not None for figure in figures) == 40
    page = Page(document_html(histories_document(series, concluded(*series))))
    assert "20 of 60 series are not drawn" in page.words


def test_the_titles_of_revisions_that_tables_name_are_in_lines_of_the_screen() -> None:
    series = stepped("main latency")
    long = "Sort the keys " * 9
    found = replace(replayed((series,)), titles={"r0": "Begin", "r20": long}, names={"r20": "v2 (r20)"})
    for many in (found, replace(found, spreads={})):
        document = replay_document(many, concluded(series))
        [titles] = (each for each in document.tables if each.title == "Titles of revisions")
        assert titles.rows[-1][0] == "v2 (r20)"
        assert (len(titles.rows) == 2) == bool(many.spreads)
        assert max(map(len, table_text(titles).splitlines())) <= 80
        for text in (document_text(document), document_markdown(document), document_html(document)):
            assert "Sort the keys Sort the keys Sort the ..." in text
    assert not title_tables(replace(found, titles={}), concluded(series))
