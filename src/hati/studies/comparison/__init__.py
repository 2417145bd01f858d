"""Two samples of each of many benchmarks: slower, faster, the same, or what would decide.

The run is the unit: observations of one run are not independent, and never pooled.
"""

from hati.studies.comparison.conclusion import Comparison, Comparisons, Side, Verdict
from hati.studies.comparison.deciding import ALPHA, MARGIN, Question, compare
from hati.studies.comparison.interference import interference_warnings
from hati.studies.comparison.matching import Pair, Unmatched, pairs
from hati.studies.comparison.statistic import MEAN, Statistic

__all__ = [
    "ALPHA",
    "MARGIN",
    "MEAN",
    "Comparison",
    "Comparisons",
    "Pair",
    "Question",
    "Side",
    "Statistic",
    "Unmatched",
    "Verdict",
    "compare",
    "interference_warnings",
    "pairs",
]
