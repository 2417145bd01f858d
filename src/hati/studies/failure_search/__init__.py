"""Failing combinations: a covering array, and a search around each failure for the fewest settings that fail."""

from hati.studies.failure_search.outcomes import (
    CombinationVerdict,
    FailingCombination,
    FailureConclusion,
    FailureTree,
    PassingCoverage,
    StoredTree,
    failure_tree,
    parse_failing,
)
from hati.studies.failure_search.study import FailureSearch, failure_search_id

__all__ = [
    "CombinationVerdict",
    "FailingCombination",
    "FailureConclusion",
    "FailureSearch",
    "FailureTree",
    "PassingCoverage",
    "StoredTree",
    "failure_search_id",
    "failure_tree",
    "parse_failing",
]
