"""Recommendations: the configuration to set, predicted from a screening and confirmed by fresh runs."""

from hati.studies.recommendation.comparison import CONFIDENCE, PairedChange, paired_change
from hati.studies.recommendation.conclusion import MetricChange, RecommendationConclusion, Recommended
from hati.studies.recommendation.findings import ChangeScale, Findings
from hati.studies.recommendation.planned import (
    FEWEST_PAIRS,
    MOST,
    MOST_PAIRS,
    Predicted,
    RecommendationPlan,
    plan_recommendation,
    recommendation_id,
)
from hati.studies.recommendation.prediction import Prediction, predict
from hati.studies.recommendation.study import STAGE, Recommendation

__all__ = [
    "CONFIDENCE",
    "FEWEST_PAIRS",
    "MOST",
    "MOST_PAIRS",
    "STAGE",
    "ChangeScale",
    "Findings",
    "MetricChange",
    "PairedChange",
    "Predicted",
    "Prediction",
    "Recommendation",
    "RecommendationConclusion",
    "RecommendationPlan",
    "Recommended",
    "paired_change",
    "plan_recommendation",
    "predict",
    "recommendation_id",
]
