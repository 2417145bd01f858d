"""The statements in a module, for readers that do not import it."""

from __future__ import annotations

import json
import re
from types import ModuleType

from . import marks
from .trouble import Trouble

_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def as_json(module: ModuleType) -> str:
    """The module's ``statements`` as JSON, with the lines of statements on functions that are ``unnamed``.

    A statement has the function, its formulas and aliases, file and line, and the references of names in formulas.

    Raises:
        Trouble: for a statement on a function that cannot be imported by its name.
    """
    found = []
    for function in marks.stated(module):
        try:
            method = marks.reference(function)
        except TypeError as error:
            raise Trouble(str(error)) from None
        for formulas, aliases, file, line in marks.statements(function):
            names = {name for text in (*formulas, *aliases.values()) for name in _NAME.findall(text)}
            known = {name: marks.resolve(name, function) for name in sorted(names)}
            seen = {name: method for name, method in known.items() if method}
            found.append(
                {"method": method, "formulas": formulas, "aliases": aliases, "known": seen, "file": file, "line": line}
            )
    return json.dumps({"statements": found, "unnamed": marks.unnamed(module)})
