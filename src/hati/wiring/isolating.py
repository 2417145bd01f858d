"""Making a screening whose settings may not all work: failures are traced, and what cannot work is left out."""

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
"""The runs after which failures are searched first; then after each doubling."""


class UntilFailure(Struct, frozen=True):
    """A screening that stops where runs failed and it is not known why.

    Its tasks are those of one ``member`` of the ``machines``.
    """

    study: AnyScreening
    isolation: Isolation
    member: int = 0
    machines: int = 1

    @property
    def id(self) -> StudyId:
        """The screening's own."""
        return self.study.id

    def plan(self, evidence: Evidence) -> Plan:
        """The next runs; none where a failure is to be traced first."""
        if self.isolation.plan(evidence):
            return Plan()
        return machine_share(self.study, evidence, self.member, self.machines).at_most(max(_FIRST, len(evidence.runs)))

    def conclude(self, evidence: Evidence) -> Isolated:
        """The settings that are known to fail."""
        return self.isolation.conclude(evidence)


def left_for_design(budget: Budget, evidence: Evidence) -> Budget:
    """What a budget has after all runs but the pilots, which are paid for by whom plans from them."""
    return budget.left(Evidence(tuple(run for run in evidence.runs if run.task.stage != PILOT)))


def with_usable(choice: AnyChoice, usable: Sequence[Configuration], space: Space) -> AnyChoice:
    """The choice with configurations that are measured already; of a full factorial they are rows anyway."""
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
    """The configurations of the design's runs that worked and are valid in the rest of a space."""
    from hati.studies.screening.planning.tasks import STAGE

    worked = dict.fromkeys(run.task.configuration for run in evidence.stage(STAGE).done)
    return tuple(configuration for configuration in worked if space.valid(configuration))


def with_losses(
    conclusion: ScreeningConclusion, evidence: Evidence, metric: Metric, isolated: Isolated
) -> ScreeningConclusion:
    """The conclusion with all runs of the campaign that failed, whatever they were for."""
    failed = tuple(run for run in evidence.runs if run.of(metric.name) is None)
    if not failed:
        return conclusion
    losses = Losses(len(failed), len(evidence.runs), isolated.described, isolated.messages)
    return replace(conclusion, failures=failure_reasons(failed, metric), losses=losses)
