"""Verdicts on relations between means, and on formulas of them: arrays in, verdicts out.

The default interpretation is three-valued, with the run as the unit; the SPL paper's interpretations follow it.
"""

from hati.logic.interpret.anytime import decide_early, fewest_pairs, glance_early, pairs_to_decide
from hati.logic.interpret.contrast import fewest_alone, verdict_of
from hati.logic.interpret.interpretation import (
    FEWEST_RUNS,
    Interpretation,
    decide,
    interpret,
    nonparametric,
    parametric,
    printed_level,
    welch,
)
from hati.logic.interpret.relation import (
    ALPHA,
    MARGIN,
    VERDICTS,
    AskedRelation,
    Combined,
    EstimateScale,
    FormulaVerdict,
    Judged,
    Limit,
    MeasuredSample,
    RelationEvidence,
    SettledFormula,
    alarms,
    confirmed,
)

__all__ = [
    "ALPHA",
    "FEWEST_RUNS",
    "MARGIN",
    "VERDICTS",
    "AskedRelation",
    "Combined",
    "EstimateScale",
    "FormulaVerdict",
    "Interpretation",
    "Judged",
    "Limit",
    "MeasuredSample",
    "RelationEvidence",
    "SettledFormula",
    "alarms",
    "confirmed",
    "decide",
    "decide_early",
    "fewest_alone",
    "fewest_pairs",
    "glance_early",
    "interpret",
    "nonparametric",
    "pairs_to_decide",
    "parametric",
    "printed_level",
    "verdict_of",
    "welch",
]
