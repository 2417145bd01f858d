"""How often an option that does nothing is called important where interactions reach beyond pairs.

``python -m benchmarks.aliasing`` prints a table as Markdown with its goals, in about half an hour; ``--quick`` a tenth
of the studies. Four options of a program act, alone and in all combinations; the others do nothing. Coefficients of
the logarithm are drawn normally with a standard deviation for each order. Each study is planned, run and concluded.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import stats

from benchmarks.markdown import table
from hati.core import Benchmark, Metric, Plan, Reader, ReaderKind, StudyId, Task
from hati.space import Option, Space, parse_formula
from hati.studies.screening import ALPHA, FractionRequest, ModelScreening, asked_fraction, choose_design, screening
from hati.testing import FakeEngine, MemoryStore

STUDIES = 400
ACTIVE = 4
LARGE = 0.3
"""Effects, as differences of logarithms, that a study has to find."""
_POINTS = 0.05
_METRIC = Metric("latency", "s")
_BENCHMARK = Benchmark("simulated", ("true",), Reader(ReaderKind.HATI), (_METRIC,))


@dataclass(frozen=True)
class World:
    """Programs of one kind: ``deviations`` of coefficients by order, noise of a run, and how they are screened.

    Every option has ``settings``; ``constrained`` forbids one combination of two inert options' settings.
    """

    name: str
    deviations: tuple[float, ...]
    noise: float
    options: int
    runs: int
    settings: int = 2
    constrained: bool = False

    @property
    def space(self) -> Space:
        """The options, of which the last ``ACTIVE`` act; defaults are the first settings."""
        options = tuple(Option(f"x{i}", tuple(range(self.settings)), 0) for i in range(self.options))
        return Space(options, (parse_formula("x0 == 0 or x1 == 0"),) if self.constrained else ())

    @property
    def active(self) -> tuple[str, ...]:
        """Those that do something."""
        return tuple(f"x{i}" for i in range(self.options - ACTIVE, self.options))


STRONG, MILD = (0.40, 0.15, 0.10, 0.06), (0.40, 0.12)
WORLDS = (
    World("strong", STRONG, 0.02, 16, 96),
    World("strong", STRONG, 0.15, 16, 96),
    World("mild", MILD, 0.02, 16, 96),
    World("strong", STRONG, 0.02, 14, 96),
    World("strong", STRONG, 0.02, 20, 128),
    World("strong", STRONG, 0.02, 30, 128),
    World("strong, three settings", STRONG, 0.02, 8, 96, settings=3),
    World("strong, a constraint", STRONG, 0.02, 12, 96, constrained=True),
)


@dataclass(frozen=True)
class Outcome:
    """Of one study: whether an inert option is called important or aliased, and how many large effects are found."""

    inert_important: bool
    inert_aliased: bool
    important: int
    aliased: int
    large: int


def program(world: World, rng: np.random.Generator) -> dict[tuple[str, ...], float]:
    """The coefficients of a random program."""
    return {
        term: float(rng.normal(0.0, deviation))
        for order, deviation in enumerate(world.deviations, 1)
        for term in combinations(world.active, order)
    }


def study(world: World, seed: int, fraction: FractionRequest | None) -> Outcome:
    """One program, screened by the default design or by a fraction."""
    rng = np.random.default_rng([seed, 18])
    coefficients = program(world, rng)
    space = world.space
    made = (
        choose_design(space, world.runs, rng)
        if fraction is None
        else asked_fraction(fraction, world.options, world.runs, rng)
    )
    plan = screening(
        study=StudyId.of("screening", {}, seed, "simulated"),
        subject="simulated",
        benchmark=_BENCHMARK,
        metric=_METRIC,
        revision="1",
        space=space,
        choice=made,
    )

    def measure(task: Task) -> Mapping[str, Sequence[float]]:
        middle = (world.settings - 1) / 2.0
        code = {name: (float(task.configuration[name]) - middle) / middle for name in world.active}
        log = sum(size * float(np.prod([code[name] for name in term])) for term, size in coefficients.items())
        return {"latency": [float(np.exp(log + world.noise * rng.standard_normal()))]}

    store = MemoryStore()
    for run in FakeEngine(measure).run(Plan(plan.tasks)):
        store.record(run)
    evidence = store.evidence(plan.id)
    if isinstance(plan, ModelScreening):  # the verdicts alone: a conclusion predicts the whole space as well
        effects = plan.analysis(plan.measured(evidence)).effects
        important = {space.names[e.term[0]] for e in effects if e.important and len(e.term) == 1}
        aliased = set[str]()
    else:
        found = plan.conclude(evidence)
        important, aliased = set(found.important), set(found.important_or_aliased)
    large = {term[0] for term, size in coefficients.items() if len(term) == 1 and 2.0 * abs(size) > LARGE}
    inert = set(space.names) - set(world.active)
    return Outcome(
        bool(important & inert), bool(aliased & inert), len(important & large), len(aliased & large), len(large)
    )


def screened(world: World, studies: int, fraction: FractionRequest | None) -> list[Outcome]:
    """Studies with seeds from 1."""
    return [study(world, seed, fraction) for seed in range(1, studies + 1)]


def _share(outcomes: Sequence[Outcome], found: Sequence[int]) -> float:
    return sum(found) / max(1, sum(one.large for one in outcomes))


def result(studies: int = STUDIES, worlds: Sequence[World] = WORLDS) -> tuple[str, bool]:
    """The table, and whether its goals are reached."""
    rows, reached = [], True
    for world in worlds:
        outcomes = screened(world, studies, None)
        false = sum(one.inert_important for one in outcomes)
        power = _share(outcomes, [one.important + one.aliased for one in outcomes])
        plain = world.settings > len("ab") or world.constrained
        regular = [] if plain else screened(world, max(1, studies // 4), FractionRequest(resolution=4))
        before = _share(regular, [one.important + one.aliased for one in regular]) if regular else None
        low = float(stats.beta.ppf(0.05, false, studies - false + 1)) if false else 0.0
        good = low <= ALPHA and (before is None or power >= before - _POINTS)
        reached &= good
        rows.append(
            [
                f"{world.name}: {world.options} options, {world.runs} runs, noise {100 * world.noise:.0f} %",
                f"{false / studies:.3f}",
                f"{_share(outcomes, [one.important for one in outcomes]):.3f}",
                "-" if before is None else f"{sum(one.inert_aliased for one in regular) / len(regular):.2f}",
                "-" if before is None else f"{before:.3f}",
                "yes" if good else "NO",
            ]
        )
    head = ["program", "inert important", "found", "fraction: inert aliased", "fraction: found", "goals"]
    note = (
        f"{studies} studies a row by the default design, seeds from 1, and a quarter as many by the smallest fraction "
        f"of resolution IV, repeated. Found: of the options with an effect above {LARGE} on the logarithmic scale. "
        f"Goals: an inert option is important in at most {ALPHA:.0%} of studies (lower 95 % limit), and no less is "
        f"found than by the fraction, to {100 * _POINTS:.0f} points."
    )
    return table("Options that do nothing, where interactions reach beyond pairs", head, rows, note), reached


def main() -> int:
    text, reached = result(STUDIES // 10 if "--quick" in sys.argv[1:] else STUDIES)
    print(text)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
