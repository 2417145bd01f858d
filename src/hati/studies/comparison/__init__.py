"""Two samples of each of many benchmarks: slower, faster, the same, or what would decide.

The run is the unit: observations of one run are not independent, and never pooled.
"""

from hati.studies.comparison.bootstrapping import with_bootstrap_intervals
from hati.studies.comparison.choosing import (
    CANDIDATES,
    VERSION,
    Basis,
    StatisticChoice,
    StatisticChoices,
    VarianceRatios,
    candidate_values,
    choose_for_each,
    choose_statistic,
    choose_statistics,
    combined_ratios,
    variance_ratios,
)
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
    WarmUp,
)
from hati.studies.comparison.deciding import Compared, compare, sides_of
from hati.studies.comparison.decisions import (
    DIRECTION,
    TAIL_PART,
    Decision,
    MeanSides,
    Sides,
    decide,
    ratio_of,
    spread_of,
)
from hati.studies.comparison.interference import interference_warnings
from hati.studies.comparison.matching import Pair, Unmatched, across, earlier_samples, pairs
from hati.studies.comparison.median_tests import with_median_tests
from hati.studies.comparison.question import ALPHA, MARGIN, Question
from hati.studies.comparison.sessions import machine_warnings, session_warnings
from hati.studies.comparison.statistic import (
    AUTO,
    MEAN,
    MEDIAN,
    TRIMMED,
    Automatic,
    RunValues,
    Statistic,
    parse_statistic,
    run_values,
)
from hati.studies.comparison.warm_up import SteadyPair, steady_pair, with_warm_up, without_warm_up

__all__ = [
    "ALPHA",
    "AUTO",
    "CANDIDATES",
    "DIRECTION",
    "MARGIN",
    "MEAN",
    "MEDIAN",
    "TAIL_PART",
    "TRIMMED",
    "VERSION",
    "Automatic",
    "Basis",
    "Change",
    "ClusterChange",
    "ClusterSide",
    "Compared",
    "Comparison",
    "Comparisons",
    "Decision",
    "IntervalMethod",
    "MeanSides",
    "Pair",
    "Question",
    "RunValues",
    "Side",
    "Sides",
    "Statistic",
    "StatisticChoice",
    "StatisticChoices",
    "SteadyPair",
    "Unmatched",
    "VarianceRatios",
    "Verdict",
    "WarmUp",
    "across",
    "candidate_values",
    "choose_for_each",
    "choose_statistic",
    "choose_statistics",
    "cluster_changes",
    "combined_ratios",
    "compare",
    "decide",
    "earlier_samples",
    "interference_warnings",
    "machine_warnings",
    "pairs",
    "parse_statistic",
    "ratio_of",
    "run_values",
    "session_warnings",
    "sides_of",
    "spread_of",
    "steady_pair",
    "variance_ratios",
    "with_bootstrap_intervals",
    "with_median_tests",
    "with_warm_up",
    "without_warm_up",
]
