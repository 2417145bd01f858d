from .study import Measurement as Measurement
from .study import MeasurementConclusion as MeasurementConclusion
from .study import Summary as Summary
from .study import measurement_id as measurement_id
