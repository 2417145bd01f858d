"""The strategies by name, for workers and servers; packages add others by entry points of ``hati.strategies``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from hati.core import InputError
from hati.packages import added, callable_only, called, load_added
from hati.steering import STRATEGIES, Choose, Client, Queue, SteeringDecision, Strategy, choose

GROUP = "hati.strategies"
"""The group of entry points of other packages."""


def strategy_names() -> tuple[str, ...]:
    """Hati's strategies, the default one first, and those that packages add."""
    return tuple(dict.fromkeys([*STRATEGIES, *(entry.name for entry in added(GROUP))]))


def choose_by(name: str) -> Choose:
    """The choice of batches by the strategy of that name.

    Raises:
        InputError: where there is none, its package cannot be used, or a package has another of Hati's name.
    """
    if name in STRATEGIES:
        if other := next((entry.value for entry in added(GROUP) if entry.name == name), None):
            raise InputError(
                f"the strategy {name!r} of {other} has the name of one of Hati's", fix="rename it in its package"
            )
        return partial(choose, strategy=STRATEGIES[name])
    found: Strategy = load_added(GROUP, name, "strategy", callable_only, tuple(STRATEGIES))

    def checked(queues: Sequence[Queue], under_way: Mapping[str, int], client: Client) -> SteeringDecision:
        decision: object = called(f"the strategy {name!r}", found, queues, under_way, client)
        if not isinstance(decision, SteeringDecision) or not _usable(decision.batch, decision.reason, queues):
            raise InputError(
                f"the strategy {name!r} chose {decision!r}", fix="return the head of one of its queues, and why"
            )
        return decision

    return partial(choose, strategy=checked)


def _usable(batch: object, reason: object, queues: Sequence[Queue]) -> bool:
    """Whether a package's decision is the head of a queue, or none, with a reason in words: it has any types."""
    chosen = batch is None or (isinstance(batch, int) and batch in {queue.head for queue in queues})
    return chosen and isinstance(reason, str)
