"""Which version of the subject was measured, and where."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from functools import cached_property

from msgspec import Struct

from hati.core.errors import InputError
from hati.core.study import digest


class Machine(Struct, frozen=True, dict=True):
    """A machine by what was read from it: pairs of a property's name and value, sorted by name."""

    properties: tuple[tuple[str, str], ...]

    @cached_property
    def fingerprint(self) -> str:
        """Equal for machines that look the same."""
        return digest(self.properties, length=12)


_SHOWN = 12


class RevisionKind(StrEnum):
    """Where a revision comes from."""

    GIT = "git"
    SVN = "svn"
    DIRECTORY = "directory"
    PACKAGE = "package"


class Revision(Struct, frozen=True):
    """A version: ``id`` stands for its content for good, and is what tasks carry.

    It is a commit's whole hash, ``r`` and the number of an svn revision, a hash of a folder's content, or
    ``name==version`` of a package. ``name`` is what people know it by, such as a branch, or the same; ``title`` says
    what it is, as the first line of a commit's message does; ``made`` when it was committed.
    """

    id: str
    kind: RevisionKind
    name: str = ""
    title: str = ""
    made: datetime | None = None

    def __post_init__(self) -> None:
        if not self.id:
            raise InputError("a revision needs an id")

    @property
    def short(self) -> str:
        """The id, so long that people can tell it from others."""
        return self.id[:_SHOWN] if self.kind is RevisionKind.GIT else self.id

    def __str__(self) -> str:
        return self.short if self.name in {"", self.id, self.short} else f"{self.name} ({self.short})"
