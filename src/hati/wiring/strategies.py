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
        InputError: where there is none, or its package cannot be used.
    """
    if name in STRATEGIES:
        return partial(choose, strategy=STRATEGIES[name])
    found: Strategy = load_added(GROUP, name, "strategy", callable_only, tuple(STRATEGIES))

    def checked(queues: Sequence[Queue], under_way: Mapping[str, int], client: Client) -> SteeringDecision:
        decision: object = called(f"the strategy {name!r}", found, queues, under_way, client)
        heads = {None, *(queue.head for queue in queues)}
        if not isinstance(decision, SteeringDecision) or decision.batch not in heads:
            raise InputError(f"the strategy {name!r} chose {decision!r}", fix="return the head of one of its queues")
        return decision

    return partial(choose, strategy=checked)
