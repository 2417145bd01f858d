"""The revision's functions and classes in the place of those of the same names that the working tree defines."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

from . import marks
from .trouble import Trouble

Replace = Callable[[ModuleType, ModuleType], None]
"""Puts what a revision's module has (the second) into the working tree's (the first)."""

_MOST = 100_000
_GENERATORS = ("workload", "instance")


def as_it_is(_module: ModuleType, _subject: ModuleType) -> None:
    """Replace nothing."""


def classes_replaced(module: ModuleType, subject: ModuleType) -> None:
    """Replace the classes that both define: functions, and what they make inputs of, stay the working tree's."""
    for key, value in list(vars(module).items()):
        if isinstance(value, type) and value.__module__ == module.__name__ and hasattr(subject, key):
            setattr(module, key, getattr(subject, key))


def all_replaced(module: ModuleType, subject: ModuleType) -> None:
    """Replace all that both have and that can be called, however it was made, as by ``lru_cache`` or ``partial``.

    What else both have is replaced where it holds something of the kind, as a table of functions does; numbers and
    texts stay the working tree's.

    Raises:
        Trouble: where something that the revision does not have, or that measures, holds what it has.
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
                f"{key} of the working tree's {subject.__name__} holds {held} as it is there, not the revision's: "
                f"name {held} where it is called"
            )


def _own(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for key, value in list(vars(module).items()):
        if not (key.startswith("__") or isinstance(value, ModuleType) or marks.kind(value) in _GENERATORS):
            yield key, value


def _wrapped(value: Any) -> Iterator[Any]:
    """What decorators have put something around."""
    while hasattr(value, "__wrapped__"):
        value = value.__wrapped__
        yield value


def _held(value: Any, old: dict[int, str], module: ModuleType) -> str:
    """What of the working tree's own a value refers to, by itself and not by a name of its module; or nothing."""
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
    """What an object is made of: of functions all but what they find by name, of modules and foreign classes none."""
    if isinstance(value, FunctionType):
        return [*(value.__closure__ or ()), value.__defaults__, value.__kwdefaults__, *vars(value).values()]
    if isinstance(value, ModuleType) or (isinstance(value, type) and value.__module__ != module.__name__):
        return []
    return [part for part in gc.get_referents(value) if part is not vars(module)]
