"""Screening: which options of a program matter, from a small designed experiment.

``choose_design`` finds the design that a budget buys, ``choose_followed`` with runs to refute what it finds, ``Pilot``
what a run costs. ``ModelScreening`` plans the runs of any design and concludes by a fitted model: effects, which are
important, a ranking, and what could have been detected.
``Screening`` does the same for full factorials and for the regular fractions that are asked for, with alias sets.
"""

from hati.studies.screening.assignment import assigned
from hati.studies.screening.choice import Choice, FractionRequest, asked_fraction, choose
from hati.studies.screening.choosing import (
    AnyChoice,
    AnyScreening,
    choose_design,
    choose_followed,
    followed,
    repeated_from,
    screening,
    with_reruns,
)
from hati.studies.screening.conclusion import (
    ConditionalEffect,
    DesignSummary,
    Detectable,
    Dispersion,
    DominatingOption,
    Effect,
    FlipEvidence,
    FlipVerdict,
    FollowUpSummary,
    LackOfFit,
    Losses,
    ModelSummary,
    Noise,
    Options,
    Point,
    RobustFit,
    RunCounts,
    Scale,
    ScreeningConclusion,
    SettingEstimate,
    SuspectRun,
    Verdict,
)
from hati.studies.screening.flip_stages import is_flip
from hati.studies.screening.flips import Ends, Flip, Pair, flipped, mean_interval
from hati.studies.screening.follow_up import runs_aside
from hati.studies.screening.forecast import (
    ALPHA,
    RELEVANT,
    expected_detectable,
    expected_detectable_deviations,
    precision,
)
from hati.studies.screening.isolation import NOTHING_ISOLATED, Isolated, Isolation
from hati.studies.screening.model_choice import ModelChoice, choose_optimal, partial_choice
from hati.studies.screening.model_study import ModelScreening
from hati.studies.screening.option_summary import OptionSummary
from hati.studies.screening.outlook import Outlook, first_check, is_checked, outlook, promised
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
from hati.studies.screening.stored_choice import isolated_of, metric_of, read_choice, stored_choice
from hati.studies.screening.study import Screening, study_id

__all__ = [
    "ALPHA",
    "NOTHING_ISOLATED",
    "OF_TABLES",
    "PILOT_RUNS",
    "RELEVANT",
    "AnyChoice",
    "AnyScreening",
    "Choice",
    "ConditionalEffect",
    "DesignSummary",
    "Detectable",
    "Dispersion",
    "DominatingOption",
    "Effect",
    "Ends",
    "Flip",
    "FlipEvidence",
    "FlipVerdict",
    "FollowUpSummary",
    "FractionRequest",
    "Isolated",
    "Isolation",
    "LackOfFit",
    "Losses",
    "ModelChoice",
    "ModelScreening",
    "ModelSummary",
    "Noise",
    "OptionSummary",
    "Options",
    "Outlook",
    "Pair",
    "Pilot",
    "PilotResult",
    "Point",
    "Remedies",
    "RobustFit",
    "RunCounts",
    "RunNoise",
    "Scale",
    "Screening",
    "ScreeningConclusion",
    "SettingEstimate",
    "Shortfall",
    "SuspectRun",
    "Verdict",
    "affordable_runs",
    "asked_fraction",
    "assigned",
    "check_detect",
    "choose",
    "choose_design",
    "choose_followed",
    "choose_optimal",
    "expected_detectable",
    "expected_detectable_deviations",
    "first_check",
    "flipped",
    "followed",
    "is_checked",
    "is_flip",
    "isolated_of",
    "mean_interval",
    "metric_of",
    "of_table",
    "outlook",
    "partial_choice",
    "plan_design",
    "power_expected",
    "precision",
    "promised",
    "read_choice",
    "repeated_from",
    "run_noise",
    "runs_aside",
    "screening",
    "stored_choice",
    "study_id",
    "with_reruns",
]
