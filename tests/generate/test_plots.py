"""Figures of an experiment's observations."""

from __future__ import annotations

import numpy as np
import pytest

from hati.document import Chart, ChartKind
from hati.generate import LoadObservations, Sensor, SensorSeries
from hati.generate.observations import load_run_json
from hati.generate.plots import load_run_document, timeline_figure
from hati.render import ImageKind, chart_images

MS = 1_000_000


def series(task, sensor, starts_ms, values_ms, thread=0):
    starts, values = (np.round(np.asarray(each, float) * MS).astype(np.int64) for each in (starts_ms, values_ms))
    return SensorSeries("only", task, sensor, thread, starts, values)


def document(*found):
    observations = LoadObservations(found)
    return load_run_document(load_run_json("Work", "folder", observations, ""), observations)


def charts(*found):
    return {each.name: each for each in document(*found).sections if isinstance(each, Chart)}


def test_each_thread_has_a_row_with_its_bars_and_gaps() -> None:
    found = timeline_figure(
        "Work",
        LoadObservations(
            (
                series("work", Sensor.RESPONSE, [0, 50, 100], [20, 20, 20], thread=0),
                series("work", Sensor.RESPONSE, [10], [90], thread=1),
                series("spin", Sensor.GAPS, [30], [5]),
                series("work", Sensor.CPU, [0], [20]),
            )
        ),
    )
    assert found.rows == ("only work 0", "only work 1", "only spin")
    assert [tuple(bar) for bar in found.bars if bar.row == "only work 0"] == [
        ("only work 0", 0.0, 20.0, False),
        ("only work 0", 50.0, 70.0, False),
        ("only work 0", 100.0, 120.0, False),
    ]
    assert [tuple(bar) for bar in found.bars if bar.gap] == [("only spin", 30.0, 35.0, True)]


def test_a_hundred_thousand_observations_are_drawn_by_a_thousand_bars_that_cover_them() -> None:
    rng = np.random.default_rng(1)
    starts = np.sort(rng.uniform(0.0, 10_000.0, 100_000))
    found = timeline_figure(
        "Work", LoadObservations((series("work", Sensor.RESPONSE, starts, np.full(100_000, 0.01)),))
    )
    assert len(found.bars) <= 1000
    ends = np.array([bar.end for bar in found.bars])
    begins = np.array([bar.start for bar in found.bars])
    inside = np.searchsorted(begins, starts + 1e-5, side="right") - 1
    assert (starts <= ends[inside]).all()


def test_histograms_count_every_observation_and_long_tails_are_logarithmic() -> None:
    rng = np.random.default_rng(2)
    even, long = rng.uniform(1.0, 2.0, 500), np.concatenate([np.full(400, 0.1), [50.0]])
    found = charts(series("even", Sensor.RESPONSE, np.arange(500), even), series("long", Sensor.CPU, range(401), long))
    assert list(found) == ["timeline", "histograms"]
    first, second = found["histograms"].figure.panels
    assert (first.name, first.unit, sum(first.counts), first.logarithmic) == (
        "only even: response time",
        "ms",
        500,
        False,
    )
    assert (second.name, second.unit, sum(second.counts), second.logarithmic) == (
        "only long: CPU time",
        "µs",
        401,
        True,
    )
    assert second.edges[-1] == pytest.approx(50_000.0)


def test_gaps_have_a_chart_of_their_own_and_utilisations_no_time_line() -> None:
    assert list(charts(series("spin", Sensor.GAPS, [1, 9], [4, 4]))) == ["timeline", "gaps"]
    assert list(charts(series("work", Sensor.UTILISATION, [1, 9], [990, 990]))) == ["histograms"]
    (panel,) = charts(series("work", Sensor.UTILISATION, [1, 9], [990, 990]))["histograms"].figure.panels
    assert panel.edges[0] < 0.99 < panel.edges[1]


def test_the_charts_are_drawn() -> None:
    rng = np.random.default_rng(3)
    found = charts(
        series("work", Sensor.RESPONSE, np.arange(50), rng.uniform(0.5, 1.0, 50)),
        series("work", Sensor.GAPS, np.arange(50), rng.exponential(1.0, 50) ** 3),
    )
    assert [each.kind for each in found.values()] == [
        ChartKind.TIMELINE,
        ChartKind.DISTRIBUTION,
        ChartKind.DISTRIBUTION,
    ]
    drawn = chart_images(found, ImageKind.SVG)
    for name, words in (("timeline", "only work"), ("histograms", "response time"), ("gaps", "gaps")):
        assert words in drawn[name].image.decode()


def test_without_observations_there_are_no_charts() -> None:
    assert charts(series("work", Sensor.RESPONSE, [], [])) == {}
    assert list(charts(series("work", Sensor.RESPONSE, [1], [2]))) == ["timeline"], "one value has no distribution"
    assert document(series("work", Sensor.RESPONSE, [], [])).answer == "0 observations of 1 sensor."
