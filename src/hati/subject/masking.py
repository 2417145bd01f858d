"""Secrets are kept nowhere: what a program prints of them is masked before it is stored."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hati.subject.programs import Ending

_MASK = "***"
_SHORTEST = 4
"""Fewer characters are no secret, and masking them would garble all that is printed."""


@dataclass(frozen=True)
class Masking:
    """The values that are masked, longest first."""

    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, names: Collection[str], environment: Mapping[str, str]) -> Masking:
        """That of the values of variables of the environment."""
        values = {environment[name] for name in names if len(environment.get(name, "")) >= _SHORTEST}
        return cls(tuple(sorted(values, key=lambda value: (-len(value), value))))

    def mask(self, text: str) -> str:
        """The text with `***` for each value, and for the end of one where the text is cut in the middle of it."""
        for value in self.values:
            text = text.replace(value, _MASK)
        for value in self.values:
            for start in range(1, len(value) - _SHORTEST + 1):
                if text.startswith(value[start:]):
                    text = _MASK + text[len(value) - start :]
        return text

    def ending(self, ending: Ending) -> Ending:
        """An ending whose output tells no secret; what is read of standard output stays as it is."""
        return replace(ending, output=self.mask(ending.output))
