"""Formulas from text: one by itself."""

from __future__ import annotations

from collections.abc import Iterable

from hati.logic.syntax.declarations import Declarations
from hati.logic.syntax.formula import Formula
from hati.logic.syntax.parsing import parsed
from hati.logic.syntax.source import Source


def parse_formula(
    text: str,
    source: str = "formula",
    *,
    line: int = 1,
    declarations: Declarations | None = None,
    methods: Iterable[str] | None = None,
) -> Formula:
    """Read a formula such as ``for all n in {100, 1000}: new(n) <= 1.05 * old(n)``.

    ``source`` is what messages call the text, which begins on its ``line``. ``declarations`` are the names that it may
    use; ``methods`` the names of methods that there are beside: where they are given, any other name that is no Python
    object is refused.

    Raises:
        FormulaError: with line, column and what was expected there.

    >>> str(parse_formula("a<=(x:0.95*x,x:x) b"))
    '0.95 * a <= b'
    """
    from hati.logic.syntax.reading.context import Context  # late: they load Lark
    from hati.logic.syntax.reading.formulas import read_formula

    origin = Source(text, source, line)
    tree = parsed(origin, text, 0, "formula")
    known = None if methods is None else frozenset(methods)
    with origin.placing():
        return read_formula(Context(origin, 0, declarations or Declarations(), known), tree)
