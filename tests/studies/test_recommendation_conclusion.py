"""What is called confirmed."""

from __future__ import annotations

import math

import pytest

from hati.core import Better, Configuration, Metric
from hati.document.document import Shown
from hati.document.publishing import publish
from hati.render import to_plain
from hati.studies.recommendation.conclusion import MetricChange, RecommendationConclusion, Recommended
from hati.studies.recommendation.document import (
    RecommendationJson,
    recommendation_answer,
    recommendation_part,
    recommendation_table,
)

BELOW, AROUND, ABOVE, TOUCHING = (-0.2, -0.1), (-0.1, 0.1), (0.1, 0.2), (-0.1, 0.0)


@pytest.mark.parametrize(
    ("better", "interval", "confirmed"),
    [
        (Better.LOWER, BELOW, True),
        (Better.LOWER, AROUND, False),
        (Better.LOWER, ABOVE, False),
        (Better.LOWER, TOUCHING, False),
        (Better.HIGHER, BELOW, False),
        (Better.HIGHER, AROUND, False),
        (Better.HIGHER, ABOVE, True),
        (Better.HIGHER, TOUCHING, False),
        (Better.LOWER, None, False),
        (Better.HIGHER, None, False),
    ],
)
def test_confirmed_is_an_interval_wholly_on_the_good_side(
    better: Better, interval: tuple[float, float] | None, confirmed: bool
) -> None:
    change = MetricChange(Metric("m", "s", better), None, None, 1.0, 1.0, 0.0, interval, pairs=5)
    assert change.confirmed is confirmed


@pytest.mark.parametrize(
    ("better", "sentence", "verdict"),
    [
        (Better.LOWER, "Set a=on? It is worse: m (the default's mean is 0).", "worse"),
        (
            Better.HIGHER,
            "Set a=on: m is better than by default (the default's mean is 0), in 5 pairs of fresh, interleaved runs.",
            "better",
        ),
    ],
)
def test_a_change_from_zero_has_a_verdict_and_no_percentage(better: Better, sentence: str, verdict: str) -> None:
    metric = Metric("m", "s", better)
    change = MetricChange(metric, None, None, 1.0, 0.0, math.inf, (math.inf, math.inf), pairs=5)
    one = Recommended(Configuration({"a": "on"}), (("a", "on"),), "m", (change,), (), ())
    start = Configuration({"a": "off"})
    found = RecommendationConclusion("r", "s", "x", metric, start, (one,), False, 5, 10, 10, 0, (), 1.0, ())
    assert recommendation_answer(found) == sentence
    (row,) = recommendation_table(found).rows
    assert row[3:] == (Shown("the default's mean is 0", None), None, verdict)
    (shown,) = to_plain(publish(found, RecommendationJson))["configurations"]
    assert (shown["change"], shown["interval"], shown["verdict"]) == (None, None, verdict)


def test_where_nothing_is_better_there_is_one_sentence_and_no_empty_table() -> None:
    start = Configuration({"a": "off"})
    metric = Metric("m", "s", Better.LOWER)
    found = RecommendationConclusion("r", "s", "x", metric, start, (), False, 5, 10, 10, 0, (), 1.0, ())
    assert recommendation_answer(found).count("Nothing to set") == 1
    assert recommendation_part(found) is None


@pytest.mark.parametrize(
    ("change", "interval", "remaining"),
    [
        (0.1, (-0.1, 0.3), "about 18 more pairs would decide, if the change stays as it is"),
        (-0.1, (-0.3, 0.1), "no setting is shown to be better"),
    ],
)
def test_what_is_not_confirmed_says_what_would_decide(
    change: float, interval: tuple[float, float], remaining: str
) -> None:
    metric = Metric("m", "1/s", Better.HIGHER)
    found = MetricChange(metric, None, None, 1.0, 1.0, change, interval, pairs=5)
    one = Recommended(Configuration({"a": "on"}), (("a", "on"),), "m", (found,), (), ())
    start = Configuration({"a": "off"})
    whole = RecommendationConclusion("r", "s", "x", metric, start, (one,), False, 5, 10, 10, 0, (), 1.0, ())
    assert recommendation_answer(whole).endswith(f"; {remaining}.")
