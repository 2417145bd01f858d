"""What an earlier screening says beforehand: which options are likely, and what its effects were."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from hati.studies.screening import ScreeningConclusion


class Prior(Struct, frozen=True):
    """An earlier screening: its study's key, and its options.

    ``conclusion`` is None where it can no longer be told, as other options have another design.
    """

    study: str
    options: tuple[str, ...]
    conclusion: ScreeningConclusion | None = None

    def likely(self, names: Sequence[str]) -> tuple[int, ...]:
        """The positions of the options that were important, the most influential first."""
        if self.conclusion is None:
            return ()
        return tuple(names.index(name) for name in self.conclusion.influential if name in names)
