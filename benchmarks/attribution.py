"""``python -m benchmarks.attribution``: the causes that regression checks name, wrong ones and right ones.

Checks are simulated over suites of a space of eight options with strata of the first one, two or three, in rounds with
2 % noise, and concluded as ``hati check`` does. A cause is wrong if the change does not depend on the option.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from benchmarks.gating import MAIN, NEW, OLD
from benchmarks.markdown import table
from benchmarks.parallel import spread
from hati.core import Assignment, Budget, Configuration, Evidence, Setting, Task
from hati.design.suite import screening_suite
from hati.space import Option, Space
from hati.studies.comparison import Question
from hati.studies.gate import Cell, Gate, gate_id
from hati.testing import FakeEngine

CHECKS = 400
ROUNDS = 16
NOISE = 0.02
GOAL = 0.05
"""The largest fraction of checks with a wrong cause."""
_SWITCH: tuple[Setting, ...] = (False, True)
OPTIONS: dict[str, tuple[Setting, ...]] = {
    "cache": _SWITCH,
    "independent": _SWITCH,
    "log": _SWITCH,
    "rsync": _SWITCH,
    "quiet": _SWITCH,
    "sync": _SWITCH,
    "threads": (1, 2, 4),
    "level": (1, 5, 6, 9),
}
SPACE = Space(tuple(Option(name, settings, settings[0]) for name, settings in OPTIONS.items()))
STRATA = {4: ("cache",), 8: ("cache", "independent"), 16: ("cache", "independent", "log")}


@dataclass(frozen=True)
class World:
    """The logarithm of the ratio of a configuration, with its number, and the options on which it depends."""

    name: str
    change: Callable[[Configuration, int], float] = field(compare=False)
    options: frozenset[str] = frozenset()


WORLDS = {
    world.name: world
    for world in (
        World("none", lambda _, __: 0.0),
        World("20 % everywhere", lambda _, __: 0.18),
        World("cache, of strata", lambda at, _: 0.18 * float(at["cache"] is True), frozenset({"cache"})),
        World("rsync, beyond strata", lambda at, _: 0.18 * float(at["rsync"] is True), frozenset({"rsync"})),
        World(
            "cache with independent, of strata",
            lambda at, _: 0.22 * float(at["cache"] is True and at["independent"] is True),
            frozenset({"cache", "independent"}),
        ),
        World(
            "threads=2 with independent",
            lambda at, _: 0.22 * float(at["threads"] == 2 and at["independent"] is True),
            frozenset({"threads", "independent"}),
        ),
        World(
            "rsync with quiet, beyond strata",
            lambda at, _: 0.22 * float(at["rsync"] is True and at["quiet"] is True),
            frozenset({"rsync", "quiet"}),
        ),
        World(
            "cache and rsync",
            lambda at, _: 0.18 * float(at["cache"] is True) + 0.12 * float(at["rsync"] is True),
            frozenset({"cache", "rsync"}),
        ),
        World(
            "cache, rsync and quiet",
            lambda at, _: (
                0.18 * float(at["cache"] is True) + 0.12 * float(at["rsync"] is True) + 0.1 * float(at["quiet"] is True)
            ),
            frozenset({"cache", "rsync", "quiet"}),
        ),
        World("one configuration", lambda _, place: 0.25 * float(place == 0)),
    )
}


def named(about: tuple[str, int, int]) -> frozenset[str]:
    """The causes that a check names, in a world with a number of configurations and a seed."""
    world, size, seed = about
    suite = screening_suite(SPACE, STRATA[size], size, np.random.default_rng([seed, 79]))
    cells = tuple(
        Cell(MAIN, configuration, Assignment(suite.strata[owner].setting))
        for configuration, owner in zip(suite.configurations, suite.owners, strict=True)
    )
    order = {cell.configuration: int(place) for place, cell in enumerate(cells)}
    rng, question, budget = np.random.default_rng([seed, 80]), Question(), Budget(runs=2 * ROUNDS * size)

    def measure(task: Task) -> dict[str, list[float]]:
        at = task.configuration
        moved = WORLDS[world].change(at, order[at]) if task.revision == NEW.id else 0.0
        return {"time": [float(np.exp(moved + rng.normal(0.0, NOISE)))]}

    gate = Gate(gate_id(cells, OLD, NEW, question, seed, "m"), OLD, NEW, cells, question, budget)
    runs = FakeEngine(measure).run(gate.dry_run_tasks())
    return frozenset(each.option for each in gate.conclude(Evidence(tuple(runs))).affected_options)


def result(checks: int = CHECKS) -> tuple[str, bool]:
    """The table as Markdown, and whether its goal is reached."""
    cases = list(product(WORLDS, STRATA))
    found = iter(spread(named, ((*case, seed) for case in cases for seed in range(1, checks + 1))))
    rows, met = [], list[bool]()
    for name, size in cases:
        own, options = [next(found) for _ in range(checks)], WORLDS[name].options
        wrong = sum(bool(each - options) for each in own) / checks
        met.append(wrong <= GOAL)
        some, all_of_them = (
            f"{sum(each) / checks:.0%}" if options else ""
            for each in ([bool(each & options) for each in own], [options <= each for each in own])
        )
        rows.append((name, str(size), f"{wrong:.1%}", some, all_of_them, "yes" if met[-1] else "NO"))
    text = table(
        "Causes that checks name",
        ("change depends on", "configurations", "a wrong option", "a right one", "all right ones", "met"),
        rows,
        f"{checks:,} simulated checks a row, of {ROUNDS} rounds at 1 %; met: at most {GOAL:.0%} name a wrong option.",
    )
    return text, all(met)


def main() -> int:
    text, held = result()
    print(text)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
