"""Formulas judged together, and what keeps those open that more rounds would not decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec import Struct

from hati.core import Stopping, replace
from hati.formula import evaluate
from hati.logic import interpret, syntax
from hati.logic.interpret import Combined, FormulaVerdict, Judged
from hati.studies.assertion.atoms import Atom, Early, judge
from hati.studies.assertion.requirement import Requirement, Standard, methods_of
from hati.studies.assertion.samples import SampleCollector


class Answer(Struct, frozen=True):
    """A requirement's verdict among all, the verdict on it alone in ``judged``, and the relations behind it."""

    requirement: Requirement
    verdict: FormulaVerdict
    judged: Judged
    atoms: tuple[Atom, ...]


def answer(
    requirements: Sequence[Requirement],
    book: SampleCollector,
    standard: Standard,
    early: Early = interpret.decide_early,
) -> tuple[Answer, ...]:
    """Judge formulas; a relation that several have is judged once, by ``early`` where it is looked at after each round.

    By the default interpretation, of runs whose number was given, a formula of several relations is decided where the
    p-value of all of them suffices, and the alarms are those of all formulas together (Benjamini and Hochberg 1995).

    Raises:
        InputError: where something was not measured that a relation needs, placed where its formula is.
    """
    known: dict[str, Atom] = {}
    by = partial(judge, book=book, standard=standard, early=early)
    judged = [
        evaluate(each.ground, interpret.VERDICTS, partial(_known, each, book, by, known)) for each in requirements
    ]
    verdicts = [each.verdict for each in judged]
    if standard.interpretation is interpret.Interpretation.DEFAULT and standard.stopping is Stopping.FIXED:
        judged = [interpret.confirmed(each, standard.alpha) for each in judged]
        verdicts = interpret.alarms(judged, standard.alpha)
    return tuple(
        Answer(requirement, verdict, found, _atoms(found))
        for requirement, verdict, found in zip(requirements, verdicts, judged, strict=True)
    )


def _known(
    requirement: Requirement,
    book: SampleCollector,
    by: Callable[[syntax.Relation], Atom],
    known: dict[str, Atom],
    relation: syntax.Relation,
) -> Atom:
    resolved = requirement.resolved(relation, book)
    key = str(resolved)
    if key not in known:
        with requirement.placing(relation):
            known[key] = by(resolved)
    return replace(known[key], relation=relation)


def _atoms(judged: Judged) -> tuple[Atom, ...]:
    """The relations of a formula, each once."""
    return tuple({atom.text: atom for atom in _all_atoms(judged)}.values())


def _all_atoms(judged: Judged) -> Iterator[Atom]:
    if isinstance(judged, Atom):
        yield judged
    for part in judged.parts if isinstance(judged, Combined) else ():
        yield from _all_atoms(part)


def blockers(each: Answer, book: SampleCollector) -> tuple[str, ...]:
    """Why an inconclusive formula is not judged: methods that could not be measured, else relations that are unfit."""
    if each.verdict is not FormulaVerdict.INCONCLUSIVE:
        return ()
    unfit = tuple(f"{atom.text}: {atom.evidence.remark}" for atom in each.atoms if atom.unfit)
    return unmeasured(each.requirement, book) or unfit


def unmeasured(requirement: Requirement, book: SampleCollector) -> tuple[str, ...]:
    """The methods of a formula that failed, from the start or from some run on, and why."""
    relations = [requirement.resolved(relation, SampleCollector()) for relation in requirement.relations]
    methods = dict.fromkeys(method for relation in relations for method in methods_of(relation))
    return tuple(
        f"{method} could not be measured: {book.failed[method]}" for method in methods if method in book.failed
    )
