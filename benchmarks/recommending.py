"""``python -m benchmarks.recommending``: how often a recommendation is wrong, and how good its configurations are.

Simulated programs are screened by 64 runs of a regular fraction, whose aliases mislead most. The study of
`hati screen --recommend` continues with 90 runs, or 28, by the plan that the command makes. Seeds 1 to 400; ``--quick``
takes the first 60. Exits with 1 if a goal is missed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from benchmarks.markdown import table
from hati.campaign import campaign
from hati.core import Benchmark, Better, Budget, Configuration, Metric, Reader, ReaderKind, Setting, Task, generator
from hati.space import Option, Space
from hati.stats import proportion
from hati.studies.recommendation import (
    KeepRule,
    Recommendation,
    RecommendationConclusion,
    plan_recommendation,
    recommendation_id,
)
from hati.studies.screening import choose, screening, study_id
from hati.testing import FakeEngine, MemoryStore
from hati.wiring.screening.recommendation import as_findings

REPLICATES = 400
QUICK = 60
SCREENED, RUNS, FEW = 64, 90, 28
NEAR = 0.05
RATE = Metric("rate", "1/s", Better.HIGHER)
MEMORY = Metric("memory", "B")
BENCHMARK = Benchmark("main", ("true",), Reader(ReaderKind.HATI), (RATE, MEMORY))

World = Callable[[Mapping[str, Setting]], tuple[float, float]]
"""The expected rate and memory of a configuration."""


@dataclass(frozen=True)
class Case:
    """A world with the options that matter in it, the number of others, and the noise of a run, a fraction.

    The goals are the least fractions of studies that confirm something, and that end ``near`` the best.
    """

    name: str
    world: World
    active: tuple[str, ...]
    inert: int
    noise: float
    keep: tuple[KeepRule, ...] = ()
    runs: int = RUNS
    confirmed: float = 0.0
    near: float = 0.0

    @property
    def space(self) -> Space:
        """All options are off or on, and off by default."""
        names = (*self.active, *(f"inert{number}" for number in range(self.inert)))
        return Space(tuple(Option(name, ("off", "on"), default="off") for name in names))


@dataclass(frozen=True)
class Tally:
    """The outcomes of the studies of a case.

    ``listed`` counts confirmed configurations with a setting that has no true gain given the others, ``broken`` those
    that break a rule; ``near`` those within ``NEAR`` of the best configuration that keeps the rules.
    """

    studies: int
    confirmed: int
    listed: int
    broken: int
    near: int
    runs: float


def _on(configuration: Mapping[str, Setting], name: str) -> bool:
    return configuration.get(name) == "on"


def nothing(_: Mapping[str, Setting]) -> tuple[float, float]:
    """No option matters."""
    return 1000.0, 100.0


def dominated(c: Mapping[str, Setting]) -> tuple[float, float]:
    """One option (off by default) hides two others, which do the same thing; buffers helps everywhere, for memory."""
    rate = 1000.0 * (1.15 if _on(c, "buffers") else 1.0)
    if _on(c, "jit"):
        rate *= 0.04
    elif _on(c, "nosync"):
        rate *= 1.41
    elif _on(c, "async"):
        rate *= 1.31
    return rate, 150.0 if _on(c, "buffers") else 100.0


def redundant(c: Mapping[str, Setting]) -> tuple[float, float]:
    """One option (off by default) hides two others, which do the same thing."""
    return 1000.0 * (0.04 if _on(c, "jit") else 1.43 if _on(c, "nosync") or _on(c, "async") else 1.0), 100.0


def additive(c: Mapping[str, Setting]) -> tuple[float, float]:
    """Three settings help, two hurt."""
    sizes = {"a": 0.2, "b": 0.12, "c": 0.08, "d": -0.1, "e": -0.3}
    return 1000.0 * math.exp(sum(size for name, size in sizes.items() if _on(c, name))), 100.0


def at_the_limit(c: Mapping[str, Setting]) -> tuple[float, float]:
    """The one setting that helps takes exactly as much memory as the rule allows."""
    return (1300.0, 110.001) if _on(c, "cache") else (1000.0, 100.0)


KEEP = (KeepRule("memory", 1.1),)
DOMINATED = ("jit", "nosync", "async", "buffers")
CASES = (
    Case("nothing matters", nothing, (), 10, 0.03),
    Case("one option dominates, noise 3 %", dominated, DOMINATED, 6, 0.03, confirmed=0.85, near=0.8),
    Case("one option dominates, noise 6 %", dominated, DOMINATED, 6, 0.06, confirmed=0.85, near=0.25),
    Case("additive, noise 3 %", additive, tuple("abcde"), 5, 0.03, confirmed=0.6, near=0.5),
    Case("nothing matters, 28 runs", nothing, (), 17, 0.06, runs=FEW),
    Case(
        "one option dominates, noise 6 %, 28 runs",
        redundant,
        ("jit", "nosync", "async"),
        14,
        0.06,
        runs=FEW,
        confirmed=0.95,
        near=0.95,
    ),
    Case("additive, noise 3 %, 28 runs", additive, tuple("abcde"), 12, 0.03, runs=FEW, confirmed=0.95),
    Case("memory <= 1.1 * default, at the limit", at_the_limit, ("cache",), 7, 0.03, KEEP),
    Case("memory <= 1.1 * default, dominated", dominated, DOMINATED, 6, 0.03, KEEP, confirmed=0.95, near=0.8),
)
FALSE = 0.05


def recommended(case: Case, seed: int) -> RecommendationConclusion:
    """The conclusion of one study."""
    space = case.space

    def measured(task: Task) -> dict[str, list[float]]:
        noise = case.noise * generator(seed, task.id).standard_normal(2)
        rate, memory = case.world(task.configuration)
        return {"rate": [rate * math.exp(float(noise[0]))], "memory": [memory * math.exp(float(noise[1]) / 3.0)]}

    engine = FakeEngine(measured, {"rate": "1/s", "memory": "B"})
    asked = study_id(
        subject="simulated",
        revision="1",
        benchmark=BENCHMARK,
        space=space,
        budget=str(SCREENED),
        seed=seed,
        machine="fake",
    )
    choice = choose(len(space.options), SCREENED)
    study = screening(
        study=asked, subject="simulated", benchmark=BENCHMARK, metric=RATE, revision="1", space=space, choice=choice
    )
    store = MemoryStore()
    conclusion = campaign(study, engine, store, Budget(runs=SCREENED))
    findings = as_findings(conclusion, study.measured(store.evidence(asked)), study.space)
    made = recommendation_id(
        screening=asked.key,
        metric=RATE.name,
        relevant=0.01,
        budget=str(case.runs),
        seed=seed,
        machine="fake",
        revision="1",
        keep=case.keep,
    )
    plan = plan_recommendation(space, findings, case.runs, generator(seed, "recommendation"))
    wanted = Recommendation(
        made,
        asked.key,
        "simulated",
        BENCHMARK,
        (RATE, MEMORY),
        "1",
        space,
        plan,
        looked_up=False,
        relevant=0.01,
        keep=case.keep,
    )
    return campaign(wanted, engine, MemoryStore(), Budget(runs=case.runs))


def tally(case: Case, replicates: int) -> Tally:
    """Count the outcomes of studies, with seeds from 1."""
    best = _best(case)
    confirmed = listed = broken = near = 0
    runs = 0
    for seed in range(1, replicates + 1):
        found = recommended(case, seed)
        runs += found.done
        sure = [one for one in found.recommended if one.confirmed]
        confirmed += bool(sure)
        listed += any(_without_gain(case, one.configuration, dict(one.set)) for one in sure)
        broken += any(not _keeps(case, one.configuration) for one in sure)
        chosen = [one.configuration for one in sure] or [case.space.default]
        near += max(case.world(each)[0] for each in chosen) >= (1.0 - NEAR) * best
    return Tally(replicates, confirmed, listed, broken, near, runs / replicates)


def _without_gain(case: Case, configuration: Configuration, settings: Mapping[str, Setting]) -> bool:
    rate = case.world(configuration)[0]
    return any(case.world({**configuration, name: "off"})[0] >= rate for name in settings)


def _keeps(case: Case, configuration: Configuration) -> bool:
    base, memory = case.world(case.space.default)[1], case.world(configuration)[1]
    return all(memory < rule.factor * base for rule in case.keep)  # at the limit it is not below it


def _best(case: Case) -> float:
    """The best expected rate of all combinations of the active options that keep the rules."""
    default = case.space.default
    every = (Configuration({**default, **dict(zip(case.active, each, strict=True))}) for each in _combinations(case))
    return max(case.world(each)[0] for each in every if each == default or _keeps(case, each))


def _combinations(case: Case) -> product[tuple[str, ...]]:
    return product(("off", "on"), repeat=len(case.active))


def missed(case: Case, found: Tally) -> list[str]:
    """The goals that a case misses: a ceiling by its lower 95 % limit, a floor by its upper one."""
    misses: list[str] = []
    for name, number in (("a setting without gain", found.listed), ("a broken rule", found.broken)):
        if proportion(number, found.studies).interval[0] > FALSE:
            misses.append(f"{name} in {number} of {found.studies}, goal at most {FALSE:.0%}")
    for name, number, goal in (
        ("confirmed", found.confirmed, case.confirmed),
        ("near the best", found.near, case.near),
    ):
        if proportion(number, found.studies).interval[1] < goal:
            misses.append(f"{name} in {number} of {found.studies}, goal at least {goal:.0%}")
    return misses


def report(replicates: int = REPLICATES, cases: Sequence[Case] = CASES) -> tuple[str, list[str]]:
    """The table as Markdown, and the goals that are missed."""
    found = {case.name: tally(case, replicates) for case in cases}
    head = ["world", "studies", "confirmed", "setting without gain", "rule broken", "within 5 % of the best", "runs"]
    rows = [
        [
            name,
            str(each.studies),
            f"{each.confirmed / each.studies:.3f}",
            f"{each.listed / each.studies:.3f}",
            f"{each.broken / each.studies:.3f}",
            f"{each.near / each.studies:.3f}",
            f"{each.runs:.0f}",
        ]
        for name, each in found.items()
    ]
    wrong = [f"{case.name}: {text}" for case in cases for text in missed(case, found[case.name])]
    return table("Recommendations", head, rows), wrong


def main() -> int:
    """Print the table and the goals."""
    text, wrong = report(QUICK if "--quick" in sys.argv else REPLICATES)
    print(text)
    print("\n".join(wrong) or f"All goals are met: settings without gain and broken rules in at most {FALSE:.0%}.")
    return 1 if wrong else 0


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    sys.exit(main())
