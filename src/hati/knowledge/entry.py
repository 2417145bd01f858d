"""Entries of what is known: a value, the study that it is from, its age, and why it is preferred."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Generic, TypeVar

from msgspec import Struct

from hati.core import InputError

T = TypeVar("T")

_SHORT = 12
_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))


class Provenance(Struct, frozen=True):
    """Where an entry is from: a study's key, the number of its runs with a value, and when the last of them started.

    ``revision`` and ``machine`` are those of then where they are others than those of now, else empty; so is ``space``,
    in words.

    Raises:
        InputError: for a time without a time zone.
    """

    study: str
    runs: int
    measured: datetime
    revision: str = ""
    machine: str = ""
    space: str = ""

    def __post_init__(self) -> None:
        if self.measured.tzinfo is None:
            raise InputError(f"the time at which {self.study} was measured needs a time zone")


class Entry(Struct, Generic[T], frozen=True):
    """A value that is known, with its ``provenance``, its ``age``, and why it is ``preferred`` to others."""

    value: T
    provenance: Provenance
    age: timedelta
    preferred: str

    @property
    def source(self) -> str:
        """The study, its runs and its age, in words, and whether it is of another revision or machine."""
        origin = self.provenance
        parts = [f"{origin.study}: {origin.runs:,} run{'' if origin.runs == 1 else 's'}", age_text(self.age)]
        parts += [f"at another revision ({origin.revision[:_SHORT]})"] if origin.revision else []
        parts += [f"on another machine ({origin.machine})"] if origin.machine else []
        parts += [f"over {origin.space}"] if origin.space else []
        return ", ".join(parts)


def age_text(age: timedelta) -> str:
    """An age in the largest unit of which it has one.

    >>> age_text(timedelta(hours=50)), age_text(timedelta(seconds=90)), age_text(timedelta(seconds=3))
    ('2 days ago', '1 minute ago', 'just now')
    """
    seconds = int(age.total_seconds())
    for name, size in _UNITS:
        number = seconds // size
        if number > 0:
            return f"{number:,} {name}{'' if number == 1 else 's'} ago"
    return "just now"
