"""Validation: whether a screening's assumptions hold, at the least cost.

``Validation`` finds the models that a screening's runs cannot distinguish, plans the few runs that discriminate them
best, and concludes which model is left, or that it is undecided. ``Augmenting`` is the dearer way: it estimates
important effects apart from their aliases, or all effects up to an order. ``Confirming`` is for screenings by a model:
whether it predicts configurations that it has not seen, and whether its effects hold with these.
"""

from hati.studies.validation.augmenting import Augmenting
from hati.studies.validation.conclusion import (
    Assumption,
    FollowUpRound,
    Mode,
    PredictionCheck,
    Result,
    RivalModel,
    RunsNeeded,
    ValidatedEffect,
    ValidationConclusion,
    ValidationOutcome,
    of_share,
)
from hati.studies.validation.confirming import Confirming
from hati.studies.validation.screened import Runs, Screened, ScreenedSize, ValueScale, screened_runs
from hati.studies.validation.study import Validation
from hati.studies.validation.validation_base import MOST_RUNS, validation_id

__all__ = [
    "MOST_RUNS",
    "Assumption",
    "Augmenting",
    "Confirming",
    "FollowUpRound",
    "Mode",
    "PredictionCheck",
    "Result",
    "RivalModel",
    "Runs",
    "RunsNeeded",
    "Screened",
    "ScreenedSize",
    "ValidatedEffect",
    "Validation",
    "ValidationConclusion",
    "ValidationOutcome",
    "ValueScale",
    "of_share",
    "screened_runs",
    "validation_id",
]
