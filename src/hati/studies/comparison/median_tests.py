"""The classical tests of run medians (Kalibera paper, 3.3 and Fig. 5) beside the verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from hati.core import replace
from hati.stats import two_sample_tests
from hati.studies.comparison.conclusion import Comparisons
from hati.studies.comparison.deciding import sides_of
from hati.studies.comparison.matching import Pair
from hati.studies.comparison.statistic import Statistic

_MEDIAN = Statistic(0.5)


def with_median_tests(told: Comparisons, found: Sequence[Pair]) -> Comparisons:
    """The same comparisons of those pairs, with the tests; they decide nothing and are not corrected for each other."""
    rows = []
    for row, pair in zip(told.rows, found, strict=True):
        before, after, _ = sides_of(pair, _MEDIAN)
        rows.append(replace(row, tests=two_sample_tests(before.values, after.values)))
    return replace(told, rows=tuple(rows))
