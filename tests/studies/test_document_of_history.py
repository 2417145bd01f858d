"""A history as tables, sentences and exchanged values, where something is not known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hati.core import Assignment, Metric, replace
from hati.render import document_markdown, document_text, to_json, to_plain
from hati.studies.regression import DetectableStep, Direction, HistoryConclusion, LevelChange, Series, Trend, history
from hati.studies.regression.document import (
    histories_answer,
    histories_document,
    histories_json,
    history_answer,
    history_facts,
    history_table,
)

CHANGE = LevelChange(
    index=12,
    position="v12",
    previous="v11",
    indexes=(11, 13),
    positions=("v11", "v13"),
    before=0.020,
    after=0.021,
    interval=(0.0008, 0.0012),
    p_value=0.00123,
    direction=Direction.SLOWER,
)
TREND = Trend("v0", 0, 39, 0.02, 1e-5, (0.5e-5, 1.5e-5), 0.002, Direction.SLOWER)
FOUND = HistoryConclusion(
    name="orders",
    metric=Metric("latency", "s"),
    positions=40,
    runs=80,
    machines=2,
    first="v0",
    last="v39",
    alpha=0.05,
    change_points=(CHANGE,),
    trend=TREND,
    detectable=DetectableStep(0.0006, 0.0006, 0.02),
    autocorrelation=0.12,
    outliers=tuple(f"v{place}" for place in range(10)),
    warnings=("look at *this*",),
)
ONES = np.ones(40, dtype=np.intp)
SERIES = Series("orders", FOUND.metric, tuple(f"v{n}" for n in range(40)), np.full(40, 0.02), ONES, ONES)
UNKNOWN = replace(FOUND, change_points=(), trend=None, detectable=None, outliers=(), name="")


def test_what_was_found_is_told_in_tidy_units() -> None:
    assert history_answer(FOUND) == "Slower by 5.0 % between v11 and v13, most likely at v12."
    facts = dict(history_facts(FOUND))
    assert facts["positions"] == "40, from v0 to v39; 80 runs, 2 machines"
    assert facts["trend"] == "gradually slower: +2.0 % over 39 positions since v0 (+1.0 % to +2.9 %, p = 0.002)"
    assert facts["detectable"] == "a step of 600 µs (3.0 %) in the middle is found with 80 % power"
    assert facts["outliers"].endswith("v7 and 2 more")
    table = history_table(FOUND)
    assert [column.heading for column in table.columns][2:4] == ["before (ms)", "after (ms)"]
    assert table.notes == ("Look at *this*.",)
    assert table.title == "Changes of latency of orders"
    assert history_table(replace(FOUND, name="orders latency")).title == "Changes of orders latency"


def test_a_trend_without_bounds_says_so() -> None:
    assert FOUND.trend is not None
    open_ = replace(FOUND, trend=replace(FOUND.trend, interval=(-math.inf, math.inf)))
    assert "(too few values for bounds, p = " in dict(history_facts(open_))["trend"]


def test_what_is_not_known_is_said() -> None:
    assert history_answer(UNKNOWN) == "No change of latency is shown (alpha 0.05)."
    facts = dict(history_facts(UNKNOWN))
    assert facts["trend"] == "too few values to decide"
    assert facts["detectable"] == "no step, however large, is found with 80 % power"
    assert "warning" in document_text(histories_document([SERIES], [UNKNOWN]))
    found = to_plain(histories_json([UNKNOWN]))
    assert found["trend"] is None
    assert found["detectable"] == {"estimate": None, "relative": None, "unit": "s", "power": 0.8}


def test_a_level_of_zero_has_no_relative_change() -> None:
    at_zero = replace(FOUND, change_points=(replace(CHANGE, before=0.0),), trend=replace(TREND, level=0.0))
    found = to_plain(histories_json([at_zero]))
    assert '"relative": null' in to_json(found)
    assert history_answer(at_zero) == "Slower by 21 ms between v11 and v13, most likely at v12."
    assert "390 µs over 39 positions" in dict(history_facts(at_zero))["trend"]


def test_a_series_over_all_configurations_does_not_count_beside_its_strata() -> None:
    whole, still = (replace(each, benchmark="sort", metric=FOUND.metric) for each in (FOUND, UNKNOWN))
    changed, other = (replace(whole, stratum=Assignment({"cache": setting})) for setting in ("on", "off"))
    quiet = [replace(still, stratum=Assignment({"cache": setting})) for setting in ("on", "off")]
    assert histories_answer([whole, changed, quiet[1]]) == "1 of 2 series was shown to change its level."
    assert histories_answer([whole, changed, other]) == "2 of 2 series were shown to change their level."
    none = "None of 2 series was shown to change its level"
    unfound = "in 2 of them no step, however large, is found with 80 % power"
    assert histories_answer([whole, *quiet]) == f"{none}; over all configurations only: latency of orders; {unfound}."
    assert histories_answer([still, *quiet]) == f"{none}; {unfound}."


def test_the_detectable_step_is_that_of_each_direction() -> None:
    few, many = (
        replace(UNKNOWN, detectable=step) for step in (DetectableStep(0.099, 0.0166, 0.02), DetectableStep(1, 1, 100.0))
    )
    shown = dict(history_facts(few))["detectable"]
    assert shown == "a rise of 99 ms (495.0 %) or a fall of 16.6 ms (83.0 %) in the middle is found with 80 % power"
    assert histories_answer([few, many]) == (
        "None of 2 series was shown to change its level; in each, a rise of 495.0 % and a fall of 83.0 % are "
        "found with 80 % power."
    )
    rising = replace(UNKNOWN, detectable=DetectableStep(0.03, None, 0.02))
    assert dict(history_facts(rising))["detectable"] == (
        "a rise of 30 ms (150.0 %) in the middle is found with 80 % power, but no fall, however large"
    )
    assert "; in each, a rise of 495.0 % is found with 80 % power." in histories_answer([few, rising])


def test_a_fall_of_positive_values_is_less_than_their_level() -> None:
    ones = np.ones(2, dtype=np.intp)
    noisy = Series(
        "n",
        Metric("rate", "1/s"),
        ("a", "b"),
        np.array([90.0, 110.0]),
        ones,
        3 * ones,
        errors=np.full(2, 60.0),
        freedom=4.0,
    )
    found = history(noisy).detectable
    assert found is not None
    assert found.fall is not None
    assert found.step > found.level > found.fall
    assert (found.level + found.step) * (found.level - found.fall) == pytest.approx(found.level**2)


def test_several_are_told_one_after_the_other() -> None:
    assert isinstance(to_plain(histories_json([FOUND, UNKNOWN]))["series"], list)
    document = histories_document([SERIES, SERIES], [FOUND, UNKNOWN])
    assert document.answer == "1 of 2 series was shown to change its level."
    text = document_text(document)
    assert history_answer(FOUND) in text
    assert history_answer(UNKNOWN) in text
    markdown = document_markdown(document)
    assert "### latency of orders" in markdown
    assert "Look at \\*this\\*." in markdown
