"""Provides ``hati`` and ``hati.python`` in a measured process, where Hati may not be installed."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from . import marks
from .trouble import Trouble

_DECORATORS = ("workload", "instance", "measured", "spl")
_FORMULAS = ("Performance", "SELF", "for_all", "exists")
_BINDING = "hati.python"
_OFFERED = {
    "marks": (
        *("Statement", "freshness", "instance", "kind", "measured"),
        *("reference", "resolve", "spl", "stated", "statements", "workload"),
    ),
    "controller": ("Once",),
    "performance": (*_FORMULAS, "Formula"),
}
"""The names of the binding, by the modules here that define them."""


class NotOfferedError(Trouble, ImportError):
    """Measured code imports a name that only an installed Hati has."""


class BindingFinder:
    """Finds the binding if no other finder does: it is the last one."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """The method that the import system calls."""
        loader: Any = BindingLoader()  # no base class: importlib.abc need not be loaded
        return ModuleSpec(name, loader, is_package=True) if name == _BINDING else None


class BindingLoader:
    """Loads a module with the names that measured code may use."""

    def create_module(self, _spec: ModuleSpec) -> None:
        """Let the import system create the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Give the module names that are loaded when they are used."""
        vars(module)["__getattr__"] = _of_binding


def offer() -> None:
    """Provide the names of ``hati`` that measured code uses, even if Hati is missing or older."""
    try:
        import hati
    except ImportError:
        hati = sys.modules["hati"] = ModuleType("hati", "The names that measured code uses.")
    if not hasattr(hati, "__path__"):
        hati.__path__ = []
    for name in _DECORATORS:
        if not hasattr(hati, name):
            setattr(hati, name, getattr(marks, name))
    if not hasattr(hati, "Performance"):
        hati.__getattr__ = _of_formulas
    sys.meta_path.append(BindingFinder())


def _of_formulas(name: str) -> object:
    """A name for formulas as objects, loaded when a module uses it."""
    if name in _FORMULAS:
        return _loaded("performance", name)
    raise AttributeError(f"hati has no {name!r} for measured code")


def _of_binding(name: str) -> object:
    for module, names in _OFFERED.items():
        if name in names:
            return _loaded(module, name)
    if name.startswith("_"):
        raise AttributeError(f"{_BINDING} has no {name!r} for measured code")
    raise NotOfferedError(f"{_BINDING} has no {name!r} for measured code: import it in the function that uses it")


def _loaded(module: str, name: str) -> object:
    from importlib import import_module

    return getattr(import_module(f"{__package__}.{module}"), name)
