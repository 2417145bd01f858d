"""What keeps formulas open that more rounds would not decide."""

from __future__ import annotations

from hati.logic.interpret import Verdict
from hati.studies.assertion.book import Book
from hati.studies.assertion.formulas import Answer
from hati.studies.assertion.requirement import Requirement, methods_of


def hindrances(each: Answer, book: Book) -> tuple[str, ...]:
    """Why an inconclusive formula is not judged: methods that could not be measured, else relations that are unfit."""
    if each.verdict is not Verdict.INCONCLUSIVE:
        return ()
    unfit = tuple(f"{atom.text}: {atom.evidence.remark}" for atom in each.atoms if atom.unfit)
    return unmeasured(each.requirement, book) or unfit


def unmeasured(requirement: Requirement, book: Book) -> tuple[str, ...]:
    """The methods of a formula that failed, from the start or from some run on, and why."""
    relations = [requirement.resolved(relation, Book()) for relation in requirement.ground.relations]
    methods = dict.fromkeys(method for relation in relations for method in methods_of(relation))
    return tuple(
        f"{method} could not be measured: {book.failed[method]}" for method in methods if method in book.failed
    )
