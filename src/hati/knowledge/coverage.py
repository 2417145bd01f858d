"""How much of a space the configurations of a study cover, and why these were chosen."""

from __future__ import annotations

from msgspec import Struct

from hati.core import InputError


class Coverage(Struct, frozen=True):
    """Of a benchmark the number of ``configurations`` that are measured, of all in the ``space`` (None: uncounted).

    ``strata`` are the options all combinations of whose settings are measured, weighted by the configurations that they
    stand for; without any, nothing is known of those that are not measured. ``source`` says where the choice is from,
    ``remedy``, a sentence, what would cover the rest.
    """

    benchmark: str
    configurations: int
    space: int | None
    strata: tuple[str, ...]
    source: str
    remedy: str = ""

    def __post_init__(self) -> None:
        if self.configurations < 1 or (self.space is not None and self.space < self.configurations):
            raise InputError(f"{self.configurations} of {self.space} configurations cannot be measured")

    @property
    def partial(self) -> bool:
        """Whether there are configurations of which these say nothing."""
        return not self.strata and self.configurations != self.space
