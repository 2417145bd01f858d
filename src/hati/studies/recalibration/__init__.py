"""When important options are due to be determined again, and what that changed (RES paper, step 6).

``due`` holds what happened since the last screening against a ``Policy``; ``residual_shift`` tests whether the model of
a screening still predicts what is measured; ``effect_changes`` compares the effects of two screenings.
"""

from hati.studies.recalibration.bygone import bygone_space
from hati.studies.recalibration.changes import Change, EffectChange, EffectChanges, effect_changes
from hati.studies.recalibration.deciding import Condition, Reason, Recalibration, Since, due
from hati.studies.recalibration.measured import values_of
from hati.studies.recalibration.policy import TOLERANCE, Policy
from hati.studies.recalibration.prediction import Prediction
from hati.studies.recalibration.prior import Prior
from hati.studies.recalibration.residuals import ResidualShift, residual_shift

__all__ = [
    "TOLERANCE",
    "Change",
    "Condition",
    "EffectChange",
    "EffectChanges",
    "Policy",
    "Prediction",
    "Prior",
    "Reason",
    "Recalibration",
    "ResidualShift",
    "Since",
    "bygone_space",
    "due",
    "effect_changes",
    "residual_shift",
    "values_of",
]
