"""Failing combinations: a covering array, and a search around each failure for the fewest settings that fail."""

from hati.studies.failure_search.outcomes import (
    CombinationVerdict,
    FailingCombination,
    FailureConclusion,
    FailureRule,
    FailureTree,
    NearMiss,
    PassingCoverage,
    StoredTree,
    TreeBranch,
    UntracedFailure,
    failure_tree,
    parse_failing,
)
from hati.studies.failure_search.study import FailureSearch, failure_search_id

__all__ = [
    "CombinationVerdict",
    "FailingCombination",
    "FailureConclusion",
    "FailureRule",
    "FailureSearch",
    "FailureTree",
    "NearMiss",
    "PassingCoverage",
    "StoredTree",
    "TreeBranch",
    "UntracedFailure",
    "failure_search_id",
    "failure_tree",
    "parse_failing",
]
