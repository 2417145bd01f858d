from .study import EffectDrift as EffectDrift
from .study import EffectDriftStudy as EffectDriftStudy
from .study import MainEffectsModel as MainEffectsModel
from .study import OptionDrift as OptionDrift
from .study import drifts as drifts
from .study import effect_drift_id as effect_drift_id
from .study import fieller as fieller
