"""The simplest study: measure given configurations and summarise them by run."""

from hati.studies.measurement.conclusion import MeasurementConclusion, Summary
from hati.studies.measurement.study import Measurement, measurement_id

__all__ = ["Measurement", "MeasurementConclusion", "Summary", "measurement_id"]
