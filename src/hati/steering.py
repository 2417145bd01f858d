"""The choice of the next batch for a machine, whether machines agree on a task, and the status of the ledger as values.

All is pure: what is drawn at random is an argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from hati.core import Run
from hati.core.errors import InputError
from hati.core.study import digest
from hati.core.wording import counted, listed
from hati.document.document import Align, Column, Table


class ClientKind(StrEnum):
    """Who asks for work: a worker with the project's files, or a volunteer, which runs signed releases only."""

    WORKER = "worker"
    VOLUNTEER = "volunteer"


class Requirements(Struct, frozen=True):
    """The requirements of a batch on a machine.

    ``sources`` are digests of the subject's files, and ``revisions`` are the names of their revisions for people;
    ``machines`` are the names of the allowed machines, any where empty; ``cpus`` is the least number of CPUs; ``kind``
    is the kind of machine that may run it; ``replicas`` is the number of machines that have to agree on each result.
    """

    sources: tuple[str, ...] = ()
    revisions: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    cpus: int = 1
    kind: ClientKind = ClientKind.WORKER
    replicas: int = 1

    def __post_init__(self) -> None:
        if self.replicas < 1:
            raise InputError("the number of machines that have to agree is below 1", fix="write 1 or more")

    @property
    def bound(self) -> bool:
        """Whether a batch that a machine has begun stays on it; a volunteer may never come back."""
        return self.kind is ClientKind.WORKER and self.replicas == 1


class Client(Struct, frozen=True):
    """A machine that asks for work: its identity, name, CPUs, digests of the files that it has, and its kind.

    ``hardware`` is its class, within which times are comparable; empty: its own.
    """

    machine: str
    name: str
    cpus: int = 1
    sources: tuple[str, ...] = ()
    kind: ClientKind = ClientKind.WORKER
    hardware: str = ""


def unmet(requirements: Requirements, client: Client) -> str:
    """The first requirement that a machine does not meet, in words; empty where it meets all."""
    if requirements.kind is not client.kind:
        return f"needs a {requirements.kind}"
    if requirements.machines and client.name not in requirements.machines:
        return f"runs on {listed(requirements.machines)} only"
    if requirements.cpus > client.cpus:
        return f"needs {counted(requirements.cpus, 'CPU')}"
    if not set(requirements.sources) <= set(client.sources):
        return f"needs the files of revision {listed(requirements.revisions)}"
    return ""


def obstacle(requirements: Requirements, machine: str | None, clients: Mapping[str, Client]) -> str:
    """The reasons why no present machine may run a batch, in words; empty where one may.

    ``machine`` is the identity of the machine on which the batch has begun, None where it has not. ``clients`` maps
    identities of machines to their clients.
    """
    if not clients:
        return "no worker is there"
    if machine is None:
        able: Iterable[Client] = clients.values()
    else:
        able = filter(None, [clients.get(machine)])
    reasons = [unmet(requirements, client) for client in able]
    fit = reasons.count("")
    if 0 < fit < requirements.replicas:
        return (
            f"needs {requirements.replicas} machines that agree, and {fit} of them {'is' if fit == 1 else 'are'} there"
        )
    if fit:
        return ""
    return listed(sorted(set(reasons))) or "begun on a machine that has no worker now"


class Queue(Struct, frozen=True):
    """Waiting batches of a study with equal requirements; they are run in the order of their release.

    ``head`` is the number of the batch that was released first; numbers grow with each release. ``machine`` is the one
    on which all of them have begun, None where they have not.
    """

    head: int
    study: str
    requirements: Requirements
    machine: str | None = None


class SteeringDecision(Struct, frozen=True):
    """The number of the chosen batch, None where there is none for the machine, and the reason."""

    batch: int | None
    reason: str


def choose(queues: Sequence[Queue], under_way: Mapping[str, int], client: Client) -> SteeringDecision:
    """The batch that a machine runs next: of the study with the fewest batches in progress, the one released first.

    A batch that has begun on a machine stays there, and is resumed before all others. Studies with equally many batches
    in progress are served in the order of release.

    Args:
        queues: the waiting batches.
        under_way: the number of batches that machines run now, by study; 0 where a study is not in it.
        client: the machine.
    """
    if not queues:
        return SteeringDecision(None, "nothing is open")
    reasons = {needed: unmet(needed, client) for needed in {queue.requirements for queue in queues}}
    met = [queue for queue in queues if not reasons[queue.requirements]]
    begun = [queue.head for queue in met if queue.machine == client.machine]
    if begun:
        return SteeringDecision(min(begun), "begun here")
    free = [(under_way.get(queue.study, 0), queue.head) for queue in met if queue.machine is None]
    if not free:
        return SteeringDecision(None, listed(sorted(set(filter(None, reasons.values())))) or "begun on another machine")
    several = len({queue.study for queue in queues}) > 1
    return SteeringDecision(min(free)[1], "study with fewest under way" if several else "released first")


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


