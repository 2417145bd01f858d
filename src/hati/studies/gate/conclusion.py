"""The conclusion of a regression check."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from hati.core import Assignment, Configuration, Revision
from hati.knowledge import Coverage
from hati.studies.comparison import ChangeVerdict, Comparison, Question
from hati.studies.gate.attribution import AffectedOption, RivalCauses


class Broken(Struct, frozen=True):
    """A configuration that could not be measured at a revision, and why; ``alone`` if the other revision could be."""

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
    """The number of first ``observations`` of each run left out for a benchmark and metric, and the reason in words."""

    benchmark: str
    metric: str
    observations: int
    reason: str


class GateConclusion(Struct, frozen=True):
    """The comparison of each benchmark and metric over all configurations, and over each stratum if there are several.

    ``affected_options`` are the options on whose settings changes depend, ``rival_causes`` the explanations that the
    configurations do not distinguish; ``explored`` and ``confirmed`` count rounds;
    ``unconfirmed`` names suspected changes that fresh runs did not confirm, ``suspected`` those that are not decided
    yet. ``coverage`` describes the measured part of each benchmark's space, ``warm_ups`` the observations left out of
    runs whose benchmark states no warm-up. Campaigns of earlier versions have two ``stages``.
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
    stages: int = 1
    rival_causes: tuple[RivalCauses, ...] = ()

    @property
    def verdict(self) -> ChangeVerdict:
        """The worst verdict: slower anywhere, else inconclusive for a whole benchmark, else faster anywhere, else same.

        It is inconclusive if nothing could be compared.
        """
        in_strata = [each.comparison.change.verdict for each in self.strata]
        return worst_verdict([row.change.verdict for row in self.rows], in_strata)

    def most_affected(self, row: Comparison) -> AffectedOption | None:
        """The settings with the largest change in the row's direction; None if it depends on none.

        For a stratum, an option that is one of its own does not count, nor one found within settings of another.
        """
        ratio, own = row.change.ratio, (row.benchmark, row.metric.name)
        found = [one for one in self.affected_options if (one.benchmark, one.metric) == own]
        if row.configuration:
            found = [one for one in found if not one.where and one.option not in row.configuration]
        if not found or ratio is None:
            return None
        return max(found, key=lambda one: one.ratio if ratio > 1.0 else -one.ratio)


def worst_verdict(everywhere: Collection[ChangeVerdict], in_strata: Collection[ChangeVerdict]) -> ChangeVerdict:
    """The verdict of a check whose whole benchmarks and strata have those verdicts; see ``GateConclusion.verdict``."""
    anywhere = {*everywhere, *in_strata}
    if ChangeVerdict.SLOWER in anywhere:
        return ChangeVerdict.SLOWER
    if ChangeVerdict.INCONCLUSIVE in everywhere or not everywhere:
        return ChangeVerdict.INCONCLUSIVE
    return ChangeVerdict.FASTER if ChangeVerdict.FASTER in anywhere else ChangeVerdict.SAME
