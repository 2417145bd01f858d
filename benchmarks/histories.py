"""``python -m benchmarks.histories``: how often ``hati history FILE`` alarms where nothing changed, and what it finds.

Each replicate is a series, concluded by the function that ``hati history FILE`` calls. The seed of its generator is its
number, 1 to 400, and the world's name; seeds 1001 to 1003 of another scheme were used for tuning. It takes seven
minutes. A goal is missed if the count is beyond the 99 % quantile of a binomial variable with the goal's probability.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from zlib import crc32

import numpy as np
from scipy import stats

from benchmarks.markdown import table
from hati.core import FloatArray, Metric
from hati.stats import Dependence
from hati.studies.regression import Direction, HistoryConclusion, Series, histories, run_errors

REPLICATES = 400
SIZE = 200
REACH = 5
LONG = 100
TIME = Metric("time", "s")
Draw = Callable[[np.random.Generator], FloatArray]
"""The runs of each position, shape (positions, runs), in percent of the first level."""


@dataclass(frozen=True)
class World:
    """Runs of positions, the places of true changes, and the goal: most alarms, or fewest changes found.

    ``machines`` has the machine of each position, empty if there is only one; nan marks missing runs. A ``gradual``
    change is found if steps or a trend show it.
    """

    name: str
    draw: Draw
    places: tuple[int, ...] = ()
    goal: float | None = None
    machines: tuple[int, ...] = ()
    dependence: Dependence = Dependence.ESTIMATED
    gradual: bool = False

    @property
    def changes(self) -> bool:
        """Whether there is something to find."""
        return bool(self.places) or self.gradual


def white(rng: np.random.Generator) -> FloatArray:
    return 2.0 * rng.normal(size=SIZE)


def autoregressive(phi: float, rng: np.random.Generator) -> FloatArray:
    noise = rng.normal(size=SIZE)
    for place in range(1, SIZE):
        noise[place] = phi * noise[place - 1] + np.sqrt(1.0 - phi**2) * noise[place]
    return 2.0 * noise


def sticky(switch: float, rng: np.random.Generator) -> FloatArray:
    """Two states 5 % apart, each left with that probability, noise of 1 %."""
    states = (np.cumsum(rng.random(SIZE) < switch) + rng.integers(2)) % 2
    return np.asarray(5.0 * states + rng.normal(size=SIZE))


def clumped(length: int, rng: np.random.Generator) -> FloatArray:
    """One value in twenty is 10 % up; such values come in clumps of that mean length."""
    values = white(rng)
    for place in np.flatnonzero(rng.random(SIZE) < 0.05 / length):
        values[place : place + rng.geometric(1.0 / length)] += 10.0
    return values


def season(size: float, rng: np.random.Generator) -> FloatArray:
    return np.asarray(white(rng) + size * np.sin(2.0 * np.pi * (np.arange(SIZE) / 50.0 + rng.random())))


def louder(rng: np.random.Generator) -> FloatArray:
    """Three times the variance in the second half."""
    return np.asarray(white(rng) * np.where(np.arange(SIZE) >= SIZE // 2, np.sqrt(3.0), 1.0))


def drifting(size: float, rng: np.random.Generator) -> FloatArray:
    return np.asarray(white(rng) + size * np.arange(SIZE) / SIZE)


def stepped(step: float, place: int, rng: np.random.Generator) -> FloatArray:
    return np.asarray(white(rng) + step * (np.arange(SIZE) >= place))


def just_stepped(new: int, rng: np.random.Generator) -> FloatArray:
    """A step of 5 %, ``new`` values before the end."""
    return np.asarray(2.0 * rng.normal(size=100 + new) + 5.0 * (np.arange(100 + new) >= 100))


def single(draw: Draw) -> Draw:
    return lambda rng: draw(rng)[:, None]


def runs_of(levels: FloatArray, runs: int, noise: float, between: float, rng: np.random.Generator) -> FloatArray:
    """Runs about positions that vary about levels, in percent, all normal."""
    positions = levels + between * rng.normal(size=len(levels))
    return np.asarray(positions[:, None] + noise * rng.normal(size=(len(levels), runs)))


def at(size: int, place: int, step: float, last: int | None = None) -> FloatArray:
    times = np.arange(size)
    return np.asarray(step * ((times >= place) & (times < (last or size))))


def rounded(size: int, runs: int, noise: float, rng: np.random.Generator) -> FloatArray:
    """Noise in ticks of 1 %, the level at any place between two of them."""
    return np.asarray(np.round(rng.random() + noise * rng.normal(size=(size, runs))))


def heavy_tailed(size: int, rng: np.random.Generator) -> FloatArray:
    """Three runs at 1 % about positions of Student's t with three degrees of freedom."""
    return runs_of(3.0 * rng.standard_t(3, size=size), 3, 1.0, 0.0, rng)


