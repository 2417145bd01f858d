"""What of a benchmark is the same on machines with other interpreters."""

from __future__ import annotations

import json

from hati.core import canonical_json

_OWN = ("version=", "packages=")
_RECORDER = "recorder.py"


def of_any_interpreter(definition: str) -> str:
    """A definition without the interpreter's version and what is installed, where it is of a Python function.

    Else, and where it is empty, the definition as it is.
    """
    if not definition:
        return definition
    known = json.loads(definition)
    if not any(path == _RECORDER for path, _ in known["files"]):
        return definition
    without = {key: [word for word in known[key] or () if not word.startswith(_OWN)] for key in ("command", "build")}
    return canonical_json({**known, **without})
