"""When important options are due to be determined again, and what that changed (RES paper, step 6).

``due`` compares the events since the last screening with a ``Policy``; ``residual_shift`` tests whether the model of
a screening still predicts the measurements; ``effect_changes`` compares the effects of two screenings.
"""

from hati.studies.recalibration.changes import EffectChange, EffectChanges, EffectStatus, effect_changes
from hati.studies.recalibration.deciding import (
    TOLERANCE,
    Policy,
    Reason,
    Recalibration,
    RecalibrationCondition,
    ResidualShift,
    Since,
    due,
    residual_shift,
)
from hati.studies.recalibration.prediction import MainEffectPrediction, Prior, earlier_space, values_of

__all__ = [
    "TOLERANCE",
    "EffectChange",
    "EffectChanges",
    "EffectStatus",
    "MainEffectPrediction",
    "Policy",
    "Prior",
    "Reason",
    "Recalibration",
    "RecalibrationCondition",
    "ResidualShift",
    "Since",
    "due",
    "earlier_space",
    "effect_changes",
    "residual_shift",
    "values_of",
]
