"""The Python binding: decorators, the recorder that a measured interpreter runs, and benchmarks of functions.

``python_benchmark`` makes an ordinary benchmark of a function, a workload and an instance generator: engines, stores,
revisions and kept builds treat it as any other. Names are loaded when they are asked for, so that a module which
imports the decorators loads nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hati.python.benchmark import CallKind, Collector, Recording, of_any_interpreter, python_benchmark
    from hati.python.injected.controller import Once
    from hati.python.injected.marks import (
        Statement,
        freshness,
        instance,
        kind,
        measured,
        reference,
        resolve,
        spl,
        stated,
        statements,
        workload,
    )
    from hati.python.injected.performance import SELF, Formula, Performance, exists, for_all
    from hati.python.injection import StatedFunction, has_statements, names_of, read_statements, recorder, unresolved
    from hati.python.interpreter import Environment, Interpreter, Network
    from hati.python.needs import declared, validate_installable
    from hati.python.sources import GeneratorError, PythonGenerator, PythonMethod, WorkingTree

__all__ = [
    "SELF",
    "CallKind",
    "Collector",
    "Environment",
    "Formula",
    "GeneratorError",
    "Interpreter",
    "Network",
    "Once",
    "Performance",
    "PythonGenerator",
    "PythonMethod",
    "Recording",
    "StatedFunction",
    "Statement",
    "WorkingTree",
    "declared",
    "exists",
    "for_all",
    "freshness",
    "has_statements",
    "instance",
    "kind",
    "measured",
    "names_of",
    "of_any_interpreter",
    "python_benchmark",
    "read_statements",
    "recorder",
    "reference",
    "resolve",
    "spl",
    "stated",
    "statements",
    "unresolved",
    "validate_installable",
    "workload",
]

_MODULES = {
    "benchmark": ("CallKind", "Collector", "Recording", "of_any_interpreter", "python_benchmark"),
    "injected.controller": ("Once",),
    "injected.marks": (
        *("Statement", "freshness", "instance", "kind", "measured"),
        *("reference", "resolve", "spl", "stated", "statements", "workload"),
    ),
    "injected.performance": ("SELF", "Formula", "Performance", "exists", "for_all"),
    "injection": ("StatedFunction", "has_statements", "names_of", "read_statements", "recorder", "unresolved"),
    "interpreter": ("Environment", "Interpreter", "Network"),
    "needs": ("declared", "validate_installable"),
    "sources": ("GeneratorError", "PythonGenerator", "PythonMethod", "WorkingTree"),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
