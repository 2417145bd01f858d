"""Which options are important, and their effects."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from hati.core import replace


class KnownEffect(Struct, frozen=True):
    """An effect of one option, or of several together, as a fraction with its 95 % interval.

    ``aliases`` are the effects that it cannot be distinguished from.
    """

    options: tuple[str, ...]
    relative: float
    interval: tuple[float, float] | None
    aliases: tuple[tuple[str, ...], ...] = ()


class ImportantOptions(Struct, frozen=True):
    """The options that a screening calls important for a metric, the most influential first.

    ``options`` is empty where none was; ``ranking`` holds all options, the most influential first; ``effects`` those
    that the screening calls important.
    """

    metric: str
    options: tuple[str, ...]
    ranking: tuple[str, ...]
    effects: tuple[KnownEffect, ...] = ()

    def among(self, names: Sequence[str]) -> ImportantOptions:
        """What is known of those options alone."""
        options, ranking = (tuple(name for name in own if name in names) for own in (self.options, self.ranking))
        effects = tuple(effect for effect in self.effects if set(effect.options) <= set(names))
        return replace(self, options=options, ranking=ranking, effects=effects)

    @property
    def leading(self) -> tuple[str, ...]:
        """The important options; where none is, the first of the ranking."""
        return self.options or self.ranking[:1]
