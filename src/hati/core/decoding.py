"""Values of types from JSON and from plain values, in any thread."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
Hook = Callable[[type[Any], Any], object]
"""Makes the value of a type that msgspec does not know, from the type and what was written."""
_PREPARING, _PREPARED = Lock(), set[object]()


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
