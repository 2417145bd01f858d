"""What measurements say of relations between means, and of formulas of them: arrays in, verdicts out.

The default interpretation is three-valued, with the run as the unit; those that the SPL paper prints are beside it.
"""

from hati.logic.interpret.alarms import alarms
from hati.logic.interpret.anytime import decide_early, fewest_pairs, glance_early, pairs_to_decide
from hati.logic.interpret.connectives import (
    Combined,
    Connective,
    confirmed,
    conjunction,
    disjunction,
    exists,
    for_all,
    implication,
    negation,
)
from hati.logic.interpret.deciding import FEWEST_RUNS, decide
from hati.logic.interpret.evidence import Evidence, Judged, Scale
from hati.logic.interpret.interpretation import Interpretation, interpret
from hati.logic.interpret.judging import verdict_of
from hati.logic.interpret.measured import Measured
from hati.logic.interpret.printed import nonparametric, parametric, printed_level, welch
from hati.logic.interpret.relation import ALPHA, MARGIN, Limit, Relation, Sign
from hati.logic.interpret.unseen import fewest_alone
from hati.logic.interpret.verdict import Verdict

__all__ = [
    "ALPHA",
    "FEWEST_RUNS",
    "MARGIN",
    "Combined",
    "Connective",
    "Evidence",
    "Interpretation",
    "Judged",
    "Limit",
    "Measured",
    "Relation",
    "Scale",
    "Sign",
    "Verdict",
    "alarms",
    "confirmed",
    "conjunction",
    "decide",
    "decide_early",
    "disjunction",
    "exists",
    "fewest_alone",
    "fewest_pairs",
    "for_all",
    "glance_early",
    "implication",
    "interpret",
    "negation",
    "nonparametric",
    "pairs_to_decide",
    "parametric",
    "printed_level",
    "verdict_of",
    "welch",
]
