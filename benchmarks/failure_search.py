"""Runs until a planted failing combination is named and confirmed: `hati failures` compared with random order.

Also how often the rules of a classification tree are exactly the planted combinations.

The same rule judges both: the settings common to all failures so far are named once a passing run lacks each of them
alone, they failed in six configurations, and six runs without one of them passed.

Run it as: python -m benchmarks.failure_search
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from math import inf
from statistics import median

import numpy as np
from msgspec import Struct

from benchmarks.markdown import table
from hati.core import (
    Benchmark,
    Configuration,
    Evidence,
    Metric,
    Observations,
    Outcome,
    Reader,
    ReaderKind,
    Run,
    Task,
    Workload,
    generator,
)
from hati.space import Option, Space, sample
from hati.studies.failure_search import FailureSearch, failure_search_id, failure_tree
from hati.studies.failure_search.confirming import CONFIRMED

BENCHMARK = Benchmark("planted", ("true",), Reader(ReaderKind.HATI), (Metric("latency", "s"),))
GOAL = 0.65
MOST = 3000


class Case(Struct, frozen=True):
    """A failing combination of ``settings`` among binary ``options``; the median is over ``seeds``."""

    settings: int
    options: int
    strength: int
    seeds: int


CASES = (Case(3, 12, 3, 100), Case(2, 12, 2, 40), Case(2, 20, 2, 40), Case(3, 20, 3, 40), Case(5, 20, 4, 20))


class Reading:
    """Reads one run after the other, until the settings that fail are named and confirmed."""

    def __init__(self, options: int) -> None:
        self._core: np.ndarray | None = None
        self._first: np.ndarray | None = None
        self._failing: set[bytes] = set()
        self._passing = np.empty((0, options), dtype=np.bool_)

    def add(self, row: np.ndarray, failed: bool) -> bool:  # noqa: FBT001 - what a run is
        """Add a run, and return whether the failing settings are now named and confirmed."""
        if failed:
            self._first = row if self._first is None else self._first
            same = row == self._first
            self._core = same if self._core is None else self._core & same
            self._failing.add(row.tobytes())
        else:
            self._passing = np.vstack([self._passing, row])
        if self._core is None or len(self._failing) < CONFIRMED:
            return False
        missing = self._core & (self._passing != self._first)
        near = missing[missing.sum(axis=1) == 1]
        return len(near) >= CONFIRMED and bool((near.any(axis=0) == self._core).all())


def planted(case: Case, seed: int) -> tuple[Space, dict[str, bool]]:
    space = Space(tuple(Option(f"o{n}", (False, True), default=False) for n in range(case.options)))
    rng = generator(seed, "planted", str(case.options), str(case.settings))
    chosen = rng.choice(case.options, case.settings, replace=False).tolist()
    return space, {f"o{n}": bool(rng.integers(2)) for n in chosen}


def fails(configuration: Configuration, fault: dict[str, bool]) -> bool:
    return all(configuration[name] == setting for name, setting in fault.items())


def by_search(case: Case, space: Space, fault: dict[str, bool], seed: int) -> Iterator[Configuration]:
    """The configurations that the study runs, in order."""
    id_ = failure_search_id(
        benchmark=BENCHMARK, revision="1", space=space, strength=case.strength, seed=seed, machine="benchmark"
    )
    study, evidence = FailureSearch(id_, BENCHMARK, "1", space, case.strength), Evidence()
    while plan := study.plan(evidence):
        task = plan.tasks[0]
        yield task.configuration
        evidence = Evidence((*evidence.runs, run_of(task, fault)))


def run_of(task: Task, *faults: dict[str, bool]) -> Run:
    began = datetime(2026, 1, 1, tzinfo=UTC)
    if any(fails(task.configuration, fault) for fault in faults):
        return Run(task, "benchmark", began, 1.0, Outcome.FAILED, "planted", 1)
    return Run(task, "benchmark", began, 1.0, Outcome.DONE, observations=(Observations("latency", "s", np.ones(1)),))


def at_random(space: Space, seed: int) -> Iterator[Configuration]:
    """Configurations in random order, each once."""
    return iter(dict.fromkeys(sample(space, MOST, generator(seed, "random order"))))


def runs_until_named(configurations: Iterator[Configuration], space: Space, fault: dict[str, bool]) -> float:
    """The number of runs; infinity if the settings are not named."""
    reading = Reading(len(space.names))
    for number, configuration in enumerate(configurations, 1):
        row = np.array([configuration[name] for name in space.names], dtype=np.bool_)
        if reading.add(row, fails(configuration, fault)):
            return number
    return inf


def searches(cases: Sequence[Case]) -> tuple[str, bool]:
    rows, held = [], True
    for case in cases:
        searched, drawn = [], []
        for seed in range(case.seeds):
            space, fault = planted(case, seed)
            searched.append(runs_until_named(by_search(case, space, fault, seed), space, fault))
            drawn.append(runs_until_named(at_random(space, seed), space, fault))
        ratio = median(searched) / median(drawn)
        held = held and (case.settings > 3 or case.options > 12 or ratio <= GOAL)
        unnamed = sum(value == inf for value in searched)
        rows.append(
            [
                f"{case.settings} of {case.options}",
                case.strength,
                case.seeds,
                f"{median(searched):g}",
                unnamed,
                f"{median(drawn):g}",
                f"{ratio:.2f}",
            ]
        )
    note = f"Goal: at most {GOAL} of random order for 3 of 12. Not named: the array missed the combination."
    heads = [
        "failing settings",
        "strength",
        "seeds",
        "hati failures, median runs",
        "not named",
        "random order",
        "ratio",
    ]
    return table("Runs until a failing combination is named and confirmed", heads, rows, note), held


class TreeCase(Struct, frozen=True):
    """Failing combinations of these numbers of settings among 12 binary options; all seeds must be ``exact`` or not."""

    combinations: tuple[int, ...]
    seeds: int
    least_exact: int


TREE_CASES = (TreeCase((1,), 25, 25), TreeCase((3,), 25, 25), TreeCase((3, 2), 20, 14))
_RANDOM_RUNS = 100


def planted_together(case: TreeCase, seed: int) -> tuple[Space, tuple[dict[str, bool], ...]]:
    """A space, and combinations that share no option."""
    space = Space(tuple(Option(f"o{n}", (False, True), default=False) for n in range(12)))
    rng = generator(seed, "planted together", str(case.combinations))
    places = iter(rng.permutation(12).tolist())
    faults = (((f"o{next(places)}", bool(rng.integers(2))) for _ in range(size)) for size in case.combinations)
    return space, tuple(dict(each) for each in faults)


def exact(runs: Iterable[Run], faults: tuple[dict[str, bool], ...]) -> bool:
    """Whether the rules of these runs' tree are the combinations."""
    tree = failure_tree(runs, 1)
    wanted = {tuple(sorted(f"{name}={str(setting).lower()}" for name, setting in each.items())) for each in faults}
    return tree is not None and {rule.conditions for rule in tree.rules} == wanted


