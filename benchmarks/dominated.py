"""Screenings of programs in which one option explains nearly all of the variance.

``python -m benchmarks.dominated`` prints a table as Markdown, in about an hour; ``--quick`` a tenth of the studies.
Each study is planned, run and concluded as `hati screen` does: with the interim look, after which all runs are made at
the dominating option's better setting, and for comparison without it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import stats

from benchmarks import simulated
from benchmarks.markdown import table
from benchmarks.parallel import spread
from hati.core import Setting, Task, replace
from hati.space import Option, Space
from hati.studies.recommendation import plan_recommendation
from hati.studies.screening import ModelChoice, ModelScreening, choose_followed
from hati.wiring.screening.recommendation import as_findings

STUDIES = 400
SLOW, FIRST, SECOND = "jit", "fsync", "synchronous_commit"


@dataclass(frozen=True)
class World:
    """Programs of one kind: what acts in them, the options and runs of a study, and the noise of a run."""

    name: str
    acts: str
    options: int
    runs: int
    noise: float

    @property
    def space(self) -> Space:
        """Options with two settings; the first three have names, and the others do nothing."""
        names = (SLOW, FIRST, SECOND, *(f"x{i}" for i in range(self.options - 3)))
        return Space(tuple(Option(name, ("default", "other"), "default") for name in names))

    def seconds(self, configuration: Mapping[str, Setting]) -> float:
        """The latency of a configuration without noise."""
        slow, first, second = (configuration[name] == "other" for name in (SLOW, FIRST, SECOND))
        faster = 1.6 if first else 1.55 if second else 1.0
        if self.acts == "weakly everywhere":
            faster = (1.07 if first else 1.0) * (1.05 if second else 1.0)
        if self.acts == "none":
            return 1.0
        if self.acts == "jit alone":
            return 25.0 if slow else 1.0
        if self.acts == "no jit":
            return 1.0 / faster
        if self.acts in ("everywhere", "weakly everywhere"):
            return (25.0 if slow else 1.0) / faster
        if self.acts == "at the worse setting":
            return 25.0 / faster if slow else 1.0
        return 25.0 if slow else 1.0 / faster


POSTGRESQL = tuple(
    World("PostgreSQL-like", "at the better setting", options, 55, noise)
    for options in (12, 17)
    for noise in (0.03, 0.08)
)
OTHERS = (
    World("jit alone", "jit alone", 12, 55, 0.05),
    World("jit alone", "jit alone", 17, 55, 0.05),
    World("jit alone", "jit alone", 12, 96, 0.05),
    World("others act alike at both settings", "everywhere", 12, 55, 0.05),
    World("others act weakly and alike at both settings", "weakly everywhere", 12, 55, 0.05),
    World("others act at the worse setting only", "at the worse setting", 12, 55, 0.05),
    World("no jit", "no jit", 12, 55, 0.05),
    World("nothing acts", "none", 12, 55, 0.05),
)


@dataclass(frozen=True)
class Outcome:
    """One study: whether all later runs were made at one setting, what is important, and what is recommended."""

    narrowed: bool
    slow: bool
    first: bool
    second: bool
    inert: bool
    tried: bool
    tried_first: bool
    predicted: bool


def study(world: World, seed: int, *, look: bool) -> Outcome:
    """One program, screened with or without the interim look."""
    rng = np.random.default_rng([seed, 18, 5])
    space = world.space
    choice = choose_followed(space, world.runs, np.random.default_rng(seed))
    assert isinstance(choice, ModelChoice)
    plan = simulated.planned(space, choice if look else replace(choice, look=0), seed)
    assert isinstance(plan, ModelScreening)

    def measure(task: Task) -> Mapping[str, Sequence[float]]:
        value = world.seconds(task.configuration) * math.exp(world.noise * float(rng.standard_normal()))
        return {simulated.METRIC.name: [value]}

    evidence = simulated.made(plan, measure)
    found = plan.conclude(evidence)
    narrowed = plan.narrowed(evidence)
    of_rest = narrowed or plan
    advice = plan_recommendation(
        of_rest.space,
        as_findings(found, of_rest.measured(evidence), of_rest.space),
        55,
        np.random.default_rng(seed),
    )
    candidates = [each.option for each in advice.candidates]
    best = [each.configuration for each in advice.recommended]
    return Outcome(
        narrowed=narrowed is not None,
        slow=SLOW in found.important,
        first=FIRST in found.important,
        second=SECOND in found.important,
        inert=any(name.startswith("x") for name in found.important),
        tried=FIRST in candidates,
        tried_first=candidates[:1] == [FIRST],
        predicted=any(each[FIRST] == "other" for each in best),
    )


def _share(hits: int, studies: int) -> str:
    found = stats.binomtest(hits, studies).proportion_ci()
    return f"{100 * hits / studies:.1f} % ({100 * found.low:.1f}-{100 * found.high:.1f})"


def row(world: World, studies: int, *, look: bool) -> list[str]:
    """The counts of one world."""
    found = spread(partial(study, world, look=look), range(1, studies + 1))
    named = ("narrowed", "slow", "first", "second", "inert", "tried", "tried_first", "predicted")
    return [
        f"{world.name}, {world.options} options, {world.runs} runs, noise {100 * world.noise:.0f} %",
        "with" if look else "without",
        *(_share(sum(getattr(each, name) for each in found), studies) for name in named),
    ]


HEAD = (
    "world",
    "look",
    "narrowed",
    "jit important",
    "fsync important",
    "synchronous_commit important",
    "an inert one important",
    "fsync=off tried",
    "fsync=off tried first",
    "fsync=off in the predicted best",
)


def result(studies: int = STUDIES, worlds: Sequence[World] = (*POSTGRESQL, *OTHERS)) -> tuple[str, bool]:
    """The table; there are no goals."""
    rows = [row(world, studies, look=look) for world in worlds for look in (False, True)]
    return table("Screenings with a dominating option", HEAD, rows), True


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    print(result(STUDIES // 10 if "--quick" in arguments else STUDIES)[0])


if __name__ == "__main__":
    main(sys.argv[1:])
