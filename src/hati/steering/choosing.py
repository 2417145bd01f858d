"""The choice of the next batch for a machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

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


def obstacle(requirements: Requirements, machine: str | None, clients: Mapping[str, Client]) -> str:
    """Why no machine of those that are there may run a batch, in words; empty where one may.

    ``machine`` is the identity of that on which the batch has begun, None where it has on none. ``clients`` are by
    their machines' identities.
    """
    if not clients:
        return "no worker is there"
    if machine is None:
        able: Iterable[Client] = clients.values()
    else:
        able = filter(None, [clients.get(machine)])
    reasons = set[str]()
    for client in able:
        reason = unmet(requirements, client)
        if not reason:
            return ""
        reasons.add(reason)
    return listed(sorted(reasons)) or "begun on a machine that has no worker now"


class Queue(Struct, frozen=True):
    """Batches of a study that wait and require the same of a machine; they are run in the order of their release.

    ``head`` is the number of the batch that was released first; numbers grow with each release. ``machine`` is that on
    which all of them have begun, None where they have on none.
    """

    head: int
    study: str
    requirements: Requirements
    machine: str | None = None


class SteeringDecision(Struct, frozen=True):
    """The number of the chosen batch, None where there is none for the machine, and why."""

    batch: int | None
    reason: str


def choose(queues: Sequence[Queue], under_way: Mapping[str, int], client: Client) -> SteeringDecision:
    """The batch that a machine runs next: of the study with the fewest batches under way, the one released first.

    A batch that has begun on a machine stays there, and is resumed before all others. Of studies with equally many
    under way comes first which released first.

    Args:
        queues: what waits.
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
