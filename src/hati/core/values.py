"""Settings, immutable assignments of settings to names, values from JSON, changed copies, and reproducible randomness.

Every generator comes from a seed and a purpose.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Callable, ItemsView, Iterator, Mapping
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct, structs

from hati.core.errors import InputError

if TYPE_CHECKING:
    import numpy as np


type_names = {bool: "boolean", int: "integer", float: "real", str: "text"}

Setting = bool | int | float | str
"""One value of an option: TOML's boolean, integer, float or string."""

T = TypeVar("T")
Hook = Callable[[type[Any], Any], object]
"""Makes the value of a type that msgspec does not know, from the type and what was written."""
_PREPARING, _PREPARED = Lock(), set[object]()


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: object) -> str:
    """The one JSON text of a value: sorted keys, no spaces, no NaN.

    >>> canonical_json({"b": 1, "a": True})
    '{"a":true,"b":1}'
    """
    return _CANONICAL.encode(value)


def setting_text(setting: Setting) -> str:
    """A setting as people and programs read it: ``true`` and ``false``, numbers, bare text."""
    return setting if isinstance(setting, str) else canonical_json(setting)


class Assignment(Mapping[str, Setting]):
    """An immutable mapping from names to settings, equal and hashed by its canonical JSON.

    Unlike a ``dict``, it distinguishes ``1`` from ``True`` and from ``1.0``. Iteration is in order of names.

    Raises:
        InputError: for a setting that is not finite or not of a setting's type.
    """

    def __init__(self, settings: Mapping[str, Setting] | None = None) -> None:
        settings = settings or {}
        for name, setting in settings.items():
            if type(setting) not in type_names:
                raise InputError(f"{name}: {setting!r} is not a valid setting; use a boolean, a number or text")
            if isinstance(setting, float) and not math.isfinite(setting):
                raise InputError(f"{name}: {setting} is not a valid setting; use a finite number")
        self._settings = {name: settings[name] for name in sorted(settings)}

    def __getitem__(self, name: str) -> Setting:
        return self._settings[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._settings)

    def __len__(self) -> int:
        return len(self._settings)

    def __contains__(self, name: object) -> bool:  # as Mapping's, in less time, and so are the items
        return name in self._settings

    def items(self) -> ItemsView[str, Setting]:
        """The names and their settings."""
        return self._settings.items()

    @cached_property
    def key(self) -> str:
        """The canonical JSON: equal for equal assignments only."""
        return canonical_json(self._settings)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Assignment) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings!r})"

    def __str__(self) -> str:
        return " ".join(f"{name}={setting_text(setting)}" for name, setting in self._settings.items())


class Configuration(Assignment):
    """One setting for every active option of a space."""

    def shared(self, other: Configuration) -> Configuration:
        """The settings that both have.

        >>> Configuration({"cache": True, "size": 1}).shared(Configuration({"cache": True, "size": 2}))
        Configuration({'cache': True})
        """
        both = (name for name in self if name in other and canonical_json(self[name]) == canonical_json(other[name]))
        return Configuration({name: self[name] for name in both})


class Workload(Assignment):
    """The parameters of a benchmark's input.

    ``declared`` holds their names in the order in which they were given. The order does not affect equality, and a
    store does not keep it.
    """

    def __init__(self, settings: Mapping[str, Setting] | None = None) -> None:
        super().__init__(settings)
        self.declared = tuple(settings or ())


if TYPE_CHECKING:
    # Type checkers know the fields of whatever `dataclasses.replace` is given, and not those of `structs.replace`.
    from dataclasses import replace
else:

    def replace(value, /, **changes):
        """Return the value with the changes, validated again; for dataclasses and Structs."""
        if isinstance(value, Struct):
            return structs.replace(value, **changes)
        return dataclasses.replace(value, **changes)


__all__ = ["replace"]


def generator(seed: int, *purpose: str) -> np.random.Generator:
    """A random generator for a purpose: different purposes of one seed are independent streams."""
    import numpy as np  # here, so that help is shown without it

    words = hashlib.sha256("\x1f".join(purpose).encode()).digest()[:16]
    spawn_key = tuple(int.from_bytes(words[i : i + 4], "little") for i in range(0, 16, 4))
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=spawn_key)))


def decode(content: bytes | str, kind: type[T], dec_hook: Hook | None = None) -> T:
    """The value of a type that JSON describes.

    Raises:
        DecodeError: of msgspec, where it is not JSON; where it is not of that type, ValidationError, which is one.
    """
    _prepare(kind)
    return msgspec.json.decode(content, type=kind, dec_hook=dec_hook)


def convert(value: object, kind: type[T], dec_hook: Hook | None = None) -> T:
    """The value of a type that plain values describe, such as dictionaries and lists.

    Raises:
        ValidationError: of msgspec, where they are not of that type.
    """
    _prepare(kind)
    return msgspec.convert(value, kind, dec_hook=dec_hook)


def _prepare(kind: object) -> None:
    """Let msgspec analyse a type and those of its fields while no other thread does.

    At the first use of a Struct, msgspec puts its analysis into the class, and goes on with the types of its fields, in
    Python; another thread that reads the Struct meanwhile crashes the process (seen with msgspec 0.22). A child that is
    forked meanwhile would wait for that thread, which it does not have: it must not read such types.
    """
    if kind not in _PREPARED:
        with _PREPARING:
            msgspec.json.Decoder(kind)
            _PREPARED.add(kind)