class LeaseStatus(Struct, frozen=True):
    """The batch that a machine runs: the attempt at it, why the machine got it, since when, and until when."""

    batch: int
    study: str
    attempt: int
    reason: str
    since: datetime
    until: datetime


class MachineStatus(Struct, frozen=True):
    """A machine that has a worker or a lease; ``until`` is when its worker is gone unless it gives a sign of life."""

    id: str
    name: str
    cpus: int
    until: datetime
    lease: LeaseStatus | None


class StudyStatus(Struct, frozen=True):
    """The numbers of a study's batches by their state, of results in the last hour, and of failures of machines."""

    study: str
    waiting: int
    leased: int
    done: int
    withdrawn: int
    quarantined: int
    results: int
    failures: int


class Waiting(Struct, frozen=True):
    """How many batches of a study wait for the same reason, which is empty where a machine may run them."""

    study: str
    batches: int
    reason: str


class FailedBatch(Struct, frozen=True):
    """A batch that machines failed and that is not done: how often, and the ``error`` of the last failure."""

    batch: int
    study: str
    state: str
    failures: int
    machine: str
    at: datetime
    error: str


class LedgerStatus(Struct, frozen=True, tag_field="format", tag="hati-grid-status-1"):
    """What a ledger shows at a time of its database's clock; ``results`` is the number in the last hour."""

    at: datetime
    results: int
    machines: tuple[MachineStatus, ...]
    studies: tuple[StudyStatus, ...]
    waiting: tuple[Waiting, ...]
    failed: tuple[FailedBatch, ...]


_TIME = "%Y-%m-%d %H:%M:%S"
_TURN = "waits for its turn"


def grid_tables(status: LedgerStatus) -> tuple[Table, ...]:
    """Tables of machines and batches and, if there are any, of waiting and failed batches."""
    if not status.machines and not status.studies:
        return ()
    tables = [_machines(status), _batches(status)]
    tables += [_waiting(status)] if status.waiting else []
    tables += [_failures(status)] if status.failed else []
    return tuple(tables)


def _machines(status: LedgerStatus) -> Table:
    columns = (
        Column("machine"),
        Column("CPUs", align=Align.RIGHT),
        Column("study"),
        Column("batch", align=Align.RIGHT),
        Column("since"),
        Column("until"),
        Column("chosen as"),
    )
    rows = tuple((machine.name, machine.cpus, *_lease(machine.lease)) for machine in status.machines)
    late = sum(machine.lease is not None and machine.lease.until <= status.at for machine in status.machines)
    notes = (
        [f"Times are UTC; it is {status.at:{_TIME}}."] if rows else ["No worker is there: start one by `hati worker`."]
    )
    notes += [f"{counted(late, 'lease')} ended without a sign of life."] if late else []
    return Table("Machines", columns, rows, tuple(notes))


def _lease(lease: LeaseStatus | None) -> tuple[str | int | None, ...]:
    if lease is None:
        return None, None, None, None, None
    return lease.study, lease.batch, f"{lease.since:{_TIME}}", f"{lease.until:{_TIME}}", lease.reason


def _batches(status: LedgerStatus) -> Table:
    names = ("waiting", "leased", "done", "withdrawn", "quarantined", "failures", "results")
    columns = (Column("study"), *(Column(name, align=Align.RIGHT) for name in names))
    rows = tuple((study.study, *(getattr(study, name) for name in names)) for study in status.studies)
    return Table("Batches", columns, rows, (f"{counted(status.results, 'result')} in the last hour.",))


def _waiting(status: LedgerStatus) -> Table:
    columns = (Column("study"), Column("batches", align=Align.RIGHT), Column("reason"))
    rows = tuple((each.study, each.batches, each.reason or _TURN) for each in status.waiting)
    return Table("Waiting batches", columns, rows)


def _failures(status: LedgerStatus) -> Table:
    columns = (
        Column("batch", align=Align.RIGHT),
        Column("study"),
        Column("state"),
        Column("failures", align=Align.RIGHT),
        Column("last error"),
    )
    rows = tuple((each.batch, each.study, each.state, each.failures, each.error) for each in status.failed)
    return Table("Failed batches", columns, rows)
