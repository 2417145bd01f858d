"""The power of a screening on two machines, one of which is 30 % slower, compared with one machine.

``python -m benchmarks.machines`` prints a table as Markdown with its goals, in about 20 minutes; ``--quick`` a tenth of
the studies. Each study is planned, run and concluded as `hati screen` does, in a pool of both machines: its blocks,
whole repetitions or blocks of the design, go to one machine each, and pairs of flips to either. For comparison the
same runs are analysed as if they came from one machine. As this is the best case for ignoring the machine, there are
also studies in which the machine is drawn for each run, ignored or as a block. Comparisons have no goal, and fewer
studies if a study is slow.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from scipy import stats

from benchmarks import simulated
from benchmarks.markdown import table
from hati.core import Evidence, Plan, Run, Task, generator, replace
from hati.space import Option, Space
from hati.studies.screening import (
    ALPHA,
    AnyChoice,
    AnyScreening,
    FractionRequest,
    MachineBlocks,
    ScreeningConclusion,
    asked_fraction,
    choose_followed,
)
from hati.testing import FakeEngine, MemoryStore

STUDIES = 400
POINTS = 0.05
"""How much less often effects may be found on two machines than on one."""
SLOWER = 0.3
NOISE = 0.03
SPACE = Space(tuple(Option(name, (False, True), default=False) for name in "abcdefgh"))
EFFECTS: simulated.Coefficients = {("a",): 0.05, ("b",): -0.03, ("c",): 0.02, ("d",): 0.015, ("a", "b"): 0.02}
"""Halves of differences of logarithms."""
ACTIVE = ("a", "b", "c", "d")
OTHER_EFFECT = 0.02
"""The effect of option h on the slow machine: added to the logarithm at one setting, subtracted at the other."""


class Machines(Enum):
    """Where the runs of a study are executed, and whether its analysis knows the machine."""

    ONE = "one machine"
    BLOCKS = "two machines, blocks"
    UNKNOWN = "the same runs, machine ignored"
    DRAWN = "machine drawn for each run and ignored"
    DRAWN_BLOCKS = "machine drawn for each run, blocks"

    @property
    def drawn(self) -> bool:
        """Whether the machine is drawn for each run."""
        return self in (Machines.DRAWN, Machines.DRAWN_BLOCKS)

    @property
    def known(self) -> bool:
        """Whether runs carry their machine."""
        return self in (Machines.BLOCKS, Machines.DRAWN_BLOCKS)


@dataclass(frozen=True)
class ScreeningPlan:
    """A way to plan the screening: its name, its design for a generator, and the fraction of studies to compare."""

    name: str
    choose: Callable[[np.random.Generator], AnyChoice]
    compared: float = 1.0


def _fraction(runs: int, budget: int) -> Callable[[np.random.Generator], AnyChoice]:
    request = FractionRequest(None, runs)
    return lambda rng: asked_fraction(request, len(SPACE.options), budget, rng, math.inf)


PLANS = (
    ScreeningPlan("default, 48 runs", lambda rng: choose_followed(SPACE, 48, rng, ()), 0.25),
    ScreeningPlan("fraction of 16, two repetitions", _fraction(16, 32)),
    ScreeningPlan("fraction of 32, one repetition", _fraction(32, 32)),
)


@dataclass
class TwoMachines:
    """Two machines that run a plan together; ``drawn`` draws a machine for each run, else blocks decide."""

    study: AnyScreening
    measure: simulated.Measure
    rng: np.random.Generator
    drawn: bool
    other_effect: float
    pairs: int = 0
    engines: Mapping[bool, FakeEngine] = field(init=False)

    def __post_init__(self) -> None:
        self.engines = {slow: FakeEngine(self.slowed(slow), machine=("fast", "slow")[slow]) for slow in (False, True)}

    def slowed(self, slow: bool) -> simulated.Measure:  # noqa: FBT001  # the machine, not a switch
        """The measurement on the fast or on the slow machine."""

        def measure(task: Task) -> Mapping[str, Sequence[float]]:
            values = self.measure(task)[simulated.METRIC.name]
            other = self.other_effect * (1 if task.configuration["h"] else -1)
            factor = (1.0 + SLOWER) * math.exp(other) if slow else 1.0
            return {simulated.METRIC.name: [factor * value for value in values]}

        return measure

    def run(self, plan: Plan) -> Iterator[Run]:
        """Each run on its machine, in the order of the plan; a pair of flips on one."""
        for task, block in zip(plan.tasks, self.study.blocks_of(plan.tasks, 2), strict=True):
            slow = bool(self.rng.integers(2)) if self.drawn else bool(task.repetition % 2 if block is None else block)
            yield from self.engines[slow].run((task,))


@dataclass(frozen=True)
class Studies:
    """The conclusions of some studies."""

    found: tuple[ScreeningConclusion, ...]

    def power(self, option: str) -> float:
        """The fraction of studies in which an option's main effect is important."""
        return float(np.mean([option in (*each.important, *each.important_or_aliased) for each in self.found]))

    @property
    def mean_power(self) -> float:
        """The mean power over the active options."""
        return float(np.mean([self.power(option) for option in ACTIVE]))

    @property
    def alarms(self) -> int:
        """The number of studies in which an inert option is important."""
        inert = set("abcdefgh") - set(ACTIVE)
        return sum(not inert.isdisjoint((*each.important, *each.important_or_aliased)) for each in self.found)

    @property
    def any_effect(self) -> int:
        """The number of studies in which any effect is shown."""
        return sum(any(effect.shown for effect in each.effects) for each in self.found)

    @property
    def refuted(self) -> int:
        """The number of studies in which an option's effect is said to differ between machines."""
        return sum(each.machine_blocks is not None and bool(each.machine_blocks.differing) for each in self.found)

    @property
    def tested(self) -> int:
        """The number of studies in which the interaction of any option with the machine could be tested."""
        return sum(each.machine_blocks is not None and bool(each.machine_blocks.tested) for each in self.found)

    @property
    def offset(self) -> float:
        """The median estimate of how much slower the slow machine is."""
        return float(np.median([_slower(each.machine_blocks) for each in self.found if each.machine_blocks]))


