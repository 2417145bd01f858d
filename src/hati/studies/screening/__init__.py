"""Screening: which options of a program matter, from a small designed experiment.

``choose`` finds the design that a budget buys, ``Pilot`` what a run costs, and ``Screening`` plans the design's runs
and concludes: effects with their alias sets, which are important, a ranking, and what could have been detected.
"""

from hati.studies.screening.choice import Choice, choose
from hati.studies.screening.conclusion import (
    DesignSummary,
    Detectable,
    Dispersion,
    Effect,
    Noise,
    Options,
    OptionSummary,
    Point,
    Scale,
    ScreeningConclusion,
)
from hati.studies.screening.forecast import ALPHA, RELEVANT, expected_detectable, expected_detectable_deviations
from hati.studies.screening.pilot import Pilot, PilotResult, affordable_runs
from hati.studies.screening.study import Screening, study_id

__all__ = [
    "ALPHA",
    "RELEVANT",
    "Choice",
    "DesignSummary",
    "Detectable",
    "Dispersion",
    "Effect",
    "Noise",
    "OptionSummary",
    "Options",
    "Pilot",
    "PilotResult",
    "Point",
    "Scale",
    "Screening",
    "ScreeningConclusion",
    "affordable_runs",
    "choose",
    "expected_detectable",
    "expected_detectable_deviations",
    "study_id",
]
