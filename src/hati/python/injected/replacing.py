"""Replaces functions and classes of the working tree by those of the same names in the revision."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

from . import marks
from .trouble import Trouble

Replace = Callable[[ModuleType, ModuleType], None]
"""Puts objects of the revision's module (second argument) into the working tree's module (first argument)."""

_MOST = 100_000
_GENERATORS = ("workload", "instance")


def as_it_is(_module: ModuleType, _subject: ModuleType) -> None:
    """Replace nothing."""


def classes_replaced(module: ModuleType, subject: ModuleType) -> None:
    """Replace the classes that both define; functions and other objects stay those of the working tree."""
    for key, value in list(vars(module).items()):
        if isinstance(value, type) and value.__module__ == module.__name__ and hasattr(subject, key):
            setattr(module, key, getattr(subject, key))


def all_replaced(module: ModuleType, subject: ModuleType) -> None:
    """Replace all callables that both have, including results of ``lru_cache`` or ``partial``.

    Other objects that both have are replaced if they hold such a callable, as a table of functions does; numbers and
    texts stay those of the working tree.

    Raises:
        Trouble: if an object that only the working tree has, or a measuring function, holds a replaced callable.
    """
    both = {key: value for key, value in _own(module) if hasattr(subject, key) and not marks.kind(value)}
    old = {id(value): key for key, value in both.items() if callable(value) and value is not getattr(subject, key)}
    inner = {id(inside): key for key, value in both.items() if id(value) in old for inside in _wrapped(value)}
    for key, value in _own(module):
        held = _held(value, {**inner, **old}, module) if id(value) not in old else key
        if held and key in both:
            setattr(module, key, getattr(subject, key))
        elif held:
            raise Trouble(
                f"{key} of the working tree's {subject.__name__} holds {held} of the working tree, not of the "
                f"revision: call {held} by its name"
            )


def _own(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for key, value in list(vars(module).items()):
        if not (key.startswith("__") or isinstance(value, ModuleType) or marks.kind(value) in _GENERATORS):
            yield key, value


def _wrapped(value: Any) -> Iterator[Any]:
    """The functions that decorators have wrapped."""
    while hasattr(value, "__wrapped__"):
        value = value.__wrapped__
        yield value


def _held(value: Any, old: dict[int, str], module: ModuleType) -> str:
    """The name of the object in ``old`` that a value refers to, other than by a name in its module; empty if none."""
    seen = {id(value)}
    left = [value]
    while left and len(seen) < _MOST:
        for each in _parts(left.pop(), module):
            if id(each) in old:
                return old[id(each)]
            if id(each) not in seen:
                seen.add(id(each))
                left.append(each)
    return ""


def _parts(value: Any, module: ModuleType) -> list[Any]:
    """The objects that one refers to: not a function's globals, and none of modules and of other modules' classes."""
    if isinstance(value, FunctionType):
        return [*(value.__closure__ or ()), value.__defaults__, value.__kwdefaults__, *vars(value).values()]
    if isinstance(value, ModuleType) or (isinstance(value, type) and value.__module__ != module.__name__):
        return []
    return [part for part in gc.get_referents(value) if part is not vars(module)]
