"""Entries of what is known: a value, the study that it is from, its age, and why it is preferred."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from hati.core import InputError

T = TypeVar("T")

_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))


@dataclass(frozen=True)
class Provenance:
    """Where an entry is from: a study's key, the number of its runs with a value, and when the last of them started.

    Raises:
        InputError: for a time without a time zone.
    """

    study: str
    runs: int
    measured: datetime

    def __post_init__(self) -> None:
        if self.measured.tzinfo is None:
            raise InputError(f"the time at which {self.study} was measured needs a time zone")


@dataclass(frozen=True)
class Entry(Generic[T]):
    """A value that is known, with its ``provenance``, its ``age``, and why it is ``preferred`` to others."""

    value: T
    provenance: Provenance
    age: timedelta
    preferred: str

    @property
    def source(self) -> str:
        """The study, its runs and its age, in words."""
        runs = self.provenance.runs
        return f"{self.provenance.study}: {runs:,} run{'' if runs == 1 else 's'}, {age_text(self.age)}"


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
