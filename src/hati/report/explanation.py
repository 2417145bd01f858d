"""How the verdict of a formula arose, in words."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from hati.core.wording import counted
from hati.logic.interpret import Interpretation, Sign, printed_level
from hati.logic.syntax import Comparator
from hati.report.assertion import estimate_text, interval_text, named_formula, undecided_text
from hati.report.changes import p_text
from hati.report.quantities import general
from hati.studies.assertion import Answer, Atom, Standard, methods_of


class Explained(Struct, frozen=True):
    """How the verdict of a formula arose: sentences on each of its relations by their texts, and on the whole."""

    relations: tuple[tuple[str, tuple[str, ...]], ...]
    whole: str


def explained(each: Answer, standard: Standard) -> Explained:
    """In words; ``standard`` is what each relation was judged by."""
    relations = tuple((f"{atom.text}: {atom.verdict}", tuple(_sentences(atom, standard))) for atom in each.atoms)
    whole = f"The formula by itself: {each.judged.verdict}; among all formulas of this call: {each.verdict}."
    return Explained(relations, whole)


def _sentences(atom: Atom, standard: Standard) -> Iterator[str]:
    found = atom.evidence
    sides = " and ".join(counted(size, "run") for size in found.runs if size) or "no runs"
    yield f"Estimate {estimate_text(atom)}, interval {interval_text(atom)}, from {sides}."
    if found.remembered:
        yield f"The variance is estimated with {counted(found.remembered, 'earlier run')} too."
    yield _probabilities(atom, standard)
    if sentence := undecided_text(atom):
        named = sentence.startswith(tuple(f"{method}{end}" for method in methods_of(atom.resolved) for end in ": "))
        yield sentence if named else f"{sentence[0].upper()}{sentence[1:]}"


def explanation(each: Answer, standard: Standard) -> str:
    """The same as text, with where the formula is written."""
    told = explained(each, standard)
    lines = [f"{each.requirement.place}: {named_formula(each)}", ""]
    for number, (relation, sentences) in enumerate(told.relations, start=1):
        lines += [f"{number}. {relation}", *(f"   {sentence}" for sentence in sentences)]
    return "\n".join([*lines, "", told.whole]) + "\n"


def _probabilities(atom: Atom, standard: Standard) -> str:
    holds, violated = p_text(atom.evidence.p_holds), p_text(atom.evidence.p_violated)
    if standard.interpretation is Interpretation.DEFAULT:
        return (
            f"Were it violated, what was seen would have a probability of {holds} at most; "
            f"were it to hold, of {violated}. One at {general(standard.alpha)} or below decides."
        )
    comparator = atom.relation.comparator
    level = general(printed_level(Sign.EQUAL if comparator is Comparator.EQUAL else Sign.AT_MOST, standard.alpha))
    if comparator in {Comparator.LESS, Comparator.MORE}:
        return (
            f"Were it violated, what was seen would have a probability of {holds}; {level} or below shows the relation."
        )
    return f"Were it to hold, what was seen would have a probability of {violated}; {level} or below rejects it."