def _slower(blocks: MachineBlocks) -> float:
    offsets = {each.fingerprint: each.offset for each in blocks.machines}
    return (1.0 + offsets["slow"]) / (1.0 + offsets["fast"]) - 1.0


def made(
    plan: ScreeningPlan, machines: Machines, effects: simulated.Coefficients, studies: int, other_effect: float = 0.0
) -> Studies:
    """The conclusions of studies of a program with these effects, with seeds from 1."""
    return Studies(tuple(_concluded(plan, machines, effects, seed, other_effect) for seed in range(1, studies + 1)))


def _concluded(
    plan: ScreeningPlan, machines: Machines, effects: simulated.Coefficients, seed: int, other_effect: float
) -> ScreeningConclusion:
    study = simulated.planned(SPACE, plan.choose(generator(seed, "design")), seed)
    measure = simulated.program(SPACE, effects, NOISE, generator(seed, "noise"))
    if machines is Machines.ONE:
        return study.conclude(simulated.made(study, measure))
    engine = TwoMachines(study, measure, generator(seed, "machines"), machines.drawn, other_effect)
    store = MemoryStore()
    while ahead := study.plan(store.evidence(study.id)):
        for run in engine.run(ahead):
            store.record(run if machines.known else replace(run, machine="one"))
    return study.conclude(Evidence(store.evidence(study.id).runs))