def gradual(size: int, step: float, length: int) -> FloatArray:
    """Levels that rise by that step after every ``length`` positions."""
    return np.asarray(step * (np.arange(size) // length))


def unequal(levels: FloatArray, between: float, rng: np.random.Generator) -> FloatArray:
    """One to eight runs of a position at 1 %."""
    runs = runs_of(levels, 8, 1.0, between, rng)
    runs[np.arange(8) >= rng.integers(1, 9, len(levels))[:, None]] = np.nan
    return runs


def disturbed(size: int, probability: float, rng: np.random.Generator) -> FloatArray:
    """Runs of which some take 50 % longer."""
    runs = runs_of(np.zeros(size), 3, 1.0, 0.0, rng)
    return np.where(rng.random(runs.shape) < probability, 50.0, runs)


def beside(size: int, place: int, spike: int) -> FloatArray:
    """A step of 10 % at a place, and a spike of 50 % at another."""
    levels = at(size, place, 10.0)
    levels[spike] = 50.0
    return levels


OF_THREE = tuple(place % 3 for place in range(20))
IN_TURNS = tuple(place % 2 for place in range(20))
ONE_ELSEWHERE = tuple(int(place == 8) for place in range(10))
SLOWER = 30.0
"""How much slower a second machine is, in percent."""
QUIET = (
    World("normal", single(white), goal=0.05),
    World("t3", single(lambda rng: 2.0 * rng.standard_t(3, size=SIZE) / np.sqrt(3.0)), goal=0.05),
    World("AR(1) .5", single(lambda rng: autoregressive(0.5, rng)), goal=0.05),
    World("AR(1) .8", single(lambda rng: autoregressive(0.8, rng)), goal=0.05),
    World("outliers of 15 %, one in 20", single(lambda rng: white(rng) + 15.0 * (rng.random(SIZE) < 0.05)), goal=0.05),
    World("AR(1) .9 + white noise", single(lambda rng: autoregressive(0.9, rng) + white(rng)), goal=0.1),
    World("two states, 10 values each", single(lambda rng: sticky(0.1, rng)), goal=0.1),
    World("two states, 20 values each", single(lambda rng: sticky(0.05, rng))),
    World("season of 50, +-2 %", single(lambda rng: season(2.0, rng)), goal=0.1),
    World("season of 50, +-3 %", single(lambda rng: season(3.0, rng)), goal=0.1),
    World("outliers in clumps of 2", single(lambda rng: clumped(2, rng)), goal=0.1),
    World("outliers in clumps of 3", single(lambda rng: clumped(3, rng)), goal=0.1),
    World("outliers in clumps of 5", single(lambda rng: clumped(5, rng))),
    World("variance x 3 in the second half", single(louder), goal=0.1),
    World("drift of 5 %", single(lambda rng: drifting(5.0, rng)), goal=0.1),
    World("drift of 10 %", single(lambda rng: drifting(10.0, rng)), goal=0.1),
    World("drift of 20 %", single(lambda rng: drifting(20.0, rng)), goal=0.1),
    World(
        "10 positions x 6 runs at 1 %, positions 3 %", lambda rng: runs_of(np.zeros(10), 6, 1.0, 3.0, rng), goal=0.05
    ),
    World(
        "50 positions x 6 runs at 1 %, positions 3 %", lambda rng: runs_of(np.zeros(50), 6, 1.0, 3.0, rng), goal=0.05
    ),
    World(
        "20 positions x 6 runs at 1 %, positions 0.4 %", lambda rng: runs_of(np.zeros(20), 6, 1.0, 0.4, rng), goal=0.05
    ),
    World("10 positions x 1 run at 2 %", lambda rng: runs_of(np.zeros(10), 1, 2.0, 0.0, rng), goal=0.05),
    World("20 positions x 1 run at 2 %", lambda rng: runs_of(np.zeros(20), 1, 2.0, 0.0, rng), goal=0.05),
    *(
        World(
            f"{size} positions x {runs} run{'s' * (runs > 1)}, ticks of {1.0 / noise:g} sd",
            partial(rounded, size, runs, noise),
            goal=0.05,
        )
        for size, runs, noise in ((10, 1, 0.25), (10, 1, 0.5), (20, 1, 0.5), (20, 1, 1.0), (10, 3, 0.5), (50, 3, 0.25))
    ),
    World(
        "20 positions x 3 runs at 1 %, two machines in turns",
        lambda rng: runs_of(SLOWER * np.array(IN_TURNS), 3, 1.0, 0.5, rng),
        goal=0.05,
        machines=IN_TURNS,
    ),
    *(
        World(
            f"{size} positions x 3 runs at 1 %, interleaved, {text}",
            partial(disturbed, size, probability),
            goal=0.05,
            dependence=Dependence.INDEPENDENT,
        )
        for size, probability, text in ((10, 0.0, "normal"), (20, 0.02, "one run in 50 at 50 %"))
    ),
    *(
        World(
            f"{size} positions x 3 runs at 1 %, positions t3 of 3 %",
            partial(heavy_tailed, size),
            goal=0.1,
        )
        for size in (20, 35, 50)
    ),
    World("40 positions x 6 runs at 1 %, positions 3 %", partial(runs_of, np.zeros(40), 6, 1.0, 3.0), goal=0.05),
    World("20 positions x 1 to 8 runs at 1 %", lambda rng: unequal(np.zeros(20), 0.0, rng), goal=0.05),
    World("20 positions x 1 to 8 runs, positions 1 %", lambda rng: unequal(np.zeros(20), 1.0, rng), goal=0.05),
    World("5 positions x 6 runs at 1 %", lambda rng: runs_of(np.zeros(5), 6, 1.0, 0.0, rng), goal=0.05),
)
CHANGED = (
    *(
        World(f"step of {step:g} % at {place}", single(partial(stepped, step, place)), (place,), goal)
        for step, goal in ((5.0, 0.98), (3.0, 0.88), (2.0, None))
        for place in (60, 100, 140)
    ),
    *(World(f"5 % at 100 of {100 + new}", single(partial(just_stepped, new)), (100,)) for new in (3, 5, 10)),
    World("50 % at 5 of 10 x 6 runs at 1 %", lambda rng: runs_of(at(10, 5, 50.0), 6, 1.0, 0.0, rng), (5,), 0.98),
    World("50 % at 5 of 10 x 6, positions 3 %", lambda rng: runs_of(at(10, 5, 50.0), 6, 1.0, 3.0, rng), (5,)),
    World("50 % at 5 of 10 x 1 run at 2 %", lambda rng: runs_of(at(10, 5, 50.0), 1, 2.0, 0.0, rng), (5,), 0.98),
    World("50 % at 10 of 20 x 1 run at 2 %", lambda rng: runs_of(at(20, 10, 50.0), 1, 2.0, 0.0, rng), (10,), 0.98),
    World("50 % at 6 alone of 10 x 6 at 1 %", lambda rng: runs_of(at(10, 6, 50.0, 7), 6, 1.0, 0.0, rng), (6, 7), 0.98),
    World(
        "50 % at 25 alone of 50 x 6, positions 3 %",
        lambda rng: runs_of(at(50, 25, 50.0, 26), 6, 1.0, 3.0, rng),
        (25, 26),
        0.98,
    ),
    *(
        World(
            f"10 % at 25, 50 % at {spike} of 50 x 6 at 1 %",
            partial(runs_of, beside(50, 25, spike), 6, 1.0, 0.0),
            tuple(sorted({*({25} if spike not in {24, 25} else ()), spike, spike + 1})),
            0.9,
        )
        for spike in (23, 24, 25, 26)
    ),
    World(
        "10 % at 5, 50 % at 4 of 10 x 6 at 1 %", lambda rng: runs_of(beside(10, 5, 4), 6, 1.0, 0.0, rng), (4, 5), 0.98
    ),
    World(
        "50 % at 5 of 10 x 6, one on another machine",
        lambda rng: runs_of(at(10, 5, 50.0) + SLOWER * np.array(ONE_ELSEWHERE), 6, 1.0, 0.0, rng),
        (5,),
        0.98,
        ONE_ELSEWHERE,
    ),
    World(
        "10 % at 10 of 20 x 3, two machines in turns",
        lambda rng: runs_of(at(20, 10, 10.0) + SLOWER * np.array(IN_TURNS), 3, 1.0, 0.0, rng),
        (10,),
        0.9,
        IN_TURNS,
    ),
    World("10 % at 10 of 20 x 1 to 8 at 1 %", lambda rng: unequal(at(20, 10, 10.0), 0.0, rng), (10,), 0.9),
    *(
        World(
            f"50 % at {size // 2} of {size} x 6 runs at 1 %",
            partial(runs_of, at(size, size // 2, 50.0), 6, 1.0, 0.0),
            (size // 2,),
            0.98,
        )
        for size in (30, 40, 60)
    ),
    *(
        World(f"3 % at 5 of {size} x 6 runs at 1 %", partial(runs_of, at(size, 5, 3.0), 6, 1.0, 0.0), (5,), 0.9)
        for size in (29, 30, 45, 60)
    ),
    World(
        "3 % at 10 of 20 x 3, three machines in turns",
        lambda rng: runs_of(at(20, 10, 3.0) + SLOWER * np.array(OF_THREE), 3, 1.0, 0.0, rng),
        (10,),
        0.9,
        OF_THREE,
    ),
    *(
        World(
            f"{step:g} % more every {text}, {size} x 3 runs at 1 %, interleaved",
            partial(runs_of, gradual(size, step, length), 3, 1.0, 0.0),
            goal=0.95,
            dependence=Dependence.INDEPENDENT,
            gradual=True,
        )
        for step, length, text in ((2.0, 1, "position"), (4.0, 2, "second position"))
        for size in (8, 10, 12)
    ),
    World("5 % at 1 of 2 x 6 runs at 1 %", lambda rng: runs_of(at(2, 1, 5.0), 6, 1.0, 0.0, rng), (1,), 0.98),
)


def replicate(world: World, seed: int) -> HistoryConclusion:
    runs = 100.0 + world.draw(np.random.default_rng([seed, crc32(world.name.encode())]))
    values = np.nanmean(runs, axis=1)
    errors, freedom = run_errors([[position[~np.isnan(position)].tolist()] for position in runs], values)
    size = len(values)
    series = Series(
        name="",
        metric=TIME,
        positions=tuple(f"r{place}" for place in range(size)),
        values=values,
        machines=np.array(world.machines or np.zeros(size), dtype=np.intp),
        runs=np.count_nonzero(~np.isnan(runs), axis=1),
        dependence=world.dependence,
        errors=errors,
        freedom=freedom,
    )
    return histories((series,))[0]


def replicates(world: World, number: int = REPLICATES) -> list[HistoryConclusion]:
    return [replicate(world, seed) for seed in range(1, number + 1)]


def right(world: World, found: HistoryConclusion) -> bool:
    """Whether each change is found, in long series within five positions; without changes: whether any alarms."""
    if world.gradual:
        return bool(found.change_points) or shows_trend(found)
    places = [change.index for change in found.change_points]
    if not world.places:
        return bool(places)
    reach = REACH if found.positions >= LONG else 0
    return all(any(abs(place - wanted) <= reach for place in places) for wanted in world.places)


def shows_trend(found: HistoryConclusion) -> bool:
    return found.trend is not None and found.trend.direction is not Direction.NOT_SHOWN


def within(world: World, hits: int, number: int) -> bool:
    """Whether the count meets the goal."""
    if world.goal is None:
        return True
    return hits >= world.goal * number if world.changes else hits <= world.goal * number


def refuted(world: World, hits: int, number: int) -> bool:
    """Whether the count is beyond the 99 % quantile of a binomial variable with the goal's probability."""
    if world.goal is None:
        return False
    level = 0.01 if world.changes else 0.99
    bound = float(stats.binom.ppf(level, number, world.goal))
    return hits < bound if world.changes else hits > bound


def verdict(world: World, hits: int, number: int) -> str:
    if within(world, hits, number):
        return "met"
    return "MISSED" if refuted(world, hits, number) else "not met, by no more than chance"


def rows(worlds: tuple[World, ...], number: int, met: list[bool]) -> Iterator[tuple[str, ...]]:
    for world in worlds:
        found = replicates(world, number)
        hits = sum(right(world, one) for one in found)
        met.append(not refuted(world, hits, number))
        more = np.mean([max(len(one.change_points) - len(world.places), 0) for one in found])
        drifts = np.mean(["drifts more" in " ".join(one.warnings) for one in found])
        trends = np.mean([shows_trend(one) for one in found])
        sign = ">=" if world.changes else "<="
        goal = "" if world.goal is None else f"{sign} {world.goal:.0%}: {verdict(world, hits, number)}"
        yield world.name, f"{hits / number:.1%}", goal, f"{more:.2f}", f"{drifts:.1%}", f"{trends:.1%}"


def result(number: int = REPLICATES) -> tuple[str, bool]:
    met: list[bool] = []
    heads = ("goal", "changes too many", "beside a line", "trend shown")
    note = f"{number} series a row, seeds 1 to {number}, alpha 5 %; noise of 2 % and 200 single runs, or as named."
    text = table(
        "Series that do not change", ("world", "series with a change", *heads), list(rows(QUIET, number, met)), note
    )
    text += "\n" + table("Series that change", ("world", "found", *heads), list(rows(CHANGED, number, met)), note)
    return text, all(met)


if __name__ == "__main__":
    printed, ok = result(*map(int, sys.argv[1:2]))
    print(printed)
    sys.exit(0 if ok else 1)
