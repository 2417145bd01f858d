"""Effects at two revisions: which options matter more or less than they did, and by how much.

A screening's design is measured at both, in rounds of pairs. What an option does is estimated in each round at each
revision; whether that changed is tested on the differences of pairs.
"""

from hati.studies.effect_drift.conclusion import EffectDrift, OptionDrift
from hati.studies.effect_drift.study import EffectDriftStudy, effect_drift_id

__all__ = ["EffectDrift", "EffectDriftStudy", "OptionDrift", "effect_drift_id"]
