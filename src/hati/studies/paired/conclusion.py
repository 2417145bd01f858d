"""What a comparison of pairs says."""

from __future__ import annotations

from msgspec import Struct

from hati.core import Pairing, Stopping
from hati.studies.comparison import Comparisons, Verdict
from hati.studies.paired.variant import Variant


class Weighed(Struct, frozen=True):
    """What the verdict of a metric rests on: complete ``pairs``, how often they were looked at, and the evidence.

    ``e_value`` is that of a difference after the last pair; None where the rule has none, or there is no pair.
    """

    pairs: int
    looks: int
    e_value: float | None


class PairedConclusion(Struct, frozen=True):
    """The comparison of each metric, what it rests on, in the same order, and what became of the runs.

    ``seed`` is that of the order of each pair.
    """

    study: str
    before: Variant
    after: Variant
    stopping: Stopping
    pairing: Pairing
    seed: int
    comparisons: Comparisons
    weighed: tuple[Weighed, ...]
    done: int
    failed: int
    failures: tuple[str, ...]
    seconds: float

    @property
    def decided(self) -> bool:
        """Whether every metric has a verdict."""
        return not self.comparisons.count(Verdict.INCONCLUSIVE)