def trees(cases: Sequence[TreeCase]) -> tuple[str, bool]:
    rows, held = [], True
    for case in cases:
        found = {"random": 0, "search": 0}
        for seed in range(case.seeds):
            space, faults = planted_together(case, seed)
            drawn = sample(space, _RANDOM_RUNS, generator(seed, "runs of a tree"))
            tasks = (Task("s", "s", "planted", each, "1", Workload(), 0) for each in drawn)
            found["random"] += exact([run_of(task, *faults) for task in tasks], faults)
            found["search"] += exact(searched_runs(space, faults, seed), faults)
        held = held and min(found.values()) >= case.least_exact
        named = " and ".join(map(str, case.combinations))
        rows.append([f"{named} of 12", case.seeds, found["random"], found["search"], case.least_exact])
    heads = ["failing settings", "seeds", f"exact after {_RANDOM_RUNS} random runs", "exact after a search", "goal"]
    return table("Classification trees whose rules are exactly the failing combinations", heads, rows), held


def searched_runs(space: Space, faults: tuple[dict[str, bool], ...], seed: int) -> tuple[Run, ...]:
    """The runs of a whole search of strength 3."""
    id_ = failure_search_id(benchmark=BENCHMARK, revision="1", space=space, strength=3, seed=seed, machine="benchmark")
    study, evidence = FailureSearch(id_, BENCHMARK, "1", space, 3), Evidence()
    while plan := study.plan(evidence):
        evidence = Evidence((*evidence.runs, run_of(plan.tasks[0], *faults)))
    return evidence.runs


def result(cases: Sequence[Case] = CASES, of_trees: Sequence[TreeCase] = TREE_CASES) -> tuple[str, bool]:
    parts = (searches(cases), trees(of_trees))
    return "\n".join(text for text, _ in parts), all(held for _, held in parts)


def main() -> None:
    text, held = result()
    print(text)
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()
