"""Whether a recalibration is due, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

import numpy as np
from msgspec import Struct

from hati.stats import holm
from hati.studies.recalibration.policy import Policy
from hati.studies.recalibration.residuals import ResidualShift


class Condition(StrEnum):
    """What of a policy is met."""

    UNSCREENED = "unscreened"
    CHECKS = "checks"
    DAYS = "days"
    RESIDUALS = "residuals"
    OPTIONS = "options"


class Since(Struct, frozen=True):
    """What happened to a benchmark since it was last screened, by ``study``; None where it never was.

    ``screened`` is when its last run started; ``checks`` counts those since, the present one included. ``added`` and
    ``removed`` name options; ``altered``: they are the same, and their settings or constraints are not. ``shifts`` are
    of the metrics whose residuals were tested.
    """

    benchmark: str
    study: str | None = None
    screened: datetime | None = None
    checks: int = 0
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    altered: bool = False
    shifts: tuple[ResidualShift, ...] = ()


class Reason(Struct, frozen=True):
    """A condition that is met for a benchmark: its ``value`` beside the ``limit`` of the policy.

    They count checks or days; of residuals they are the p-value, corrected for all metrics that were tested, and the
    level. ``shift`` is given for residuals only.
    """

    condition: Condition
    since: Since
    value: float | None = None
    limit: float | None = None
    shift: ResidualShift | None = None


class Recalibration(Struct, frozen=True):
    """Whether important options are due to be determined again: where there is a reason."""

    reasons: tuple[Reason, ...] = ()

    @property
    def due(self) -> bool:
        """Whether there is any reason."""
        return bool(self.reasons)


def due(policy: Policy, benchmarks: Sequence[Since], now: datetime) -> Recalibration:
    """Hold each benchmark against the policy.

    The level of residuals is that of all benchmarks and metrics of this check together (Holm).
    """
    return Recalibration(
        tuple(reason for since in benchmarks for reason in _counted(policy, since, now))
        + tuple(_shifted(policy, benchmarks))
    )


def _counted(policy: Policy, since: Since, now: datetime) -> Iterator[Reason]:
    if since.screened is None:
        yield Reason(Condition.UNSCREENED, since)
        return
    if policy.checks is not None and since.checks >= policy.checks:
        yield Reason(Condition.CHECKS, since, since.checks, policy.checks)
    days = (now - since.screened) / timedelta(days=1)
    if policy.days is not None and days >= policy.days:
        yield Reason(Condition.DAYS, since, days, policy.days)
    if policy.options and (since.added or since.removed or since.altered):
        yield Reason(Condition.OPTIONS, since)


def _shifted(policy: Policy, benchmarks: Sequence[Since]) -> Iterator[Reason]:
    tested = [(since, shift) for since in benchmarks for shift in since.shifts]
    if policy.residuals is None or not tested:
        return
    corrected = holm(np.array([shift.p_value for _, shift in tested]))
    for (since, shift), p_value in zip(tested, corrected.tolist(), strict=True):
        if p_value <= policy.residuals:
            yield Reason(Condition.RESIDUALS, since, p_value, policy.residuals, shift)
