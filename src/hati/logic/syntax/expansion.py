"""Quantifiers expanded: a formula as a tree of relations without variables."""

from __future__ import annotations

from functools import partial

from hati.formula import And, Connective, Or, Proposition, Source
from hati.logic.syntax.declarations import Declarations
from hati.logic.syntax.expression import Number, Variable
from hati.logic.syntax.formula import Domain, ParameterComparison, PerformanceFormula, Quantified, Quantifier, Relation
from hati.logic.syntax.grounding import Sets, Values, compared, grounded

MOST_ATOMS = 20_000
"""The greatest count of relations that a formula expands to."""

_LARGE = 10**12


def expand(
    formula: PerformanceFormula,
    declarations: Declarations | None = None,
    *,
    source: Source | None = None,
    most: int = MOST_ATOMS,
) -> PerformanceFormula:
    """The formula with a conjunction for each ``for all`` and a disjunction for each ``exists``.

    Variables and constants have their values, what has a value is computed, and comparisons of parameters are
    ``true`` or ``false``; names of methods and generators stay. Errors are placed in ``source`` where it is given.

    Raises:
        InputError: for more than ``most`` relations, an empty set, or arithmetic that has no value.

    >>> from hati.logic.syntax.file import parse_formula
    >>> str(expand(parse_formula("for all n in {1..3 step 2}: a(n) <= n * b(2 ** n)")))
    'a(1) <= 1 * b(2) & a(3) <= 3 * b(8)'
    """
    expansion = _Expansion(declarations or Declarations(), most)
    if source is None:
        return expansion.whole(formula)
    with source.placing():
        return expansion.whole(formula)


class _Expansion:
    """Expands one formula."""

    def __init__(self, declarations: Declarations, most: int) -> None:
        self._sets = Sets(declarations.sets)
        self._most = most
        self._constants = declarations.values

    def whole(self, formula: PerformanceFormula) -> PerformanceFormula:
        count = self._count(formula, self._constants)
        if count > self._most:
            told = str(count) if count < _LARGE else f"{min(count, 10**300):.0e}"
            raise formula.error(
                f"the formula has {told} relations at least, once its sets are expanded",
                fix=f"use {self._most} at most; smaller sets or larger steps",
            )
        return self._ground(formula, self._constants)

    def _count(self, formula: PerformanceFormula, values: Values) -> int:
        """The count of relations, exactly or some count above the greatest."""
        if not isinstance(formula, Quantified):
            parts = [part for part in formula.parts if isinstance(part, Proposition)]
            return sum(self._count(part, values) for part in parts) or 1
        if not self._dependent(formula):
            bound = dict.fromkeys(formula.variables, Number(1))
            return self._sets.size(formula.domain, values) * self._count(formula.body, {**values, **bound})
        count = 0
        for row in self._sets.rows(formula, values):
            count += self._count(formula.body, {**values, **dict(zip(formula.variables, row, strict=True))})
            if count > self._most:
                break
        return count

    def _dependent(self, formula: Quantified) -> bool:
        """Whether a set further inside depends on the variables."""
        domains = formula.body.find(Domain)
        used = {node.name for domain in domains for node in domain.find(Variable)}
        return bool(used.intersection(formula.variables))

    def _ground(self, formula: PerformanceFormula, values: Values) -> PerformanceFormula:
        if isinstance(formula, Connective):
            return formula.mapped(partial(self._ground, values=values))
        match formula:
            case Quantified():
                return self._instances(formula, values)
            case ParameterComparison():
                return compared(formula, values)
            case Relation():
                return grounded(formula, values)
        raise AssertionError(formula)

    def _instances(self, formula: Quantified, values: Values) -> PerformanceFormula:
        instances = tuple(
            self._ground(formula.body, {**values, **dict(zip(formula.variables, row, strict=True))})
            for row in self._sets.rows(formula, values)
        )
        if len(instances) == 1:
            return instances[0]
        joined = And if formula.quantifier is Quantifier.ALL else Or
        return joined(instances, offset=formula.offset)
