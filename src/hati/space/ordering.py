"""Which options depend on each other, and an order of them that keeps decision diagrams small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_ROUNDS = 30


def blocks(names: Sequence[str], ties: Sequence[Sequence[str]]) -> list[list[str]]:
    """The names parted so that no tie crosses two parts; parts and names keep their order."""
    leader = {name: name for name in names}

    def find(name: str) -> str:
        while leader[name] != name:
            leader[name] = leader[leader[name]]
            name = leader[name]
        return name

    for tie in ties:
        for name in tie[1:]:
            leader[find(name)] = find(tie[0])
    parts: dict[str, list[str]] = {}
    for name in names:
        parts.setdefault(find(name), []).append(name)
    return list(parts.values())


def compact(names: Sequence[str], ties: Sequence[Sequence[str]]) -> list[str]:
    """An order of the names in which those of a tie stand close together.

    The given order unless FORCE finds one of smaller total span: Aloul, Markov and Sakallah, "FORCE: a
    fast and easy-to-implement variable-ordering heuristic", GLSVLSI 2003. Every tie pulls its names to
    its centre of gravity, round after round.
    """
    best = list(names)
    smallest = _span(best, ties)
    order = best
    for _ in range(_ROUNDS):
        order = _pulled(order, ties)
        span = _span(order, ties)
        if span >= smallest:
            break
        best, smallest = order, span
    return best


def _positions(order: Sequence[str]) -> Mapping[str, int]:
    return {name: position for position, name in enumerate(order)}


def _span(order: Sequence[str], ties: Sequence[Sequence[str]]) -> int:
    at = _positions(order)
    return sum(max(at[name] for name in tie) - min(at[name] for name in tie) for tie in ties if tie)


def _pulled(order: Sequence[str], ties: Sequence[Sequence[str]]) -> list[str]:
    at = _positions(order)
    pulls: dict[str, list[float]] = {name: [] for name in order}
    for tie in ties:
        for name in tie:
            pulls[name].append(sum(at[other] for other in tie) / len(tie))
    goal = {name: sum(pull) / len(pull) if pull else at[name] for name, pull in pulls.items()}
    return sorted(order, key=lambda name: (goal[name], at[name]))
