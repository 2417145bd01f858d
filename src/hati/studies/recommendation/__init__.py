"""Recommendations: the settings to change, predicted from a screening, followed up, and confirmed by fresh runs."""

from hati.studies.recommendation.candidates import Allowed, Candidate, ChangeScale, Findings, candidates
from hati.studies.recommendation.conclusion import (
    FollowedUp,
    KeepRule,
    KeptMetric,
    LeaveReason,
    LeftOut,
    MetricChange,
    RecommendationConclusion,
    Recommended,
    SettingGain,
    parse_keep,
)
from hati.studies.recommendation.judging import (
    CONFIDENCE,
    FOLLOW_UP,
    STAGE,
    PairedChange,
    paired_change,
    pooled_changes,
)
from hati.studies.recommendation.planned import (
    FEWEST_BLOCKS,
    FEWEST_PAIRS,
    MOST_PAIRS,
    RULES_VERSION,
    Predicted,
    RecommendationPlan,
    plan_recommendation,
    recommendation_id,
)
from hati.studies.recommendation.prediction import Prediction, predict
from hati.studies.recommendation.study import Recommendation

__all__ = [
    "CONFIDENCE",
    "FEWEST_BLOCKS",
    "FEWEST_PAIRS",
    "FOLLOW_UP",
    "MOST_PAIRS",
    "RULES_VERSION",
    "STAGE",
    "Allowed",
    "Candidate",
    "ChangeScale",
    "Findings",
    "FollowedUp",
    "KeepRule",
    "KeptMetric",
    "LeaveReason",
    "LeftOut",
    "MetricChange",
    "PairedChange",
    "Predicted",
    "Prediction",
    "Recommendation",
    "RecommendationConclusion",
    "RecommendationPlan",
    "Recommended",
    "SettingGain",
    "candidates",
    "paired_change",
    "parse_keep",
    "plan_recommendation",
    "pooled_changes",
    "predict",
    "recommendation_id",
]
