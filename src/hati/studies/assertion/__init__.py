"""Whether stated requirements hold (seed 004): formulas, what was measured, verdicts with their evidence."""

from hati.studies.assertion.atoms import Atom, judge
from hati.studies.assertion.book import Book
from hati.studies.assertion.formulas import Answer, Settled, answer, judged_formula
from hati.studies.assertion.requirement import Requirement
from hati.studies.assertion.standard import Standard

__all__ = ["Answer", "Atom", "Book", "Requirement", "Settled", "Standard", "answer", "judge", "judged_formula"]
