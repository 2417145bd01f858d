"""Regressions: where the history of a metric changed, by how much, and whether it drifts.

A ``Series`` goes in, a ``HistoryConclusion`` comes out; ``histories`` corrects for the many series of a file.
"""

from hati.studies.regression.conclusion import (
    DetectableStep,
    Direction,
    Handover,
    HistoryConclusion,
    LevelChange,
    Recurring,
    Trend,
)
from hati.studies.regression.history import ALPHA, histories, history
from hati.studies.regression.series import (
    FEWEST_POSITIONS,
    Series,
    SeriesBridge,
    Tails,
    interleaved,
    run_errors,
    series_bridges,
)

__all__ = [
    "ALPHA",
    "FEWEST_POSITIONS",
    "DetectableStep",
    "Direction",
    "Handover",
    "HistoryConclusion",
    "LevelChange",
    "Recurring",
    "Series",
    "SeriesBridge",
    "Tails",
    "Trend",
    "histories",
    "history",
    "interleaved",
    "run_errors",
    "series_bridges",
]
