"""Candidates that are not recommended: those with the same reason and no figure of their own are one row."""

from __future__ import annotations

from hati.core import Better, Configuration, Metric
from hati.studies.recommendation import LeaveReason, LeftOut, RecommendationConclusion
from hati.studies.recommendation.document import left_out_table


def conclusion(*left_out: LeftOut) -> RecommendationConclusion:
    return RecommendationConclusion(
        study="recommendation",
        screening="screening",
        subject="s",
        metric=Metric("time", "s", Better.LOWER),
        baseline=Configuration({}),
        recommended=(),
        looked_up=False,
        pairs=0,
        planned=0,
        done=0,
        failed=0,
        failures=(),
        seconds=0.0,
        warnings=(),
        left_out=left_out,
    )


def test_candidates_without_figures_are_one_row_for_each_reason() -> None:
    table = left_out_table(
        conclusion(
            LeftOut((("a", "on"),), LeaveReason.RULED_OUT),
            LeftOut((("b", "on"),), LeaveReason.NOT_TRIED),
            LeftOut((("c", "on"),), LeaveReason.NO_GAIN, 0.01, (-0.02, 0.04), 4),
            LeftOut((("d", "on"),), LeaveReason.NO_GAIN, 0.0, (-0.02, 0.02), 4),
            LeftOut((("e", "on"), ("f", 2)), LeaveReason.NOT_TRIED),
        )
    )
    assert table is not None
    assert [(row[0], row[1], row[3]) for row in table.rows] == [
        ("a=on", "ruled out by `recommend` in hati.toml", None),
        ("b=on, e=on f=2", "not tried, for lack of runs or of a predicted gain", None),
        ("c=on", "no gain shown", 4),
        ("d=on", "no gain shown", 4),
    ]


def test_without_candidates_there_is_no_table() -> None:
    assert left_out_table(conclusion()) is None
