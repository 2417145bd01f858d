"""The status of a ledger as values: machines, batches of studies, and why batches wait or failed."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from hati.steering.choice import ClientKind


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


class SettingStatus(Struct, frozen=True):
    """A setting that machines have: the names of the known machines that have it, and of those with a worker now."""

    option: str
    setting: str
    machines: tuple[str, ...]
    present: tuple[str, ...]


class AwayMachine(Struct, frozen=True):
    """A machine that has no worker now and that studies are still planned for.

    ``seen`` is its last sign of life; None where an earlier version did not keep it.
    """

    id: str
    name: str
    kind: ClientKind
    seen: datetime | None


class LedgerStatus(Struct, frozen=True, tag_field="format", tag="hati-grid-status-1"):
    """What a ledger shows at a time of its database's clock; ``results`` is the number in the last hour.

    ``settings`` are those of a project's options that machines have; ``away`` are the machines that are known and have
    no worker, the one that was seen last at the end.
    """

    at: datetime
    results: int
    machines: tuple[MachineStatus, ...]
    studies: tuple[StudyStatus, ...]
    waiting: tuple[Waiting, ...]
    failed: tuple[FailedBatch, ...]
    settings: tuple[SettingStatus, ...] = ()
    away: tuple[AwayMachine, ...] = ()
