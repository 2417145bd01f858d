"""The core of all formula languages: trees of connectives over any atoms, their parser and printer.

A room with its own language defines its atoms and their notation. This room provides connectives, comparisons,
evaluation in Kleene's logic or any other algebra, places, and error messages.
"""

from hati.formula.algebra import KLEENE, SIMPLIFYING, Algebra, combined, evaluate
from hati.formula.language import Explanation, Grammar, Language, Unexpected, read_connective, start_of
from hati.formula.node import PLAIN, FormulaError, Node, Source, quoted, unquoted
from hati.formula.proposition import (
    SIGNS,
    WORDS,
    And,
    Comparator,
    ComparisonNode,
    Connective,
    Equivalent,
    Implies,
    Not,
    Notation,
    Or,
    Proposition,
    Truth,
)

__all__ = [
    "KLEENE",
    "PLAIN",
    "SIGNS",
    "SIMPLIFYING",
    "WORDS",
    "Algebra",
    "And",
    "Comparator",
    "ComparisonNode",
    "Connective",
    "Equivalent",
    "Explanation",
    "FormulaError",
    "Grammar",
    "Implies",
    "Language",
    "Node",
    "Not",
    "Notation",
    "Or",
    "Proposition",
    "Source",
    "Truth",
    "Unexpected",
    "combined",
    "evaluate",
    "quoted",
    "read_connective",
    "start_of",
    "unquoted",
]
