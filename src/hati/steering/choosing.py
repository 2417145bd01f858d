"""The choice of the next batch for a machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core.wording import counted, listed


class Requirements(Struct, frozen=True):
    """What a batch needs of a machine.

    ``sources`` are digests of the subject's files, and ``revisions`` what people call these; ``machines`` are the names
    of which it must have one, any where there are none; ``cpus`` is the least number of CPUs.
    """

    sources: tuple[str, ...] = ()
    revisions: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    cpus: int = 1


class Client(Struct, frozen=True):
    """A machine that asks for work: its identity, its name, its CPUs, and digests of the files that it has."""

    machine: str
    name: str
    cpus: int = 1
    sources: tuple[str, ...] = ()


def unmet(requirements: Requirements, client: Client) -> str:
    """The first requirement that a machine does not meet, in words; empty where it meets all."""
    if requirements.machines and client.name not in requirements.machines:
        return f"runs on {listed(requirements.machines)} only"
    if requirements.cpus > client.cpus:
        return f"needs {counted(requirements.cpus, 'CPU')}"
    if not set(requirements.sources) <= set(client.sources):
        return f"needs the files of revision {listed(requirements.revisions)}"
    return ""


def obstacle(requirements: Requirements, machine: str | None, clients: Sequence[Client]) -> str:
    """Why no machine of those that are there may run a batch, in words; empty where one may.

    ``machine`` is the identity of that on which the batch has begun, None where it has on none.
    """
    if not clients:
        return "no worker is there"
    able = [client for client in clients if machine in {None, client.machine}]
    reasons = {unmet(requirements, client) for client in able}
    if "" in reasons:
        return ""
    return listed(sorted(reasons)) or "begun on a machine that has no worker now"


IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class OpenBatches:
    """The batches that wait for a machine, as arrays of shape (batches,).

    ``numbers`` grow with each release. ``study``, ``requirement`` and ``machine`` are places in ``studies``,
    ``requirements`` and ``machines``; ``machine`` is that on which a batch has begun, -1 where it has on none.
    """

    numbers: IntArray
    study: IntArray
    requirement: IntArray
    machine: IntArray
    studies: tuple[str, ...]
    requirements: tuple[Requirements, ...]
    machines: tuple[str, ...]

    @classmethod
    def of(cls, rows: Iterable[tuple[int, str, Requirements, str | None]]) -> OpenBatches:
        """Those of rows: number, study, requirements, and the machine on which the batch has begun."""
        studies: dict[str, int] = {}
        requirements: dict[Requirements, int] = {}
        machines: dict[str, int] = {}
        found = [
            (
                number,
                studies.setdefault(study, len(studies)),
                requirements.setdefault(needed, len(requirements)),
                -1 if machine is None else machines.setdefault(machine, len(machines)),
            )
            for number, study, needed, machine in rows
        ]
        numbers, study, requirement, machine = np.array(found, dtype=np.int64).reshape(-1, 4).T
        about = (tuple(studies), tuple(requirements), tuple(machines))
        return cls(numbers, study, requirement, machine, *about)


class SteeringDecision(Struct, frozen=True):
    """The number of the chosen batch, None where there is none for the machine, and why."""

    batch: int | None
    reason: str


def choose(open_: OpenBatches, under_way: Mapping[str, int], client: Client) -> SteeringDecision:
    """The batch that a machine runs next: of the study with the fewest batches under way, the one released first.

    A batch that has begun on a machine stays there, and is resumed before all others. Of studies with equally many
    under way comes first which released first.

    Args:
        open_: what waits.
        under_way: the number of batches that machines run now, by study; 0 where a study is not in it.
        client: the machine.
    """
    if not open_.numbers.size:
        return SteeringDecision(None, "nothing is open")
    reasons = [unmet(each, client) for each in open_.requirements]
    met = np.array([not reason for reason in reasons])[open_.requirement]
    own = open_.machines.index(client.machine) if client.machine in open_.machines else -2
    mine = met & (open_.machine == own)
    if mine.any():
        return SteeringDecision(int(open_.numbers[mine].min()), "begun here")
    fit = met & (open_.machine == -1)
    if not fit.any():
        return SteeringDecision(None, _refusal(reasons))
    busy = np.array([under_way.get(study, 0) for study in open_.studies])
    fewest = busy[np.unique(open_.study[fit])].min()
    fit &= busy[open_.study] == fewest
    several = len(open_.studies) > 1
    return SteeringDecision(
        int(open_.numbers[fit].min()), "study with fewest under way" if several else "released first"
    )


def _refusal(reasons: Sequence[str]) -> str:
    return listed(sorted(set(filter(None, reasons)))) or "begun on another machine"
