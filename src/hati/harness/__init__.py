"""Decisions about how to measure, without measuring: what was observed comes in, what to do about it comes out.

Which observations of a run are warm-up, counted or found; how many a run needs for a quantile; and how many runs with
how many observations each find a change at the least cost.
"""

from hati.harness.allocation import Aim, Allocation, Costs, allocation, best_observations, runs_for
from hati.harness.costs import costs_of
from hati.harness.observing import QuantilePrecision, Sufficiency, sufficiency
from hati.harness.samples import (
    RunPlan,
    SteadyRun,
    SufficientRun,
    run_plan,
    steady_runs,
    sufficient_runs,
)
from hati.harness.steady import TOLERANCE, State, Steadiness, steadiness
from hati.harness.warmup import leading, warmup

__all__ = [
    "TOLERANCE",
    "Aim",
    "Allocation",
    "Costs",
    "QuantilePrecision",
    "RunPlan",
    "State",
    "Steadiness",
    "SteadyRun",
    "Sufficiency",
    "SufficientRun",
    "allocation",
    "best_observations",
    "costs_of",
    "leading",
    "run_plan",
    "runs_for",
    "steadiness",
    "steady_runs",
    "sufficiency",
    "sufficient_runs",
    "warmup",
]
