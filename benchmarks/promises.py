"""What a screening promises to find, before and while it runs, compared with what it finds.

``python -m benchmarks.promises`` prints a table as Markdown with its goals, in some hours; ``--quick`` a tenth of the
studies. Programs are those of ``benchmarks.aliasing``, and some with one option that dominates. In the same number of
further studies an inert option gets an effect of the size that the screening's own runs promise first.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks import aliasing
from benchmarks.aliasing import MILD, STRONG
from benchmarks.markdown import table
from benchmarks.parallel import spread
from benchmarks.simulated import BENCHMARK, METRIC, made, planned, program
from hati.campaign import campaign
from hati.core import Budget, StudyId
from hati.document import percent
from hati.stats import proportion
from hati.studies.screening import ModelScreening, Pilot, choose_followed, outlook
from hati.studies.screening.planning.choosing import CHECKED, MISSED
from hati.studies.screening.planning.models import RELEVANT
from hati.studies.screening.planning.tasks import STAGE
from hati.testing import FakeEngine, MemoryStore
from hati.wiring.screening.promises import promise_by_pilot

STUDIES = 400
POWER = 0.8
BROKEN = 0.05
"""The fraction of studies that may miss their last promise."""
PLANTED = "x0"


@dataclass(frozen=True)
class World:
    """Programs of one kind, in which one more option multiplies a value by ``dominating``."""

    program: aliasing.World
    dominating: float = 1.0

    @property
    def name(self) -> str:
        """The kind of program, with its size and noise."""
        of = self.program
        more = f", one option x {self.dominating:g}" if self.dominating > 1.0 else ""
        return f"{of.name}: {of.options} options, {of.runs} runs, noise {100 * of.noise:.0f} %{more}"


WORLDS = (
    World(aliasing.World("mild", MILD, 0.02, 16, 96)),
    World(aliasing.World("strong", STRONG, 0.02, 16, 96)),
    World(aliasing.World("strong", STRONG, 0.15, 16, 96)),
    World(aliasing.World("strong", STRONG, 0.02, 30, 128)),
    World(aliasing.World("mild", MILD, 0.02, 16, 96), dominating=30.0),
)


@dataclass(frozen=True)
class Outcome:
    """The promises of one study, by its ``pilot`` (None for two figures) and by ``checks`` after parts of its runs.

    ``outcome`` is the effect that it can find; ``found`` is whether the planted option is important.
    """

    pilot: float | None
    checks: tuple[float | None, ...]
    outcome: float
    found: bool

    @property
    def first(self) -> float:
        """The first size that its own runs promised."""
        return next((size for size in self.checks if size is not None), self.outcome)

    @property
    def last(self) -> float:
        """The last size that its own runs promised."""
        return next((size for size in reversed(self.checks) if size is not None), self.outcome)

    @property
    def corrected(self) -> bool:
        """Whether a check corrected the pilot's promise."""
        return any(size is not None and size > MISSED * (self.pilot or math.inf) for size in self.checks)

    @property
    def missed(self) -> bool:
        """Whether its pilot promised a figure that it missed."""
        return self.outcome > MISSED * (self.pilot or math.inf)


def study(world: World, seed: int, planted: float = 0.0) -> Outcome:
    """One program, screened by the default design, in which one more option has the planted effect, a fraction."""
    rng = np.random.default_rng([seed, 7])
    space = world.program.space
    coefficients = {
        **aliasing.program(world.program, rng),
        (PLANTED,): math.log1p(planted) / 2.0,
        ("x1",): math.log(world.dominating) / 2.0,
    }
    measure = program(space, coefficients, world.program.noise, rng)
    pilot = campaign(
        Pilot(StudyId.of("screening", {}, seed, "simulated"), BENCHMARK, METRIC, "1", space),
        FakeEngine(measure),
        MemoryStore(),
        Budget(),
    )
    choice = choose_followed(space, world.program.runs - pilot.runs, rng)
    plan = planned(space, choice, seed)
    evidence = made(plan, measure)
    assert isinstance(plan, ModelScreening)
    runs = evidence.stage(STAGE).runs
    known = [outlook(plan, runs[: round(part * len(runs))]) for part in CHECKED]
    checks = tuple(None if each is None else each.detectable for each in known)
    judged = plan.judged(evidence)
    assert judged.analysis.detectable is not None
    promised = promise_by_pilot(choice, pilot, RELEVANT).detectable
    return Outcome(promised, checks, judged.analysis.detectable[1], PLANTED in plan.important(judged))


def row(world: World, studies: int) -> tuple[list[str], bool]:
    """The row of a world, and whether its goals are reached."""
    outcomes = spread(partial(study, world), range(1, studies + 1))
    missed = [one for one in outcomes if one.missed]
    broken = sum(one.outcome > MISSED * one.last for one in outcomes)
    size = float(np.median([one.first for one in outcomes]))
    further = spread(partial(study, world, planted=size), range(studies + 1, 2 * studies + 1))
    found = proportion(sum(one.found for one in further), studies)
    low, high = found.interval
    good = proportion(broken, studies).interval[0] <= BROKEN and high >= POWER
    return [
        world.name,
        f"{sum(one.pilot is not None for one in outcomes)}",
        f"{sum(one.corrected for one in missed)} of {len(missed)}",
        _quantiles([one.first for one in outcomes]),
        _quantiles([one.last for one in outcomes]),
        _quantiles([one.outcome for one in outcomes]),
        f"{100 * broken / studies:.1f} %",
        f"{100 * found.count / studies:.1f} % ({100 * low:.1f} to {100 * high:.1f})",
        "yes" if good else "NO",
    ], good


def _quantiles(sizes: Sequence[float]) -> str:
    low, middle, high = np.quantile(sizes, [0.1, 0.5, 0.9])
    return f"{percent(middle, 2)} ({percent(low, 2)} to {percent(high, 2)})"


def result(studies: int = STUDIES, worlds: Sequence[World] = WORLDS) -> tuple[str, bool]:
    """The table, and whether its goals are reached."""
    rows = [row(world, studies) for world in worlds]
    head = [
        "program",
        "one figure by pilots",
        "missed and said so",
        "first by its own runs",
        "last",
        "outcome",
        "last missed",
        "found",
        "goals",
    ]
    note = (
        f"{studies} studies a row; medians with the 10 % and 90 % quantiles of the smallest effect that is said to be "
        f"found with {POWER:.0%} power; outcome: what the conclusion says of it. Missed: the outcome is more than "
        f"{MISSED:g} times as large. Found: of {studies} studies more, with an effect of the median size that its own "
        f"runs promise first. Goals: what is promised last is missed in at most {BROKEN:.0%} (lower 95 % limit); found "
        f"in {POWER:.0%} (upper 95 % limit)."
    )
    return table("What a screening promises", head, [cells for cells, _ in rows], note), all(good for _, good in rows)


def main() -> int:
    text, reached = result(STUDIES // 10 if "--quick" in sys.argv[1:] else STUDIES)
    print(text)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
