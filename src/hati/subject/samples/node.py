"""A value of a document that knows where it is, so that what is wrong with it is told with its place."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError, Place

Path = tuple[str | int, ...]
Numbers: TypeAlias = "array[float]"
"""A list of numbers, eight bytes each."""

Json: TypeAlias = "bool | int | float | str | Numbers | list[Json] | dict[str, Json] | None"

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_LONGEST = 60


class Node(Struct, frozen=True):
    """A value of a JSON document: which, at which path, of which file."""

    value: Json
    path: Path
    file: str

    def error(self, message: str, fix: str | None = None) -> InputError:
        """An error of this value."""
        return InputError(message, place=self.place, fix=fix)

    @property
    def place(self) -> Place:
        """The file, and the path in it."""
        return Place(f"{self.file} at {path_text(self.path)}" if self.path else self.file)

    def __contains__(self, key: str) -> bool:
        return isinstance(self.value, dict) and self.value.get(key) is not None

    def __getitem__(self, key: str) -> Node:
        """The member of that name.

        Raises:
            InputError: where this is no object, or has none of that name.
        """
        found = self.get(key)
        if found is None:
            raise self.error(f"there is no {key!r}", fix="is the file whole, and of this format?")
        return found

    def get(self, key: str) -> Node | None:
        """The member of that name; None where there is none, or it is null."""
        if not isinstance(self.value, dict):
            raise self.error(f"{shown(self.value)} stands where an object is needed")
        value = self.value.get(key)
        return None if value is None else Node(value, (*self.path, key), self.file)

    def members(self) -> Iterator[tuple[str, Node]]:
        """All members of an object, by name."""
        if not isinstance(self.value, dict):
            raise self.error(f"{shown(self.value)} stands where an object is needed")
        for key, value in self.value.items():
            yield key, Node(value, (*self.path, key), self.file)

    def items(self) -> Iterator[Node]:
        """All items of a list."""
        if not isinstance(self.value, list | array):
            raise self.error(f"{shown(self.value)} stands where a list is needed")
        for number, value in enumerate(self.value):
            yield Node(value, (*self.path, number), self.file)

    def text(self) -> str:
        """This, which has to be text that is not empty."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.error(f"{shown(self.value)} stands where text is needed")
        return self.value

    def number(self) -> float:
        """This, which has to be a number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self.error(f"{shown(self.value)} stands where a number is needed")
        return float(self.value)

    def amount(self) -> float:
        """This, which has to be a number that is not negative."""
        number = self.number()
        if number < 0:
            raise self.error(f"{shown(self.value)} stands where a number that is not negative is needed")
        return number

    def integer(self) -> int:
        """This, which has to be a whole number."""
        number = self.number()
        if number != int(number):
            raise self.error(f"{shown(self.value)} stands where a whole number is needed")
        return int(number)

    def count(self) -> int:
        """This, which has to be a whole number that is not negative."""
        number = self.integer()
        if number < 0:
            raise self.error(f"{shown(self.value)} stands where a count is needed")
        return number

    def numbers(self) -> FloatArray:
        """This, which has to be a list of numbers, shape (n,)."""
        if isinstance(self.value, array):
            return np.frombuffer(self.value, dtype=np.float64)
        for item in self.items():
            item.number()
        return np.array([], dtype=np.float64)


def path_text(path: Path) -> str:
    """A path as people write it.

    >>> path_text(("samples", 0, "runs", 3, "cpu time"))
    'samples[0].runs[3]["cpu time"]'
    """
    steps = (f"[{s}]" if isinstance(s, int) else f".{s}" if s and set(s) <= _PLAIN else f"[{_quoted(s)}]" for s in path)
    return "".join(steps).removeprefix(".")


def shown(value: Json) -> str:
    """A value short enough for a message."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | array):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return _quoted(value)
    return f"{value:g}"


def _quoted(text: str) -> str:
    short = "".join(c if c.isprintable() else "?" for c in text[:_LONGEST])
    return f'"{short}{"..." if len(text) > _LONGEST else ""}"'
