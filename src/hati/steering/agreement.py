"""Whether machines agree on a task, and how many have to: pure, with the random draw as an argument."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from hati.core import Run
from hati.core.study import digest

TRUSTED_AFTER = 10
"""The number of successive agreements from which on a machine's results are only sampled."""
TOLERANCE = 2.0
"""The largest ratio of the means of a metric on two machines of a class that agree."""


class MachineReport(Struct, frozen=True):
    """What a machine reported of a task.

    ``hardware`` is the machine's class, ``function`` what is equal on each host: how the run ended, and which metrics
    it has how often. ``levels`` are the metrics' means after warm-up, in the order of their names.
    """

    machine: str
    hardware: str
    function: str
    levels: tuple[float, ...] = ()


def report_of(machine: str, hardware: str, run: Run) -> MachineReport:
    """The report of a run on a machine of a class."""
    observed = sorted(run.observations, key=lambda each: each.metric)
    shape = [[each.metric, each.unit, len(each.values)] for each in observed]
    function = digest([run.outcome.value, run.exit, shape], 32)
    return MachineReport(machine, hardware, function, tuple(float(each.steady.mean()) for each in observed))


def agree(one: MachineReport, other: MachineReport) -> bool:
    """Whether two reports agree: in function on any hosts, and in their levels on hosts of one class."""
    if one.function != other.function:
        return False
    if one.hardware != other.hardware:
        return True
    return all(map(_similar, one.levels, other.levels))


def _similar(one: float, other: float) -> bool:
    return abs(one - other) <= (1 - 1 / TOLERANCE) * max(abs(one), abs(other))


class Quorum(Struct, frozen=True):
    """The report that counts, by its index, the machines that agree with it, and those that do not."""

    counts: int
    agreed: tuple[str, ...]
    outliers: tuple[str, ...]


def quorum_of(reports: Sequence[MachineReport], needed: int) -> Quorum | None:
    """The first report with which ``needed`` machines agree, itself included; None where there is none."""
    for index, report in enumerate(reports):
        alike = [agree(report, each) for each in reports]
        if sum(alike) >= needed:
            machines = [(each.machine, same) for each, same in zip(reports, alike, strict=True)]
            agreed = tuple(machine for machine, same in machines if same)
            return Quorum(index, agreed, tuple(machine for machine, same in machines if not same))
    return None


def reports_needed(replicas: int, agreements: int, draw: float) -> int:
    """How many machines have to agree on a task of which a machine is the first to report.

    After ``TRUSTED_AFTER`` successive agreements, n in all, one suffices with probability 1 - 1/n (adaptive replication
    of BOINC).

    Args:
        replicas: the number of machines that have to agree otherwise.
        agreements: the machine's successive agreements with others.
        draw: a random number in [0, 1).
    """
    trusted = agreements >= TRUSTED_AFTER and draw >= 1 / agreements
    return 1 if trusted else replicas


def most_reports(replicas: int) -> int:
    """The number of reports on a task from which on the machines are taken to disagree."""
    return 2 * replicas + 1
