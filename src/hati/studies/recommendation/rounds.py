"""What is run together, in blocks in which each configuration runs once."""

from __future__ import annotations

from msgspec import Struct

from hati.core import Configuration, Setting

STAGE = "confirmation"
FOLLOW_UP = "follow-up"

Settings = tuple[tuple[str, Setting], ...]


class Round(Struct, frozen=True):
    """Blocks in which each configuration runs once; the baseline is the first, what is confirmed the second.

    ``settings`` are those that are confirmed, ``without`` the configurations with each of them left out (the baseline
    for a single one); a follow-up has neither. ``alpha`` is the error of all verdicts together.
    ``pending`` counts the runs that are still to be made: nothing is confirmed before the last. ``first`` counts the
    blocks of earlier follow-ups, whose stage is the same.
    """

    stage: str
    configurations: tuple[Configuration, ...]
    blocks: int
    settings: Settings = ()
    without: tuple[Configuration, ...] = ()
    alpha: float = 0.0
    pending: int = 0
    first: int = 0

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.configurations) * self.blocks

    @property
    def target(self) -> Configuration:
        """What is confirmed."""
        return self.configurations[1]

    @property
    def alone(self) -> tuple[Configuration, ...]:
        """What could be recommended instead: of two settings each one alone, which is run for the other's gain."""
        return self.without if len(self.settings) == 2 else ()

    @property
    def compared(self) -> tuple[tuple[tuple[str, Setting], Configuration], ...]:
        """The settings whose gain given the others is judged, each with the configuration without it; none of one."""
        return tuple(zip(self.settings, self.without, strict=True)) if len(self.settings) > 1 else ()

    @property
    def doubt(self) -> float:
        """The error of each verdict of a follow-up."""
        return self.alpha / (len(self.configurations) - 1)

    def verdicts(self, rules: int) -> int:
        """How many verdicts share the error where every recommended configuration has to keep that many rules."""
        return (1 + rules) * (1 + len(self.alone)) + len(self.compared)


class Step(Struct, frozen=True):
    """A round, the settings that were to be confirmed ``before`` it, and those that are ``after`` it.

    None where nothing follows: before its last run, and where it confirms everything or no run could say more.
    """

    round: Round
    before: Settings
    after: Settings | None


class Arm(Struct, frozen=True):
    """Settings that are tried together in the follow-up."""

    settings: Settings
    configuration: Configuration
