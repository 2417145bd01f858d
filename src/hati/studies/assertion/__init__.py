"""Whether stated requirements hold (the SPL paper): formulas, measurements, verdicts with their evidence."""

from hati.studies.assertion.atoms import Atom, check_relation, judge
from hati.studies.assertion.costs import Cost, costs_of
from hati.studies.assertion.expected_runs import ExpectedRuns, expected_rounds, expected_runs
from hati.studies.assertion.formulas import Answer, answer, blockers, unmeasured
from hati.studies.assertion.portability import CONFIDENCE, EDGES, KnownMachine, Portability, Ported, portability
from hati.studies.assertion.requirement import STAGE, MeasuredMethod, Requirement, Standard, methods_of
from hati.studies.assertion.samples import DefinedRun, Former, SampleCollector, SetAside, TakenRuns, taken_runs
from hati.studies.assertion.sides import asks_single_calls, run_means, side_of
from hati.studies.assertion.study import Assertion, Assured, assertion_id

__all__ = [
    "CONFIDENCE",
    "EDGES",
    "STAGE",
    "Answer",
    "Assertion",
    "Assured",
    "Atom",
    "Cost",
    "DefinedRun",
    "ExpectedRuns",
    "Former",
    "KnownMachine",
    "MeasuredMethod",
    "Portability",
    "Ported",
    "Requirement",
    "SampleCollector",
    "SetAside",
    "Standard",
    "TakenRuns",
    "answer",
    "asks_single_calls",
    "assertion_id",
    "blockers",
    "check_relation",
    "costs_of",
    "expected_rounds",
    "expected_runs",
    "judge",
    "methods_of",
    "portability",
    "run_means",
    "side_of",
    "taken_runs",
    "unmeasured",
]
