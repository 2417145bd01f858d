"""Assertion studies of formulas whose methods a fake engine measures by name."""

from __future__ import annotations

from hati.core import Benchmark, Budget, Configuration, Metric, Reader, ReaderKind, Revision, RevisionKind
from hati.formula import Source
from hati.logic.syntax import parse_formula
from hati.studies.assertion import Assertion, MeasuredMethod, Requirement, Standard, assertion_id, methods_of

TIME = Metric("time", "s")
"""The metric of the methods."""

TREE = Revision("tree", RevisionKind.DIRECTORY)

_WITHOUT_END = Budget(runs=1_000)


def requirement(text: str) -> Requirement:
    """A formula, as from the command line.

    Raises:
        FormulaError: for a text that is not a formula.
    """
    return Requirement(parse_formula(text), Source(text))


def point(name: str, revision: Revision = TREE) -> MeasuredMethod:
    """A method, with a benchmark of the same name."""
    benchmark = Benchmark(name, ("true",), Reader(ReaderKind.HATI), (TIME,))
    return MeasuredMethod(name, benchmark, revision, Configuration(), "time")


def study_of(*formulas: str, budget: Budget | None = None, standard: Standard | None = None) -> Assertion:
    """The study of formulas, by default with a budget of 1,000 runs and Hati's own standard.

    Raises:
        FormulaError: for a text that is not a formula.
    """
    asked, by = tuple(requirement(text) for text in formulas), standard or Standard()
    names = (name for each in asked for relation in each.relations for name in methods_of(relation))
    points = {name: point(name) for name in names}
    identity = assertion_id(asked, list(points.values()), by, "machine")
    return Assertion(identity, asked, points, by, budget or _WITHOUT_END)
