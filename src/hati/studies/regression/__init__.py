"""Regressions: where the history of a metric changed, by how much, and whether it creeps.

A ``Series`` goes in, a ``HistoryConclusion`` comes out; ``histories`` corrects for the many series of a file.
"""

from hati.studies.regression.conclusion import Detectable, Direction, HistoryConclusion, LevelChange, Trend
from hati.studies.regression.history import ALPHA, histories, history
from hati.studies.regression.series import Series

__all__ = [
    "ALPHA",
    "Detectable",
    "Direction",
    "HistoryConclusion",
    "LevelChange",
    "Series",
    "Trend",
    "histories",
    "history",
]
