"""Decisions about how to measure, without measuring: what was observed comes in, what to do about it comes out.

Which observations of a run are warm-up, counted or found; how many a run needs for a quantile; how many runs with how
many observations each find a change at the least cost; which runs were disturbed; in which order pairs of runs are
made, and when to stop making them.
"""

from hati.harness.interference import disturbances
from hati.harness.runs import (
    Aim,
    Allocation,
    Costs,
    QuantilePrecision,
    RunPlan,
    SteadyRun,
    Sufficiency,
    SufficientRun,
    allocation,
    best_observations,
    costs_of,
    run_plan,
    runs_for,
    steady_runs,
    sufficiency,
    sufficient_runs,
)
from hati.harness.steady import TOLERANCE, State, Steadiness, leading, steadiness, warmup
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
