"""What a gate says."""

from __future__ import annotations

from msgspec import Struct

from hati.core import Assignment, Configuration, Revision
from hati.knowledge import Coverage
from hati.studies.comparison import ChangeVerdict, Comparison, Question
from hati.studies.gate.affected_options import AffectedOption


class Broken(Struct, frozen=True):
    """A configuration that could not be measured at a revision, and why; ``alone`` where the other one could."""

    benchmark: str
    configuration: Configuration
    revision: Revision
    why: str
    alone: bool


class StratumChange(Struct, frozen=True):
    """A comparison over one stratum."""

    stratum: Assignment
    comparison: Comparison


class WarmUpCut(Struct, frozen=True):
    """The first ``observations`` of each run are left out for a benchmark and metric, for a ``reason`` in words."""

    benchmark: str
    metric: str
    observations: int
    reason: str


class GateConclusion(Struct, frozen=True):
    """The comparison of each benchmark and metric over all configurations, and of each stratum where there are several.

    ``affected_options`` are those on whose settings changes depend; ``explored`` and ``confirmed`` count rounds;
    ``unconfirmed`` names suspected changes that fresh runs did not confirm, ``suspected`` those not
    decided yet. ``coverage`` describes the measured part of each benchmark's space,
    ``warm_ups`` the part left out of runs whose benchmark states no warm-up.
    """

    study: str
    reference: Revision
    revision: Revision
    question: Question
    rows: tuple[Comparison, ...]
    strata: tuple[StratumChange, ...]
    affected_options: tuple[AffectedOption, ...]
    broken: tuple[Broken, ...]
    explored: int
    confirmed: int
    unconfirmed: tuple[str, ...]
    done: int
    failed: int
    seconds: float
    warnings: tuple[str, ...]
    coverage: tuple[Coverage, ...] = ()
    suspected: tuple[str, ...] = ()
    warm_ups: tuple[WarmUpCut, ...] = ()

    @property
    def verdict(self) -> ChangeVerdict:
        """The worst: slower anywhere, else inconclusive where a whole benchmark is, else faster anywhere, else same.

        Where nothing could be compared it is inconclusive.
        """
        everywhere = {row.change.verdict for row in self.rows}
        anywhere = everywhere | {each.comparison.change.verdict for each in self.strata}
        if ChangeVerdict.SLOWER in anywhere:
            return ChangeVerdict.SLOWER
        if ChangeVerdict.INCONCLUSIVE in everywhere or not everywhere:
            return ChangeVerdict.INCONCLUSIVE
        return ChangeVerdict.FASTER if ChangeVerdict.FASTER in anywhere else ChangeVerdict.SAME
