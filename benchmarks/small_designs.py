"""The power and the level of small screenings whose machine is drawn for each run, one of three.

``python -m benchmarks.small_designs`` prints a table as Markdown with its goals, in about 15 minutes; ``--quick`` a
tenth of the studies. Repetitions and machines are crossed: a mean for each of their combinations would take most of the
degrees of freedom of so few runs.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchmarks import simulated
from benchmarks.markdown import table
from hati.core import Task, generator
from hati.space import Option, Space
from hati.studies.screening import (
    ALPHA,
    AnyChoice,
    FractionRequest,
    ScreeningConclusion,
    asked_fraction,
    choose_followed,
)
from hati.testing import FakeEngine, MemoryStore

STUDIES = 2_000
SLOWER = (0.0, 0.2, 0.3)
"""How much slower each machine is."""
NOISE = 0.02
EFFECT = 0.2
"""The effect of option a; no other option has one."""
LEAST_FOUND = 0.9


@dataclass(frozen=True)
class SmallDesign:
    """A screening of few runs."""

    name: str
    space: Space
    choose: Callable[[Space, np.random.Generator], AnyChoice]

    @property
    def inert(self) -> bool:
        """Whether there are options in addition to a."""
        return len(self.space.options) > 1


def _options(count: int) -> Space:
    return Space(tuple(Option(name, (False, True), default=False) for name in "abcdef"[:count]))


DESIGNS = (
    SmallDesign("two options, 12 runs", _options(2), lambda space, rng: choose_followed(space, 12, rng, ())),
    SmallDesign(
        "one option of three settings, 12 runs",
        Space((Option("a", (0, 1, 2), default=0),)),
        lambda space, rng: choose_followed(space, 12, rng, ()),
    ),
    SmallDesign(
        "six options, fraction of 8, two repetitions",
        _options(6),
        lambda space, rng: asked_fraction(FractionRequest(None, 8), len(space.options), 16, rng, math.inf),
    ),
)


def concluded(design: SmallDesign, effect: float, seed: int) -> ScreeningConclusion:
    """The conclusion of one screening of a program in which option a has that effect."""
    plan = simulated.planned(design.space, design.choose(design.space, generator(seed, "design")), seed)
    effects: simulated.Coefficients = {("a",): math.log1p(effect) / 2.0} if effect else {}
    engines = list(_engines(simulated.program(design.space, effects, NOISE, generator(seed, "noise"))))
    drawn, store = generator(seed, "machines"), MemoryStore()
    while ahead := plan.plan(store.evidence(plan.id)):
        for task in ahead.tasks:
            for run in engines[int(drawn.integers(len(engines)))].run((task,)):
                store.record(run)
    return plan.conclude(store.evidence(plan.id))


def _engines(measure: simulated.Measure) -> Iterator[FakeEngine]:
    for number, slower in enumerate(SLOWER):

        def measured(task: Task, factor: float = 1.0 + slower) -> Mapping[str, Sequence[float]]:
            return {name: [factor * value for value in values] for name, values in measure(task).items()}

        yield FakeEngine(measured, machine=f"m{number}")


@dataclass(frozen=True)
class Counts:
    """The numbers of studies in which option a is important, in which another one is, and in which any effect is shown.

    The last one is of as many studies of a program in which nothing acts.
    """

    found: int
    others: int
    shown: int

    @classmethod
    def of(cls, design: SmallDesign, studies: int) -> Counts:
        """The numbers in studies with seeds from 1."""
        acting, inert = (
            [concluded(design, effect, seed) for seed in range(1, studies + 1)] for effect in (EFFECT, 0.0)
        )
        named = [{*each.important, *each.important_or_aliased} for each in acting]
        return cls(
            found=sum("a" in each for each in named),
            others=sum(bool(each - {"a"}) for each in named),
            shown=sum(any(effect.shown for effect in each.effects) for each in inert),
        )

    def held(self, studies: int) -> bool:
        """Whether the goals are met."""
        return self.found >= LEAST_FOUND * studies and max(self.others, self.shown) <= most_alarms(studies)


def most_alarms(studies: int) -> int:
    """The 99 % binomial bound of false alarms at the nominal level."""
    return int(stats.binom.ppf(0.99, studies, ALPHA))


def result(studies: int = STUDIES) -> tuple[str, bool]:
    """The table, and whether its goals hold."""
    counts = {design: Counts.of(design, studies) for design in DESIGNS}
    rows = [
        [
            design.name,
            f"{each.found} of {studies}",
            f"{each.others} of {studies}" if design.inert else "",
            f"{each.shown} of {studies}",
            "held" if each.held(studies) else "missed",
        ]
        for design, each in counts.items()
    ]
    note = (
        f"Noise {NOISE:.0%}; the machine of each run is drawn, one of three that are 0, 20 and 30 % slower; an effect "
        f"of {EFFECT:.0%}. Goals: found in {LEAST_FOUND:.0%}; at most {most_alarms(studies)} of {studies} false alarms."
    )
    head = ["design", "a found", "another option important", "shown where nothing acts", "goal"]
    return table("Small designs on three machines", head, rows, note), all(
        each.held(studies) for each in counts.values()
    )


def main() -> int:
    text, held = result(STUDIES // 10 if "--quick" in sys.argv[1:] else STUDIES)
    print(text)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
