"""How often an option that does nothing is called important where interactions reach beyond pairs.

``python -m benchmarks.aliasing`` prints a table as Markdown with its goals, in about an hour; ``--quick`` a tenth of
the studies. Four options of a program act, alone and in all combinations; the others do nothing. Coefficients of the
logarithm are drawn normally with a standard deviation for each order. Each study is planned, run and concluded as
`hati screen` does: with its follow-up, and for comparison with all runs in the design.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import combinations

import numpy as np
from scipy import stats

from benchmarks import simulated
from benchmarks.markdown import table
from benchmarks.parallel import spread
from hati.space import Option, Space, parse_formula
from hati.studies.screening import (
    ALPHA,
    AnyChoice,
    FlipVerdict,
    FractionRequest,
    ModelScreening,
    asked_fraction,
    choose_design,
    choose_followed,
)

STUDIES = 400
ACTIVE = 4
LARGE = 0.3
"""A study must find effects above this difference of logarithms."""
_POINTS, _POINTS_IF_MILD = 0.05, 0.01
_REFUTED = 0.01
_DESIGNS = 20
_LONG = 30
"""Programs with at least this many options share ``_DESIGNS`` designs among all studies: each takes ten seconds."""


@dataclass(frozen=True)
class World:
    """Programs of one kind: ``deviations`` of coefficients by order, noise of a run, and how they are screened.

    Every option has ``settings``; ``constrained`` forbids one combination of two inert options' settings. The last
    option, of two settings, changes the logarithm by ``gated`` more where the two before it are at their last ones.
    """

    name: str
    deviations: tuple[float, ...]
    noise: float
    options: int
    runs: int
    settings: int = 2
    constrained: bool = False
    gated: float = 0.0

    @property
    def space(self) -> Space:
        """The options, of which the last ``ACTIVE`` act; defaults are the first settings."""
        options = tuple(Option(f"x{i}", tuple(range(self.settings)), 0) for i in range(self.options))
        return Space(options, (parse_formula("x0 == 0 or x1 == 0"),) if self.constrained else ())

    @property
    def active(self) -> tuple[str, ...]:
        """The options that have effects."""
        return tuple(f"x{i}" for i in range(self.options - ACTIVE, self.options))


STRONG, MILD = (0.40, 0.15, 0.10, 0.06), (0.40, 0.12)
WORLDS = (
    World("strong", STRONG, 0.02, 16, 96),
    World("strong", STRONG, 0.15, 16, 96),
    World("mild", MILD, 0.02, 16, 96),
    World("strong", STRONG, 0.02, 14, 96),
    World("strong", STRONG, 0.02, 20, 128),
    World("strong", STRONG, 0.02, 30, 128),
    World("mild", MILD, 0.02, 30, 128),
    World("strong, three settings", STRONG, 0.02, 8, 96, settings=3),
    World("strong, a constraint", STRONG, 0.02, 12, 96, constrained=True),
    World("strong, an effect of -99 % in a quarter", STRONG, 0.02, 16, 96, gated=-4.6),
    World("mild, an effect of -99 % in a quarter", (*MILD, 0.0), 0.02, 16, 96, gated=-4.6),
)


@dataclass(frozen=True)
class Outcome:
    """The outcome of one study: whether an inert option is called important or aliased, and the large effects found.

    ``inert_flipped`` of the flipped options do nothing, and ``inert_refuted`` of these are refuted; ``large_flipped``
    have a large effect, and ``large_refuted`` of these are refuted and ``confirmed`` confirmed.
    """

    inert_important: bool
    inert_aliased: bool
    important: int
    aliased: int
    large: int
    inert_flipped: int = 0
    inert_refuted: int = 0
    large_flipped: int = 0
    large_refuted: int = 0
    confirmed: int = 0


def program(world: World, rng: np.random.Generator) -> dict[tuple[str, ...], float]:
    """The coefficients of a random program."""
    gate = world.active[-3:]
    return {
        term: float(rng.normal(0.0, deviation)) + (world.gated / 2.0 ** len(gate) if set(term) <= set(gate) else 0.0)
        for order, deviation in enumerate(world.deviations, 1)
        for term in combinations(world.active, order)
    }


Chooser = Callable[[Space, int, np.random.Generator], AnyChoice]
"""Chooses a design for a number of runs."""


def fraction_of_resolution_4(space: Space, runs: int, rng: np.random.Generator) -> AnyChoice:
    """The smallest fraction of resolution IV, repeated."""
    return asked_fraction(FractionRequest(resolution=4), len(space.options), runs, rng)


def study(world: World, seed: int, choose: Chooser) -> Outcome:
    """One program, screened by a chosen design."""
    rng = np.random.default_rng([seed, 18])
    coefficients = program(world, rng)
    space = world.space
    plan = simulated.planned(space, _design(world, seed if world.options < _LONG else seed % _DESIGNS, choose), seed)
    evidence = simulated.made(plan, simulated.program(space, coefficients, world.noise, rng))
    large = {term[0] for term, size in coefficients.items() if len(term) == 1 and 2.0 * abs(size) > LARGE}
    inert = set(space.names) - set(world.active)
    if not isinstance(plan, ModelScreening):
        found = plan.conclude(evidence)
        important, aliased = set(found.important), set(found.important_or_aliased)
        return Outcome(
            bool(important & inert), bool(aliased & inert), len(important & large), len(aliased & large), len(large)
        )
    judged = plan.judged(evidence)  # the verdicts alone: a conclusion predicts the whole space as well
    important = set(plan.important(judged))
    return Outcome(
        inert_important=bool(important & inert),
        inert_aliased=False,
        important=len(important & large),
        aliased=0,
        large=len(large),
        inert_flipped=sum(flips.option in inert for flips in judged.flips),
        inert_refuted=sum(flips.option in inert and flips.verdict is FlipVerdict.REFUTED for flips in judged.flips),
        large_flipped=sum(flips.option in large for flips in judged.flips),
        large_refuted=sum(flips.option in large and flips.verdict is FlipVerdict.REFUTED for flips in judged.flips),
        confirmed=sum(flips.option in large and flips.verdict is FlipVerdict.CONFIRMED for flips in judged.flips),
    )


@lru_cache(maxsize=2 * _DESIGNS)
def _design(world: World, number: int, choose: Chooser) -> AnyChoice:
    return choose(world.space, world.runs, np.random.default_rng([number, 81]))


def screened(world: World, studies: int, choose: Chooser = choose_followed) -> list[Outcome]:
    """Studies with seeds from 1."""
    return spread(partial(study, world, choose=choose), range(1, studies + 1))


def _at_most(goal: float, count: int, number: int) -> bool:
    """Whether the lower 95 % limit of a proportion does not exceed a goal."""
    return not count or float(stats.beta.ppf(0.05, count, number - count + 1)) <= goal


def _share(outcomes: Sequence[Outcome], found: Sequence[int]) -> float:
    return sum(found) / max(1, sum(one.large for one in outcomes))


def row(world: World, studies: int) -> tuple[list[str], bool]:
    """The row of a world, and whether its goals are reached."""
    outcomes, without = screened(world, studies), screened(world, studies, choose_design)
    false = sum(one.inert_important for one in outcomes)
    refuted, flipped = (sum(each) for each in zip(*((o.large_refuted, o.large_flipped) for o in outcomes), strict=True))
    power = _share(outcomes, [one.important for one in outcomes])
    alone = _share(without, [one.important for one in without])
    plain = world.settings > len("ab") or world.constrained
    regular = [] if plain else screened(world, max(1, studies // 4), fraction_of_resolution_4)
    before = _share(regular, [one.important + one.aliased for one in regular]) if regular else None
    lost = _POINTS if world.deviations == STRONG else _POINTS_IF_MILD
    good = (
        _at_most(ALPHA, false, studies)
        and _at_most(_REFUTED, refuted, flipped)
        and power >= max(alone - lost, (before or 0.0) - _POINTS)
    )
    return [
        f"{world.name}: {world.options} options, {world.runs} runs, noise {100 * world.noise:.0f} %",
        f"{false / studies:.3f}",
        f"{sum(one.inert_important for one in without) / studies:.3f}",
        f"{power:.3f}",
        f"{alone:.3f}",
        f"{sum(o.inert_refuted for o in outcomes)} of {sum(o.inert_flipped for o in outcomes)}",
        f"{refuted} of {flipped}",
        f"{sum(o.confirmed for o in outcomes)}",
        "-" if before is None else f"{sum(one.inert_aliased for one in regular) / len(regular):.2f}",
        "-" if before is None else f"{before:.3f}",
        "yes" if good else "NO",
    ], good


def result(studies: int = STUDIES, worlds: Sequence[World] = WORLDS) -> tuple[str, bool]:
    """The table, and whether its goals are reached."""
    rows = [row(world, studies) for world in worlds]
    head = [
        "program",
        "inert important",
        "(no follow-up)",
        "found",
        "(no follow-up)",
        "inert refuted",
        "large refuted",
        "large confirmed",
        "fraction: inert aliased",
        "fraction: found",
        "goals",
    ]
    note = (
        f"{studies} studies a row by the default design and its follow-up, as many with all runs in the design, seeds "
        f"from 1 (of {_LONG} options and more by {_DESIGNS} designs), and a quarter as many by the smallest fraction "
        "of resolution IV, repeated. Found: of the options with "
        f"an effect above {LARGE} on the logarithmic scale; refuted and confirmed: of those that were flipped. Goals: "
        f"an inert option is important in at most {ALPHA:.0%} of studies, and at most {_REFUTED:.0%} of the large "
        "effects that are flipped are refuted (lower 95 % limits); no less is found than by the fraction, and without "
        f"follow-up, to {100 * _POINTS:.0f} points, in mild programs to {100 * _POINTS_IF_MILD:.0f}."
    )
    title = "Options that do nothing, where interactions reach beyond pairs"
    return table(title, head, [cells for cells, _ in rows], note), all(good for _, good in rows)


def main() -> int:
    text, reached = result(STUDIES // 10 if "--quick" in sys.argv[1:] else STUDIES)
    print(text)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
