"""Two samples of each of many benchmarks: slower, faster, the same, or what would decide.

The run is the unit: observations of one run are not independent, and never pooled.
"""

from hati.studies.comparison.bootstrapping import with_bootstrap_intervals
from hati.studies.comparison.clusters import cluster_changes
from hati.studies.comparison.conclusion import (
    Change,
    ClusterChange,
    ClusterSide,
    Comparison,
    Comparisons,
    IntervalMethod,
    Side,
    Verdict,
)
from hati.studies.comparison.deciding import compare, sides_of
from hati.studies.comparison.decisions import Decision, Sides, decide, ratio_of, spread_of
from hati.studies.comparison.interference import interference_warnings
from hati.studies.comparison.matching import Pair, Unmatched, across, earlier_samples, pairs
from hati.studies.comparison.median_tests import with_median_tests
from hati.studies.comparison.question import ALPHA, MARGIN, Question
from hati.studies.comparison.statistic import MEAN, RunValues, Statistic, run_values

__all__ = [
    "ALPHA",
    "MARGIN",
    "MEAN",
    "Change",
    "ClusterChange",
    "ClusterSide",
    "Comparison",
    "Comparisons",
    "Decision",
    "IntervalMethod",
    "Pair",
    "Question",
    "RunValues",
    "Side",
    "Sides",
    "Statistic",
    "Unmatched",
    "Verdict",
    "across",
    "cluster_changes",
    "compare",
    "decide",
    "earlier_samples",
    "interference_warnings",
    "pairs",
    "ratio_of",
    "run_values",
    "sides_of",
    "spread_of",
    "with_bootstrap_intervals",
    "with_median_tests",
]
