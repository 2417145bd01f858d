"""What the settings of an option are."""

from __future__ import annotations

from enum import StrEnum

from hati.core import Setting


class Kind(StrEnum):
    """What the settings of an option are: booleans, text, integers or real numbers."""

    BOOLEAN = "boolean"
    ENUMERATION = "enumeration"
    INTEGER = "integer"
    REAL = "real"

    @classmethod
    def of(cls, setting: Setting) -> Kind:
        """The kind that has settings of that type."""
        return _KINDS[type(setting)]

    @property
    def numeric(self) -> bool:
        """Whether the settings are numbers."""
        return self in (Kind.INTEGER, Kind.REAL)


_KINDS = {bool: Kind.BOOLEAN, str: Kind.ENUMERATION, int: Kind.INTEGER, float: Kind.REAL}
