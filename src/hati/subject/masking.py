"""Secrets are kept nowhere: what a program prints of them is masked before it is stored."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct

_MASK = "***"
_SHORTEST = 4
"""Fewer characters are no secret, and masking them would garble all that is printed."""


class Masking(Struct, frozen=True):
    """The values that are masked, longest first."""

    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, names: Collection[str], environment: Mapping[str, str]) -> Masking:
        """That of the values of variables of the environment."""
        values = {environment[name] for name in names if len(environment.get(name, "")) >= _SHORTEST}
        return cls(tuple(sorted(values, key=lambda value: (-len(value), value))))

    def mask(self, text: str) -> str:
        """The text with `***` for each value, and for the part of one where the text is cut in the middle of it."""
        for value in self.values:
            text = text.replace(value, _MASK)
        for value in self.values:
            for length in range(len(value) - 1, _SHORTEST - 1, -1):
                if text.startswith(value[-length:]):
                    text = _MASK + text[length:]
                if text.endswith(value[:length]):
                    text = text[:-length] + _MASK
        return text

    def mask_bytes(self, data: bytes) -> bytes:
        """The data with `***` for each value."""
        for value in self.values:
            data = data.replace(value.encode("utf-8", "surrogateescape"), _MASK.encode())
        return data
