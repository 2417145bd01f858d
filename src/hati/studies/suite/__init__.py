"""Screening suites: the metric's distribution over a whole space, estimated from its important options' strata."""

from hati.studies.suite.conclusion import (
    FULL,
    RANDOM,
    Agreement,
    Box,
    SpaceMean,
    StratumEstimate,
    SuiteConclusion,
    SuiteScale,
)
from hati.studies.suite.study import LEVELS, MARGIN, SuitePlan, SuiteStudy, suite_id

__all__ = [
    "FULL",
    "LEVELS",
    "MARGIN",
    "RANDOM",
    "Agreement",
    "Box",
    "SpaceMean",
    "StratumEstimate",
    "SuiteConclusion",
    "SuitePlan",
    "SuiteScale",
    "SuiteStudy",
    "suite_id",
]
