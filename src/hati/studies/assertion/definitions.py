"""Of which definition of its benchmark a run is, where two machines are compared: never of several."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from hati.core import Run

Machines = tuple[str, str]
"""The fingerprints of both."""


class DefinedRun(Struct, frozen=True):
    """A run and what its benchmark was then: canonical JSON, empty where that is not known."""

    run: Run
    definition: str


class SetAside(Struct, frozen=True):
    """Runs of a benchmark on a machine that are of another definition than those that are taken, and in what."""

    benchmark: str
    machine: str
    runs: int
    differs: tuple[str, ...]


class Former(Struct, frozen=True):
    """A benchmark that is taken as it was when it was last run on both machines, and what is another now."""

    benchmark: str
    differs: tuple[str, ...]


class Taken(Struct, frozen=True):
    """The runs of one definition of each benchmark; ``unlike`` says what differs where the machines share none."""

    runs: tuple[Run, ...]
    set_aside: tuple[SetAside, ...]
    former: tuple[Former, ...]
    unlike: Mapping[str, tuple[str, ...]]


def taken_runs(
    defined: Sequence[DefinedRun], now: Mapping[str, str], machines: Machines, essence: Callable[[str], str]
) -> Taken:
    """Of each benchmark the runs of the definition that it has ``now``, else of the latest that both machines ran.

    ``essence`` is what of a definition has to be the same on both machines; on one machine all of it has to be.
    """
    found: dict[str, list[DefinedRun]] = defaultdict(list)
    for each in defined:
        if each.run.machine in machines:
            found[each.run.task.benchmark].append(each)
    choices = {name: _choice(runs, now.get(name, ""), machines, essence) for name, runs in found.items()}
    return Taken(
        tuple(each.run for name, runs in found.items() for each in runs if choices[name].is_taken(each)),
        tuple(left for name, runs in found.items() for left in _left(name, runs, choices[name])),
        tuple(Former(name, each.former) for name, each in choices.items() if each.former),
        {name: each.unlike for name, each in choices.items() if each.unlike},
    )


def differing(one: str, other: str) -> tuple[str, ...]:
    """The parts of two definitions that are not the same; none of equal ones."""
    if one == other:
        return ()
    if not (one and other):
        return ("not known",)
    first, second = (json.loads(text) for text in (one, other))
    return tuple(sorted(key for key in first.keys() | second.keys() if first.get(key) != second.get(key)))


class _Choice(Struct, frozen=True):
    """The definition of a benchmark that is taken on each machine, none where they share none: that is ``unlike``."""

    taken: Mapping[str, str]
    former: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()

    def is_taken(self, each: DefinedRun) -> bool:
        return self.taken.get(each.run.machine) == each.definition


def _choice(known: Sequence[DefinedRun], now: str, machines: Machines, essence: Callable[[str], str]) -> _Choice:
    latest = sorted(known, key=lambda each: each.run.started, reverse=True)
    on = {
        machine: dict.fromkeys(each.definition for each in latest if each.run.machine == machine)
        for machine in machines
    }
    there = [{essence(definition) for definition in definitions} for definitions in on.values()]
    common = there[0] & there[1] if all(there) else there[0] | there[1]
    if not common:
        return _Choice({}, unlike=differing(*(essence(next(iter(definitions))) for definitions in on.values())))
    meant = next(found for text in (now, *(each.definition for each in latest)) if (found := essence(text)) in common)
    taken = {
        machine: next(text for text in (now, *definitions) if text in definitions and essence(text) == meant)
        for machine, definitions in on.items()
        if definitions
    }
    return _Choice(taken, former=differing(meant, essence(now)))


def _left(name: str, known: Sequence[DefinedRun], choice: _Choice) -> Iterator[SetAside]:
    """Those of other definitions than the one that is taken."""
    others = Counter((each.run.machine, each.definition) for each in known if not choice.is_taken(each))
    for (machine, definition), count in others.items():
        if machine in choice.taken:
            yield SetAside(name, machine, count, differing(definition, choice.taken[machine]))