@dataclass(frozen=True)
class Row:
    """A row of the table: studies of programs with the effects, and of programs without any effect."""

    plan: ScreeningPlan
    machines: Machines
    acting: Studies
    inert: Studies

    @classmethod
    def of(cls, plan: ScreeningPlan, machines: Machines, studies: int) -> Row:
        """The row of all studies, or of the fraction for comparisons."""
        number = studies if machines.known else int(plan.compared * studies)
        of_power = studies if machines is Machines.ONE else number
        return cls(plan, machines, made(plan, machines, EFFECTS, of_power), made(plan, machines, {}, number))

    def held(self, one: Row) -> bool:
        """Whether the row meets the goals, relative to the row of one machine."""
        acting, inert = self.acting, self.inert
        return (
            acting.mean_power >= one.acting.mean_power - POINTS
            and inert.any_effect <= most_alarms(len(inert.found))
            and acting.refuted <= most_alarms(len(acting.found))
        )

    def cells(self, one: Row) -> list[str]:
        """The cells as texts."""
        power = " / ".join(f"{self.acting.power(option):.1%}" for option in ACTIVE)
        alarms = [
            f"{self.acting.alarms} of {len(self.acting.found)}",
            f"{self.inert.any_effect} of {len(self.inert.found)}",
        ]
        tested, goal = "", ""
        if self.machines.known:
            tested = f"{self.acting.offset:+.1%}; {self.acting.refuted} refuted of {self.acting.tested} tested"
        if self.machines is Machines.BLOCKS:
            goal = "held" if self.held(one) else "missed"
        return [self.plan.name, self.machines.value, power, f"{self.acting.mean_power:.1%}", *alarms, tested, goal]


def refuted_by_h(plan: ScreeningPlan, studies: int) -> list[str]:
    """The row of studies in which an option acts on one machine only."""
    found = made(plan, Machines.BLOCKS, EFFECTS, int(plan.compared * studies), OTHER_EFFECT).found
    named = np.mean([each.machine_blocks is not None and "h" in each.machine_blocks.differing for each in found])
    return [plan.name, "two machines, h acts on one", "", "", "", "", f"h differs: {named:.1%} of {len(found)}", ""]


def most_alarms(studies: int) -> int:
    """The 99 % binomial bound of false alarms at the nominal level."""
    return int(stats.binom.ppf(0.99, studies, ALPHA))


def rows_of(plan: ScreeningPlan, studies: int) -> tuple[list[list[str]], bool]:
    """The rows of a design, and whether its goals hold."""
    rows = {machines: Row.of(plan, machines, studies) for machines in Machines}
    one = rows[Machines.ONE]
    cells = [*(row.cells(one) for row in rows.values()), refuted_by_h(plan, studies)]
    return cells, rows[Machines.BLOCKS].held(one)


def result(studies: int = STUDIES, plans: Sequence[ScreeningPlan] = PLANS) -> tuple[str, bool]:
    """The table, and whether its goals hold."""
    found = [rows_of(plan, studies) for plan in plans]
    return written([row for rows, _ in found for row in rows], studies), all(held for _, held in found)


def written(rows: Sequence[Sequence[str]], studies: int) -> str:
    """The table as Markdown."""
    sizes = ", ".join(f"{2 * EFFECTS[(name,)]:+.2f}" for name in ACTIVE)
    note = (
        f"Noise {NOISE:.0%}, one machine {SLOWER:.0%} slower. Power is that of {', '.join(ACTIVE)} (differences of "
        f"logarithms {sizes}, in addition to an interaction a:b of {2 * EFFECTS['a', 'b']:.2f}); alarms are studies in "
        f"which an inert option is important. Goals: the mean power on two machines at most {100 * POINTS:.0f} points "
        f"below that on one; at most {most_alarms(studies)} of {studies} studies in which anything is shown where "
        "nothing acts, or in which an option's effect is said to differ where none does."
    )
    head = ["design", "machines", "power", "mean", "alarms", "shown where nothing acts", "blocks", "goal"]
    return table("Machines as blocks", head, rows, note)


def main() -> int:
    text, held = result(STUDIES // 10 if "--quick" in sys.argv[1:] else STUDIES)
    print(text)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
