"""Whether stated requirements hold (the SPL paper): formulas, measurements, verdicts with their evidence."""

from hati.studies.assertion.atoms import (
    Answer,
    Atom,
    answer,
    asks_single_calls,
    blockers,
    check_relation,
    judge,
    run_means,
    side_of,
    unmeasured,
)
from hati.studies.assertion.portability import CONFIDENCE, EDGES, KnownMachine, Portability, Ported, portability
from hati.studies.assertion.requirement import STAGE, Cost, MeasuredMethod, Requirement, Standard, costs_of, methods_of
from hati.studies.assertion.samples import DefinedRun, Former, SampleCollector, SetAside, TakenRuns, taken_runs
from hati.studies.assertion.study import Assertion, Assured, ExpectedRuns, assertion_id, expected_rounds, expected_runs

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
