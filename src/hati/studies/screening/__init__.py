"""Screening: which options of a program matter, from a small designed experiment.

``choose_design`` finds the design that a budget buys, ``Pilot`` what a run costs. ``Screening`` plans the runs of a
two-level design and concludes: effects with their alias sets, which are important, a ranking, and what could have been
detected. ``ModelScreening`` does the same on any other space, by an optimal design and a fitted model.
"""

from hati.studies.screening.assignment import assigned
from hati.studies.screening.choice import Choice, choose
from hati.studies.screening.choosing import (
    AnyChoice,
    AnyScreening,
    choose_design,
    read_choice,
    repeated_from,
    screening,
)
from hati.studies.screening.conclusion import (
    DesignSummary,
    Detectable,
    Dispersion,
    Effect,
    ModelSummary,
    Noise,
    Options,
    Point,
    Scale,
    ScreeningConclusion,
    SettingEstimate,
)
from hati.studies.screening.forecast import (
    ALPHA,
    RELEVANT,
    expected_detectable,
    expected_detectable_deviations,
    precision,
)
from hati.studies.screening.model_choice import ModelChoice, choose_optimal
from hati.studies.screening.model_study import ModelScreening
from hati.studies.screening.option_summary import OptionSummary
from hati.studies.screening.pilot import Pilot, PilotResult, affordable_runs
from hati.studies.screening.planning import (
    PILOT_RUNS,
    RunNoise,
    Shortfall,
    check_detect,
    plan_design,
    power_expected,
    run_noise,
)
from hati.studies.screening.remedies import OF_TABLES, Remedies, of_table
from hati.studies.screening.study import Screening, study_id

__all__ = [
    "ALPHA",
    "OF_TABLES",
    "PILOT_RUNS",
    "RELEVANT",
    "AnyChoice",
    "AnyScreening",
    "Choice",
    "DesignSummary",
    "Detectable",
    "Dispersion",
    "Effect",
    "ModelChoice",
    "ModelScreening",
    "ModelSummary",
    "Noise",
    "OptionSummary",
    "Options",
    "Pilot",
    "PilotResult",
    "Point",
    "Remedies",
    "RunNoise",
    "Scale",
    "Screening",
    "ScreeningConclusion",
    "SettingEstimate",
    "Shortfall",
    "affordable_runs",
    "assigned",
    "check_detect",
    "choose",
    "choose_design",
    "choose_optimal",
    "expected_detectable",
    "expected_detectable_deviations",
    "of_table",
    "plan_design",
    "power_expected",
    "precision",
    "read_choice",
    "repeated_from",
    "run_noise",
    "screening",
    "study_id",
]
