"""Run a screening whose settings may fail: failures are traced, and failing settings are left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.core import Budget, Configuration, Evidence, Metric, Plan, StudyId, replace
from hati.studies.failures import failure_reasons
from hati.studies.screening import (
    AnyChoice,
    AnyScreening,
    Isolated,
    Isolation,
    Losses,
    ModelChoice,
    ScreeningConclusion,
)
from hati.studies.screening.planning.pilot import STAGE as PILOT
from hati.studies.screening.planning.tasks import machine_share

if TYPE_CHECKING:
    from hati.space import Space

_FIRST = 4
"""The number of runs after which failures are first traced; then again after each doubling."""


class UntilFailure(Struct, frozen=True):
    """A screening that stops when runs fail for an unknown reason.

    Its tasks are the share of machine number ``member`` of ``machines``.
    """

    study: AnyScreening
    isolation: Isolation
    member: int = 0
    machines: int = 1

    @property
    def id(self) -> StudyId:
        """The id of the screening."""
        return self.study.id

    def plan(self, evidence: Evidence) -> Plan:
        """The next runs; none while a failure has to be traced first."""
        if self.isolation.plan(evidence):
            return Plan()
        return machine_share(self.study, evidence, self.member, self.machines).at_most(max(_FIRST, len(evidence.runs)))

    def conclude(self, evidence: Evidence) -> Isolated:
        """The settings that are known to fail."""
        return self.isolation.conclude(evidence)


def left_for_design(budget: Budget, evidence: Evidence) -> Budget:
    """The budget left after all runs except pilots, whose cost the planning of the design subtracts."""
    return budget.left(Evidence(tuple(run for run in evidence.runs if run.task.stage != PILOT)))


def with_usable(choice: AnyChoice, usable: Sequence[Configuration], space: Space) -> AnyChoice:
    """The choice with already measured configurations added to its rows; a full factorial has them anyway."""
    if not isinstance(choice, ModelChoice) or not usable:
        return choice
    from hati.design import levels

    known = set(choice.rows)
    rows = [tuple(row) for row in levels(usable, space).tolist()]
    more = tuple(row for row in dict.fromkeys(rows) if row not in known)
    if not more:
        return choice
    return replace(choice, rows=(*choice.rows, *more), reason=f"{choice.reason}; and {len(more)} that were run before")


def usable_configurations(evidence: Evidence, space: Space) -> tuple[Configuration, ...]:
    """The configurations of the design's successful runs that are valid in a narrowed space."""
    from hati.studies.screening.planning.tasks import STAGE

    worked = dict.fromkeys(run.task.configuration for run in evidence.stage(STAGE).done)
    return tuple(configuration for configuration in worked if space.valid(configuration))


def with_losses(
    conclusion: ScreeningConclusion, evidence: Evidence, metric: Metric, isolated: Isolated
) -> ScreeningConclusion:
    """The conclusion with all failed runs of the campaign, of any stage."""
    failed = tuple(run for run in evidence.runs if run.of(metric.name) is None)
    if not failed:
        return conclusion
    losses = Losses(len(failed), len(evidence.runs), isolated.described, isolated.messages)
    return replace(conclusion, failures=failure_reasons(failed, metric), losses=losses)
