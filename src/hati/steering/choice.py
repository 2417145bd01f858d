"""The choice of a machine's next batch: pure, from what is open, what is in progress, and what the machine has."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct

from hati.core import replace
from hati.core.errors import InputError
from hati.core.wording import counted, listed


class ClientKind(StrEnum):
    """Who asks for work: a worker with the project's files, or a volunteer, which runs signed releases only."""

    WORKER = "worker"
    VOLUNTEER = "volunteer"


class Requirements(Struct, frozen=True):
    """The requirements of a batch on a machine.

    ``sources`` are digests of the subject's files, and ``revisions`` are the names of their revisions for people;
    ``machines`` are the names of the allowed machines, any where empty; ``cpus`` is the least number of CPUs; ``kind``
    is the kind of machine that may run it; ``replicas`` is the number of machines that have to agree on each result.
    ``attributes`` are names and values that the machine has to have, such as its compiler. Batches of a higher
    ``priority`` are run first, and among equals those that are ``due`` earlier, in seconds since 1970.
    """

    sources: tuple[str, ...] = ()
    revisions: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    cpus: int = 1
    kind: ClientKind = ClientKind.WORKER
    replicas: int = 1
    priority: int = 0
    due: float | None = None
    attributes: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.replicas < 1:
            raise InputError("the number of machines that have to agree is below 1", fix="write 1 or more")

    @property
    def bound(self) -> bool:
        """Whether a batch that a machine has begun stays on it; a volunteer may never come back."""
        return self.kind is ClientKind.WORKER and self.replicas == 1

    @property
    def urgency(self) -> tuple[int, float]:
        """Smaller for batches that are run first."""
        return -self.priority, math.inf if self.due is None else self.due


CLASS = "class"
"""The attribute of each machine that is its class."""


def hardware_class(architecture: str, processor: str, cpus: str) -> str:
    """The class of a machine: times of two machines are comparable where it is equal."""
    return f"{architecture}, {processor}, {cpus} CPUs"


ANYTHING = Requirements()
"""What any worker meets."""


class Client(Struct, frozen=True):
    """A machine that asks for work: its identity, name, CPUs, digests of the files that it has, and its kind.

    ``hardware`` is its class, within which times are comparable; empty: its own. ``attributes`` are what else it has:
    names, and the values of each, such as its compilers.
    """

    machine: str
    name: str
    cpus: int = 1
    sources: tuple[str, ...] = ()
    kind: ClientKind = ClientKind.WORKER
    hardware: str = ""
    attributes: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def has(self, attribute: str, value: str) -> bool:
        """Whether the machine has a value of an attribute; its class is one."""
        if attribute == CLASS:
            return value == self.hardware
        return any(value in values for name, values in self.attributes if name == attribute)


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
    missing = [f"{name}={value}" for name, value in requirements.attributes if not client.has(name, value)]
    return f"needs a machine with {listed(missing)}" if missing else ""


def obstacle(
    requirements: Requirements,
    machine: str | None,
    clients: Mapping[str, Client],
    reported: Set[str] = frozenset(),
) -> str:
    """The reasons why no present machine may run a batch, in words; empty where one may.

    ``machine`` is the identity of the machine on which the batch has begun, None where it has not. ``clients`` maps
    identities of machines to their clients. ``reported`` are the machines whose results of it wait for others.
    """
    if not clients:
        return "no worker is there"
    if machine is None:
        able: Iterable[Client] = clients.values()
    else:
        able = filter(None, [clients.get(machine)])
    reasons = {client.machine: unmet(requirements, client) for client in able}
    fit = {identity for identity, reason in reasons.items() if not reason}
    number = len(fit | reported)
    if fit and number < requirements.replicas:
        there = "1 of them is" if number == 1 else f"{number} of them are"
        return f"needs {requirements.replicas} machines that agree, and {there} there"
    if fit and fit <= reported:
        return "has results on which the machines that are there disagree; another one has to report"
    if fit:
        return ""
    return listed(sorted(set(reasons.values()))) or "begun on a machine that has no worker now"


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


Strategy = Callable[[Sequence[Queue], Mapping[str, int], Client], SteeringDecision]
"""Chooses among the queues whose batches a machine may begin, one or more; its arguments are those of ``choose``."""


def choose(
    queues: Sequence[Queue], under_way: Mapping[str, int], client: Client, strategy: Strategy | None = None
) -> SteeringDecision:
    """The batch that a machine runs next.

    A batch that has begun on a machine stays there, and is resumed before all others. A strategy orders the others.

    Args:
        queues: the waiting batches.
        under_way: the number of batches that machines run now, by study; 0 where a study is not in it.
        client: the machine.
        strategy: what chooses among the batches that it may begin [default: ``fair``].
    """
    if not queues:
        return SteeringDecision(None, "nothing is open")
    reasons = {needed: unmet(needed, client) for needed in {queue.requirements for queue in queues}}
    met = [queue for queue in queues if not reasons[queue.requirements]]
    begun = [queue.head for queue in met if queue.machine == client.machine]
    if begun:
        return SteeringDecision(min(begun), "begun here")
    free = [queue for queue in met if queue.machine is None]
    if not free:
        return SteeringDecision(None, listed(sorted(set(filter(None, reasons.values())))) or "begun on another machine")
    decision = (strategy or fair)(free, under_way, client)
    needed = next((queue.requirements.attributes for queue in free if queue.head == decision.batch), ())
    having = listed(f"{name}={value}" for name, value in needed)
    return replace(decision, reason=f"{decision.reason}; needs {having}") if having else decision


def fair(queues: Sequence[Queue], under_way: Mapping[str, int], _: Client) -> SteeringDecision:
    """Of the highest priority, and of these the earliest due: the study with the fewest batches in progress.

    Studies with equally many are served in the order of release, and so are the batches of a study.
    """
    chosen = min(queues, key=lambda each: (*each.requirements.urgency, under_way.get(each.study, 0), each.head))
    urgencies = {each.requirements.urgency for each in queues}
    if len({priority for priority, _ in urgencies}) > 1:
        return SteeringDecision(chosen.head, "highest priority")
    if len(urgencies) > 1:
        return SteeringDecision(chosen.head, "earliest due")
    several = len({each.study for each in queues}) > 1
    return SteeringDecision(chosen.head, "study with fewest under way" if several else "released first")


def oldest(queues: Sequence[Queue], _: Mapping[str, int], __: Client) -> SteeringDecision:
    """The batch that was released first, of whatever study."""
    return SteeringDecision(min(each.head for each in queues), "released first")


def newest(queues: Sequence[Queue], _: Mapping[str, int], __: Client) -> SteeringDecision:
    """A batch of the study that released last, as of the latest change; its batches in their order."""
    return SteeringDecision(max(each.head for each in queues), "released last")


Choose = Callable[[Sequence[Queue], Mapping[str, int], Client], SteeringDecision]
"""``choose`` with a strategy."""
STRATEGIES: Mapping[str, Strategy] = MappingProxyType({"fair": fair, "oldest": oldest, "newest": newest})
"""Hati's strategies, by their names; the first one is the default."""
