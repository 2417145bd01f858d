"""Options as conclusions show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from hati.core import Setting
from hati.design import letters

if TYPE_CHECKING:
    from hati.space import Space


class OptionSummary(Struct, frozen=True):
    """An option and its settings; ``letter`` names it in the design.

    The effect of an option with two settings is that of the ``second``; the ``first`` is its base. ``default`` is the
    setting that it has by default, None where that is not known.
    """

    name: str
    letter: str
    settings: tuple[Setting, ...]
    doc: str
    default: Setting | None = None

    @property
    def first(self) -> Setting:
        """The first setting."""
        return self.settings[0]

    @property
    def second(self) -> Setting:
        """The second setting, or the only one."""
        return self.settings[min(1, len(self.settings) - 1)]

    @property
    def two_level(self) -> bool:
        """Whether there are exactly two settings."""
        return len(self.settings) == 2


def option_summaries(space: Space) -> tuple[OptionSummary, ...]:
    """All options of a space in order: letters name them, or positions where letters do not suffice."""
    count = len(space.options)
    names = letters(count) if count <= len(letters(52)) else tuple(f"x{i}" for i in range(1, count + 1))
    return tuple(
        OptionSummary(option.name, letter, option.settings, option.doc, option.default)
        for option, letter in zip(space.options, names, strict=True)
    )
