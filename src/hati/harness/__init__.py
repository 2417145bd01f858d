"""Decisions on how to measure, without measuring: observations in, decisions out.

They cover warm-up, the observations that a quantile needs, the cheapest numbers of runs and observations that find a
change, disturbed runs, the order of paired runs, and when to stop.
"""

from hati.harness.interference import disturbances
from hati.harness.runs import (
    TOLERANCE,
    Aim,
    Allocation,
    Costs,
    QuantilePrecision,
    RunPlan,
    State,
    Steadiness,
    SteadyRun,
    Sufficiency,
    SufficientRun,
    allocation,
    best_observations,
    costs_of,
    leading,
    run_plan,
    runs_for,
    steadiness,
    steady_runs,
    sufficiency,
    sufficient_runs,
    warmup,
)
from hati.harness.stopping import RULES, AnytimeValid, FixedSize, StoppingRule, first_of_pair

__all__ = [
    "RULES",
    "TOLERANCE",
    "Aim",
    "Allocation",
    "AnytimeValid",
    "Costs",
    "FixedSize",
    "QuantilePrecision",
    "RunPlan",
    "State",
    "Steadiness",
    "SteadyRun",
    "StoppingRule",
    "Sufficiency",
    "SufficientRun",
    "allocation",
    "best_observations",
    "costs_of",
    "disturbances",
    "first_of_pair",
    "leading",
    "run_plan",
    "runs_for",
    "steadiness",
    "steady_runs",
    "sufficiency",
    "sufficient_runs",
    "warmup",
]
